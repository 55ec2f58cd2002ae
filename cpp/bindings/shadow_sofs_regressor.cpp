// ShadowSOFS for numbers as Python sees it, with exact memory and with a sketch.
#include "selectors.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/members/watched_pool.hpp"

namespace thresher::python {

void bind_shadow_sofs_regressor(nb::module_& m) {
    bind_learner_of_numbers<ShadowSofs<WatchedPool, Squared>>(m, "NumberShadowSofs", "SketchNumberShadowSofs");
}

}  // namespace thresher::python
