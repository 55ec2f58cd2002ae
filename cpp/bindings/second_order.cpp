// The second-order learners as Python sees them: each with its member set and its memory.
#include "selectors.hpp"
#include "thresher/learners/arow.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/members/lazy_heap.hpp"
#include "thresher/members/unbounded.hpp"
#include "thresher/members/watched_pool.hpp"

namespace thresher::python {

void bind_second_order(nb::module_& m) {
    auto parameters = [](const nb::dict& given) { return SecondOrder::Parameters{nb::cast<double>(given["gamma"])}; };
    bind_adaptive<Sofs<LazyHeap>>(m, "Sofs", "ManySofs", parameters);
    bind_adaptive<ShadowSofs<WatchedPool>>(m, "ShadowSofs", "ManyShadowSofs", parameters);
    bind_adaptive<Arow<Unbounded>>(m, "Arow", "ManyArow", parameters);
}

}  // namespace thresher::python
