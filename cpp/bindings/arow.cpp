// AROW as Python sees it.
#include "thresher/learners/arow.hpp"

#include "selectors.hpp"
#include "thresher/members/unbounded.hpp"

namespace thresher::python {

void bind_arow(nb::module_& m) { bind_adaptive<Arow<Unbounded>>(m, "Arow", "ManyArow"); }

}  // namespace thresher::python
