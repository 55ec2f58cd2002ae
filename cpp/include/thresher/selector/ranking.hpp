// The selected features, best first (highest rank, then lowest id), and the weights of each: one, or one per class.
#pragma once

#include <cstdint>
#include <vector>

namespace thresher {

struct Ranking {
    std::vector<std::int64_t> ids;
    std::vector<float> weights;
};

}  // namespace thresher
