// SOFS as Python sees it, with exact memory and with a sketch.
#include "thresher/learners/sofs.hpp"

#include "selectors.hpp"
#include "thresher/members/lazy_heap.hpp"
#include "thresher/memory/sketch.hpp"

namespace thresher::python {

void bind_sofs(nb::module_& m) {
    using L = Sofs<LazyHeap>;
    bind_adaptive<L>(m, "Sofs", "ManySofs");
    bind_learner<L, SketchMemory<CountMinTable>, SketchMemory<CountMinTable, std::dynamic_extent>>(m, "SketchSofs",
                                                                                                   "ManySketchSofs");
}

}  // namespace thresher::python
