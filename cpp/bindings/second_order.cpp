// The second-order learners as Python sees them.
#include "selectors.hpp"
#include "thresher/learners/arow.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/memory/dense.hpp"

namespace thresher::python {

void bind_second_order(nb::module_& m) {
    using Memory = DenseMemory<SecondOrder::kWidth>;
    auto parameters = [](const nb::dict& given) { return SecondOrder::Parameters{nb::cast<double>(given["gamma"])}; };
    bind_learner<Sofs, Memory>(m, "Sofs", "ManySofs", parameters);
    bind_learner<ShadowSofs, Memory>(m, "ShadowSofs", "ManyShadowSofs", parameters);
    bind_learner<Arow, Memory>(m, "Arow", "ManyArow", parameters);
}

}  // namespace thresher::python
