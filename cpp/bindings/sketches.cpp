// The learners whose outsiders can be in a sketch, as Python sees them.
#include "selectors.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/members/lazy_heap.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/sketch.hpp"

namespace thresher::python {

namespace {

template <Learner L, class Table>
void bind_sketch(nb::module_& m, const char* two, const char* many) {
    auto parameters = [](const nb::dict& given) { return SecondOrder::Parameters{nb::cast<double>(given["gamma"])}; };
    bind_learner<L, SketchMemory<Table>, SketchMemory<Table, std::dynamic_extent>>(m, two, many, parameters);
}

}  // namespace

void bind_sketches(nb::module_& m) {
    bind_sketch<Sofs<LazyHeap>, CountMinTable>(m, "SketchSofs", "ManySketchSofs");
    bind_sketch<ShadowSofs<WatchedPool>, SignedTable>(m, "SketchShadowSofs", "ManySketchShadowSofs");
}

}  // namespace thresher::python
