// FOFS as Python sees it.
#include "thresher/learners/fofs.hpp"

#include "selectors.hpp"
#include "thresher/members/watched_pool.hpp"

namespace thresher::python {

void bind_fofs(nb::module_& m) { bind_adaptive<Fofs<WatchedPool>>(m, "Fofs", "ManyFofs"); }

}  // namespace thresher::python
