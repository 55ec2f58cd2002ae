// PET as Python sees it.
#include "thresher/learners/pet.hpp"

#include "selectors.hpp"
#include "thresher/members/watched_pool.hpp"

namespace thresher::python {

void bind_pet(nb::module_& m) { bind_adaptive<Pet<WatchedPool>>(m, "Pet", "ManyPet"); }

}  // namespace thresher::python
