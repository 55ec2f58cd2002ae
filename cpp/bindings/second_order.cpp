// The second-order learners as Python sees them.
#include "selectors.hpp"
#include "thresher/learners/arow.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"

namespace thresher::python {

void bind_second_order(nb::module_& m) {
    auto parameters = [](const nb::dict& given) { return SecondOrder::Parameters{nb::cast<double>(given["gamma"])}; };
    bind_learner<Sofs>(m, "Sofs", "ManySofs", parameters);
    bind_learner<ShadowSofs>(m, "ShadowSofs", "ManyShadowSofs", parameters);
    bind_learner<Arow>(m, "Arow", "ManyArow", parameters);
}

}  // namespace thresher::python
