// OGD as Python sees it.
#include "thresher/learners/ogd.hpp"

#include "learner_parameters.hpp"
#include "selectors.hpp"
#include "thresher/members/unbounded.hpp"

namespace thresher::python {

void bind_ogd(nb::module_& m) {
    using L = Ogd<Unbounded>;
    bind_adaptive<L>(m, "Ogd", "ManyOgd", [](const nb::dict& given) { return L::Parameters{number(given, "eta")}; });
}

}  // namespace thresher::python
