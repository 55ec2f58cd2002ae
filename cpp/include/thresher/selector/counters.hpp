// What a selector counts while it learns.
#pragma once

#include <array>
#include <cstdint>

namespace thresher {

struct Counters {
    std::uint64_t n_samples = 0;
    std::uint64_t n_updates = 0;           // rows with a loss
    std::uint64_t n_mistakes = 0;          // of `predict` before learning
    std::uint64_t n_undecided_first = 0;   // two classes: rows of the first class whose margin was exactly 0 …
    std::uint64_t n_undecided_second = 0;  // … and of the second
    std::uint64_t n_saturated = 0;         // updates in which no precision grew: float32 has too few digits
    double loss = 0.0;                     // summed over rows, before learning
};

template <class Number>
struct NamedCounter {
    const char* name;
    Number Counters::* member;
};

// The names under which counters are reported and saved.
inline constexpr std::array<NamedCounter<std::uint64_t>, 6> kCounts{{
    {"n_samples", &Counters::n_samples},
    {"n_updates", &Counters::n_updates},
    {"n_mistakes", &Counters::n_mistakes},
    {"n_undecided_first", &Counters::n_undecided_first},
    {"n_undecided_second", &Counters::n_undecided_second},
    {"n_saturated", &Counters::n_saturated},
}};
inline constexpr std::array<NamedCounter<double>, 1> kSums{{{"loss", &Counters::loss}}};

}  // namespace thresher
