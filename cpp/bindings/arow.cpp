// AROW as Python sees it.
#include "thresher/learners/arow.hpp"

#include "learner_parameters.hpp"
#include "selectors.hpp"
#include "thresher/members/unbounded.hpp"

namespace thresher::python {

void bind_arow(nb::module_& m) { bind_adaptive<Arow<Unbounded>>(m, "Arow", "ManyArow", second_order); }

}  // namespace thresher::python
