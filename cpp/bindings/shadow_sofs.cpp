// ShadowSOFS as Python sees it, with exact memory and with a sketch.
#include "thresher/learners/shadow_sofs.hpp"

#include "selectors.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/sketch.hpp"

namespace thresher::python {

void bind_shadow_sofs(nb::module_& m) {
    using L = ShadowSofs<WatchedPool>;
    bind_adaptive<L>(m, "ShadowSofs", "ManyShadowSofs");
    bind_learner<L, SketchMemory<SignedTable>, SketchMemory<SignedTable, std::dynamic_extent>>(m, "SketchShadowSofs",
                                                                                               "ManySketchShadowSofs");
}

}  // namespace thresher::python
