// Logistic regression, learned online: Bayesian, with a diagonal covariance and one extended Kalman step per row. It is
// how ShadowSOFS predicts, with the members of a row alone (selector/predicting_layer.hpp).
//
//   keeps  the weight w and the precision Q of a feature; Q = 0.1 at the start
//   row    s = Σ w·z,  v = Σ z²/Q;  with p = σ(s), t = 1 or 0, and the row's importance c:
//          r = t − p,  h = max(p(1 − p), 1e-6);   w += c·r·z/(Q·(1 + c·h·v));   Q += c·h·z²
//   many   p = softmax(s); each class takes that step with a w and Q of its own, and its own r, h and v
//   number r = y − s and h = 1 make it a linear regression
//   cost   O(m) for m features, for each class
//
// A cell is {w, Q − 0.1}, so that all zeros is the start state. In float32, with g = z/Q: w += rate·g, where
// rate = c·r/(1 + c·h·v) is rounded once, and Q − 0.1 grows by (z·z)·(c·h). The step is odd in the label, to the bit.
// An importance counts as at most 1e10.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "thresher/row.hpp"
#include "thresher/selector/margin_scale.hpp"
#include "thresher/simd.hpp"

namespace thresher {

class Logistic {
  public:
    using Cell = std::array<float, 2>;

    static std::array<float*, 2> planes(const Row& row) { return {row.plane(kWeight), row.plane(kGrowth)}; }
    static Cell negated(const Cell& cell) { return {0.0f - cell[0], cell[1]}; }

    // Merging (selector/changes.hpp): shards that started from the same w and Q have learned from different rows, so
    // what they have won adds up, both Q and Q·w: the product of their posteriors, with the start counted once.
    using Change = std::array<float, 2>;  // Δ(Q·w), ΔQ
    using Sum = std::array<double, 2>;    // of these

    static Change change(const Cell& from, const Cell& to) {
        return {static_cast<float>(information(to) - information(from)), std::max(to[1] - from[1], 0.0f)};
    }
    static Sum weighed(const Change& change) {
        return {static_cast<double>(change[0]), static_cast<double>(change[1])};
    }
    static Cell moved(const Cell& from, const Sum& sum, double size) {
        constexpr double largest = static_cast<double>(kLargest);
        const double growth = std::min(static_cast<double>(from[1]) + sum[1], largest);
        const double weight = (information(from) + sum[0]) / (static_cast<double>(kPrior) + growth);
        return {static_cast<float>(static_cast<double>(from[0]) + size * (weight - static_cast<double>(from[0]))),
                static_cast<float>(growth)};
    }

    // Of a row: s, and its variance v.
    struct Score {
        double margin;
        double variance;
    };

    // Leaves z/Q, the direction of the step, in the gain plane.
    THRESHER_KERNEL static Score score(const Row row) {
        return run([=]() __attribute__((always_inline)) {
            const float* __restrict z = row.x();
            const float* __restrict weight = row.plane(kWeight);
            const float* __restrict growth = row.plane(kGrowth);
            float* __restrict gain = row.plane(kGain);
            LaneSum margin, variance;
            const std::size_t blocks = row.blocks();
            for (std::size_t i = 0; i < blocks; i += kLanes)
#pragma omp simd
                for (std::size_t k = 0; k < kLanes; ++k) {
                    const float direction = z[i + k] / (kPrior + growth[i + k]);
                    gain[i + k] = direction;
                    margin.lane[k] += static_cast<double>(weight[i + k] * z[i + k]);
                    variance.lane[k] += static_cast<double>(z[i + k] * direction);
                }
            return Score{margin.total(), variance.total()};
        });
    }

    // How a label differs from what was expected: t − p, and p(1 − p).
    struct Error {
        double residual;
        double curvature;
    };

    // Of two classes; y = ±1.
    static Error error_of_two(double s, double y) {
        const double e = exp_of_negative(-std::fabs(s)), sum = 1.0 + e;
        return {y * (y * s > 0.0 ? e : 1.0) / sum, at_least(e / (sum * sum))};
    }

    // Of many: each(c, error of class c).
    template <class Each>
    static void errors_of_many(std::span<const Score> scores, std::size_t truth, Each each) {
        double highest = scores[0].margin, sum = 0.0;
        for (const Score& score : scores) highest = std::max(highest, score.margin);
        for (const Score& score : scores) sum += exp_of_negative(score.margin - highest);
        for (std::size_t c = 0; c < scores.size(); ++c) {
            const double p = exp_of_negative(scores[c].margin - highest) / sum;
            each(c, Error{(c == truth ? 1.0 : 0.0) - p, at_least(p * (1.0 - p))});
        }
    }

    // The step of a class whose row was scored.
    THRESHER_KERNEL static void move(const Row row, const Error& error, double variance, double importance) {
        const double counted = std::min(importance, kLargestImportance);
        const double curvature = counted * error.curvature;
        const float rate = static_cast<float>(counted * error.residual / (1.0 + curvature * variance));
        const float growing = static_cast<float>(curvature);
        run([=]() __attribute__((always_inline)) {
            const float* __restrict z = row.x();
            const float* __restrict gain = row.plane(kGain);
            float* __restrict weight = row.plane(kWeight);
            float* __restrict growth = row.plane(kGrowth);
            const std::size_t blocks = row.blocks();
#pragma omp simd
            for (std::size_t i = 0; i < blocks; ++i) {
                weight[i] += rate * gain[i];
                const float grown = growth[i] + z[i] * z[i] * growing;
                growth[i] = grown < kLargest ? grown : kLargest;
            }
        });
    }

  private:
    // Q·w
    static double information(const Cell& cell) {
        return (static_cast<double>(kPrior) + static_cast<double>(cell[1])) * static_cast<double>(cell[0]);
    }

    enum Plane : std::size_t { kWeight = 1, kGrowth = 2, kGain = 3 };
    static constexpr float kPrior = 0.1f, kLargest = std::numeric_limits<float>::max();
    static constexpr double kLeastCurvature = 1e-6, kLargestImportance = 1e10;

    static double at_least(double curvature) { return std::max(curvature, kLeastCurvature); }
};

}  // namespace thresher
