// The losses of second-order learners: what a step makes up for. A new loss is a struct here.
//
//   residual(m, y)  how far a row with margin m is from its target y, seen in the direction in which it is to move: a
//                   step moves the margin by a share of direction(y)·residual
//   left(r)         the same of what one feature's own part leaves of a residual
//
// Where `kSkipsRows`, a row whose residual is 0 is not learned.
#pragma once

#include <algorithm>
#include <array>

#include "thresher/concepts.hpp"
#include "thresher/mean_length.hpp"
#include "thresher/simd.hpp"

namespace thresher {

// Of classes: max(0, 1 − y·m)²; y = ±1. Of many classes m is how far the true one is ahead, and y is 1.
struct SquaredHinge {
    static constexpr bool kOfNumbers = false, kSkipsRows = true;

    static double residual(double margin, double y) { return std::max(0.0, 1.0 - y * margin); }
    static float direction(double y) { return static_cast<float>(y); }
    THRESHER_INLINE static float left(float residual) { return residual > 0.0f ? residual : 0.0f; }

    template <class L>
    static constexpr std::array<KeptNumber<L>, 0> kept() {
        return {};
    }
};

// Of numbers: (y − m)². Rows are shown to the learner divided by their mean length, and targets without their mean; it
// keeps both, as sums over the rows so far.
struct Squared : MeanLength {
    static constexpr bool kOfNumbers = true, kSkipsRows = false;

    static double residual(double margin, double y) { return y - margin; }
    static float direction(double) { return 1.0f; }
    THRESHER_INLINE static float left(float residual) { return residual; }

    double target_weight = 0.0, target_sum = 0.0;  // weights of rows, and their targets times these

    double mean_target() const { return target_weight > 0.0 ? target_sum / target_weight : 0.0; }
    void add_target(double y, double importance) {
        target_weight += importance;
        target_sum += importance * y;
    }

    template <class L>
    static constexpr std::array<KeptNumber<L>, 4> kept() {
        return {{{"length_rows", &L::length_rows, true, true},
                 {"length_sum", &L::length_sum, true, true},
                 {"target_weight", &L::target_weight, true, true},
                 {"target_sum", &L::target_sum, true, true, true}}};
    }
};

}  // namespace thresher
