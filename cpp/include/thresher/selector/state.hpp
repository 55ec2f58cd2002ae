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

// What decoys have learned, and the row whose features take their next step; empty without any.
struct DecoyView {
    std::span<const std::int64_t> ids;  // of touched ones, ascending
    std::span<const float> cells;
    std::span<const float> table;
    std::span<const std::int64_t> shown_ids;
    std::span<const float> shown_values;
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
    DecoyView decoys = {};
    double max_fdr = 1.0;  // up to which q-value members were left, if not all
};

struct LayerState {
    std::vector<std::int64_t> ids = {};
    std::vector<float> cells = {};
    std::vector<float> intercept = {};
};

struct DecoyState {
    std::vector<std::int64_t> ids = {};
    std::vector<float> cells = {};
    std::vector<float> table = {};
    std::vector<std::int64_t> shown_ids = {};
    std::vector<float> shown_values = {};
};

struct State {
    std::vector<std::int64_t> ids;
    std::vector<float> cells;
    std::vector<float> intercept;
    Counters counters;
    std::vector<double> numbers;
    std::vector<float> table = {};
    LayerState predicting = {};
    DecoyState decoys = {};
    double max_fdr = 1.0;

    StateView view() const {
        return {ids,
                cells,
                intercept,
                counters,
                numbers,
                table,
                {predicting.ids, predicting.cells, predicting.intercept},
                {decoys.ids, decoys.cells, decoys.table, decoys.shown_ids, decoys.shown_values},
                max_fdr};
    }
};

}  // namespace thresher
