// What a selector counts and measures while it learns.
#pragma once

#include <array>
#include <cstdint>

#include "thresher/selector/margin_scale.hpp"

namespace thresher {

struct Counters {
    std::uint64_t n_samples = 0;
    std::uint64_t n_updates = 0;           // rows with a loss
    std::uint64_t n_mistakes = 0;          // of `predict` before learning
    std::uint64_t n_undecided_first = 0;   // two classes: rows of the first class whose margin was exactly 0 …
    std::uint64_t n_undecided_second = 0;  // … and of the second
    std::uint64_t n_saturated = 0;         // updates in which no precision grew: float32 has too few digits
    double loss = 0.0;                     // summed over rows, before learning
    // What a race compares: the weights of rows whose margin was not on their side (y·m ≤ 0); of numbers, squared
    // errors times the rows' weights.
    double error = 0.0;
    MarginScale margins;
    // Nothing learned depends on these.
    std::uint64_t n_with_member = 0;  // rows that had a member when they were learned
    std::uint64_t n_predicted = 0;  // rows among which mistakes were counted: a predicting layer's first readings only
    // Of numbers, over these rows: of the predictions, and of the mean of the targets before.
    double squared_error = 0.0, baseline_error = 0.0;
};

template <class Number>
struct NamedCounter {
    const char* name;
    Number Counters::* member;
};

struct NamedScale {
    const char* name;
    double MarginScale::* member;
};

// The names under which counters are reported and saved.
inline constexpr std::array<NamedCounter<std::uint64_t>, 8> kCounts{{
    {"n_samples", &Counters::n_samples},
    {"n_updates", &Counters::n_updates},
    {"n_mistakes", &Counters::n_mistakes},
    {"n_undecided_first", &Counters::n_undecided_first},
    {"n_undecided_second", &Counters::n_undecided_second},
    {"n_saturated", &Counters::n_saturated},
    {"n_with_member", &Counters::n_with_member},
    {"n_predicted", &Counters::n_predicted},
}};
inline constexpr std::array<NamedCounter<double>, 4> kSums{{
    {"loss", &Counters::loss},
    {"error", &Counters::error},
    {"squared_error", &Counters::squared_error},
    {"baseline_error", &Counters::baseline_error},
}};
inline constexpr std::array<NamedScale, 3> kScales{{
    {"margin_scale", &MarginScale::scale},
    {"margin_information", &MarginScale::information},
    {"margin_rows", &MarginScale::n_rows},
}};

}  // namespace thresher
