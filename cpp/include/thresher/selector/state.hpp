// The state of a selector: all that further learning depends on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thresher/selector/counters.hpp"

namespace thresher {

// A state where it lies; restoring from it makes no copy.
struct StateView {
    std::span<const std::int64_t> keys;  // ascending; an id, or with C > 2 classes id·C + class
    std::span<const float> cells;        // those of touched features, one after another
    std::span<const float> intercept;    // one cell, or one per class
    Counters counters;
    std::span<const double> numbers;  // what the learner keeps beside its features, in the order of its kept()
};

struct State {
    std::vector<std::int64_t> keys;
    std::vector<float> cells;
    std::vector<float> intercept;
    Counters counters;
    std::vector<double> numbers;

    StateView view() const { return {keys, cells, intercept, counters, numbers}; }
};

}  // namespace thresher
