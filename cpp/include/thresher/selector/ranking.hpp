// The selected features, best first (highest rank, then lowest id), and the weights of each: one, or one per class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher {

struct Ranking {
    std::vector<std::int64_t> ids;
    std::vector<float> weights;
};

struct Ranked {
    std::int64_t id;
    float rank;
};

inline bool is_better(const Ranked& a, const Ranked& b) { return a.rank > b.rank || (a.rank == b.rank && a.id < b.id); }

inline void sort_best_first(std::vector<Ranked>& features) { std::sort(features.begin(), features.end(), is_better); }

// Keeps the n best of features in ascending order of id; they stay in that order.
inline void keep_best(std::vector<Ranked>& features, std::size_t n) {
    if (features.size() <= n) return;
    std::nth_element(features.begin(), features.begin() + static_cast<std::ptrdiff_t>(n), features.end(), is_better);
    features.resize(n);
    std::sort(features.begin(), features.end(), [](const Ranked& a, const Ranked& b) { return a.id < b.id; });
}

// The ranks of decoys, which fall, and for how many features each one stands.
struct DecoyRanks {
    std::vector<float> ranks;
    std::vector<double> stand_for;
};

}  // namespace thresher
