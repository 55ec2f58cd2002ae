// The state of a selector: all that further learning depends on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thresher/selector/counters.hpp"

namespace thresher {

// What the predicting layer of a selector has learned, where it lies; empty without one.
struct LayerView {
    std::span<const std::int64_t> ids;  // ascending
    std::span<const float> cells;       // as those of a state
    std::span<const float> intercept;
};

// A state where it lies; restoring from it makes no copy.
struct StateView {
    std::span<const std::int64_t> ids;  // of touched features, ascending
    std::span<const float> cells;       // theirs, one after another; with C > 2 classes, C cells each
    std::span<const float> intercept;   // one cell, or one per class
    Counters counters;
    std::span<const double> numbers;    // what the learner keeps beside its features, in the order of its kept()
    std::span<const float> table = {};  // of a sketch
    LayerView predicting = {};
};

struct LayerState {
    std::vector<std::int64_t> ids = {};
    std::vector<float> cells = {};
    std::vector<float> intercept = {};
};

struct State {
    std::vector<std::int64_t> ids;
    std::vector<float> cells;
    std::vector<float> intercept;
    Counters counters;
    std::vector<double> numbers;
    std::vector<float> table = {};
    LayerState predicting = {};

    StateView view() const {
        return {
            ids, cells, intercept, counters, numbers, table, {predicting.ids, predicting.cells, predicting.intercept}};
    }
};

}  // namespace thresher
