// OGD as Python sees it.
#include "thresher/learners/ogd.hpp"

#include "selectors.hpp"
#include "thresher/members/unbounded.hpp"

namespace thresher::python {

void bind_ogd(nb::module_& m) { bind_adaptive<Ogd<Unbounded>>(m, "Ogd", "ManyOgd"); }

}  // namespace thresher::python
