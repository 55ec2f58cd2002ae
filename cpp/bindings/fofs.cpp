// FOFS as Python sees it.
#include "thresher/learners/fofs.hpp"

#include "learner_parameters.hpp"
#include "selectors.hpp"
#include "thresher/members/watched_pool.hpp"

namespace thresher::python {

void bind_fofs(nb::module_& m) {
    using L = Fofs<WatchedPool>;
    bind_adaptive<L>(m, "Fofs", "ManyFofs", [](const nb::dict& given) {
        return L::Parameters{number(given, "eta"), number(given, "lam"), loss(given)};
    });
}

}  // namespace thresher::python
