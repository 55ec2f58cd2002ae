// PET as Python sees it.
#include "thresher/learners/pet.hpp"

#include "learner_parameters.hpp"
#include "selectors.hpp"
#include "thresher/members/watched_pool.hpp"

namespace thresher::python {

void bind_pet(nb::module_& m) {
    using L = Pet<WatchedPool>;
    bind_adaptive<L>(m, "Pet", "ManyPet",
                     [](const nb::dict& given) { return L::Parameters{number(given, "eta"), loss(given)}; });
}

}  // namespace thresher::python
