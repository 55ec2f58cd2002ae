// SOFS: second-order online feature selection (Wu et al., Algorithm 2).
//
//   keeps    the precision P of every feature (the paper's Σ is 1/P), and the mean μ of the members
//   members  the B features of highest P
//   on loss  α = y·max(0, 1 − y·m)/(v + γ) with m = Σ μx, v = Σ x²/P;   μ += α·x/P;   P += x²/γ      (eq. 6)
//   cost     O(m) for a row of m nonzeros, O(log B) for each change of membership
//
// A feature's state is {μ, ±E}. E = P − 1 ("excess") keeps the digits of small first steps and makes zero pages the
// start state; its sign bit marks a member. An outsider's μ is 0, so the margin needs no branch. E is float32: it stops
// growing once x²/γ < 6e-8·E, and `saturated` reports a row in which that was so for every feature.
// A weight that is far too large for its row must not overflow it either: γ counts as at least 1e-30.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher {

class Sofs {
  public:
    static constexpr std::size_t kWidth = 2;
    using Cell = std::array<float, kWidth>;
    using Planes = std::array<float*, kWidth>;

    struct Parameters {
        double gamma;
    };

    struct Step {
        double margin;    // before the step: what `predict` would have said
        double loss;      // the squared hinge of that
        bool updated;     // the row had a loss
        bool candidates;  // some outsider's rank is above the threshold
        bool saturated;   // there was a loss, and yet float32 let no precision grow
    };

    explicit Sofs(Parameters parameters) : gamma_(parameters.gamma) {}

    static Planes planes(RowBuffer& row) { return {row.plane(kMean), row.plane(kExcess)}; }

    static bool is_member(const Cell& cell) { return std::signbit(cell[1]); }
    static float weight(const Cell& cell) { return cell[0]; }
    static float rank(const Cell& cell) { return std::fabs(cell[1]); }
    static Cell as_member(const Cell& cell) { return {cell[0], -std::fabs(cell[1])}; }
    static Cell negated(const Cell& cell) { return {0.0f - cell[0], cell[1]}; }
    static Cell as_leaver(const Cell& cell) { return {0.0f, std::fabs(cell[1])}; }

    // One AROW step on the row in the buffer, which has n features and maybe an intercept behind them. y is ±1,
    // `importance` the sample weight: it acts as γ/importance.
    THRESHER_INLINE Step step(RowBuffer& row, std::size_t n, double y, double importance, float threshold) {
        const Score score = margin_and_variance(row);
        Step done{score.margin, 0.0, false, false, false};
        const double loss = 1.0 - y * score.margin;
        if (!(loss > 0.0)) return done;
        done.loss = loss * loss;
        done.updated = true;
        const double gamma = std::max(gamma_ / importance, kSmallestGamma);
        alpha_ = static_cast<float>(y * loss / (score.variance + gamma));
        const float inverse_gamma = static_cast<float>(1.0 / gamma);

        const float alpha = alpha_;
        const float* __restrict x = row.x();
        const float* __restrict gain = row.plane(kGain);
        float* __restrict mean = row.plane(kMean);
        float* __restrict excess = row.plane(kExcess);
        std::int32_t candidates = 0, n_grown = 0;
        const float intercept_before = n < row.size() ? excess[n] : 0.0f;
        const std::size_t blocks = row.blocks();
#pragma omp simd reduction(| : candidates) reduction(+ : n_grown)
        for (std::size_t i = 0; i < blocks; ++i) {
            const std::int32_t bits = std::bit_cast<std::int32_t>(excess[i]);
            const std::int32_t member = bits >> 31;
            const float before = std::bit_cast<float>(bits & kMagnitude);
            const float sum = before + x[i] * x[i] * inverse_gamma;
            const float after = sum < kLargest ? sum : kLargest;
            const float moved = mean[i] + alpha * gain[i];
            mean[i] = std::bit_cast<float>(std::bit_cast<std::int32_t>(moved) & member);
            excess[i] = std::bit_cast<float>(std::bit_cast<std::int32_t>(after) | (bits & ~kMagnitude));
            candidates |= ~member & -static_cast<std::int32_t>((after > threshold) & (x[i] != 0.0f));
            n_grown += static_cast<std::int32_t>(after != before);
        }
        done.candidates = candidates != 0;
        if (n < row.size()) n_grown -= excess[n] != intercept_before;
        done.saturated = n_grown == 0 && any_nonzero(row.x(), n);
        return done;
    }

    // Position i of the row that was just stepped on: is it an outsider that this row touched, and what would it be?
    static bool is_outsider(RowBuffer& row, std::size_t i) {
        return !std::signbit(row.plane(kExcess)[i]) && row.x()[i] != 0.0f;
    }
    static float rank(RowBuffer& row, std::size_t i) { return std::fabs(row.plane(kExcess)[i]); }
    Cell entrant(RowBuffer& row, std::size_t i) const {
        return as_member({alpha_ * row.plane(kGain)[i], row.plane(kExcess)[i]});
    }

    struct Score {
        double margin;
        double variance;
    };

    // The margin and its variance under w ~ N(μ, Σ), over members only: what `predict_proba` needs.
    THRESHER_INLINE Score score(RowBuffer& row) const {
        const float* __restrict mean = row.plane(kMean);
        const float* __restrict excess = row.plane(kExcess);
        const float* __restrict x = row.x();
        LaneSum margin, variance;
        const std::size_t blocks = row.blocks();
        for (std::size_t i = 0; i < blocks; i += kLanes)
#pragma omp simd
            for (std::size_t k = 0; k < kLanes; ++k) {
                const std::int32_t member = std::bit_cast<std::int32_t>(excess[i + k]) >> 31;
                const float seen = std::bit_cast<float>(std::bit_cast<std::int32_t>(x[i + k]) & member);
                margin.lane[k] += static_cast<double>(mean[i + k] * seen);
                variance.lane[k] += static_cast<double>(seen * (seen / (1.0f + std::fabs(excess[i + k]))));
            }
        return {margin.total(), variance.total()};
    }

  private:
    enum Plane : std::size_t { kMean = 1, kExcess = 2, kGain = 3 };
    static constexpr std::int32_t kMagnitude = 0x7fffffff;
    static constexpr float kLargest = std::numeric_limits<float>::max();
    static constexpr double kSmallestGamma = 1e-30;

    [[gnu::noinline]] static bool any_nonzero(const float* x, std::size_t n) {
        return std::any_of(x, x + n, [](float value) { return value != 0.0f; });
    }

    // m = Σ μx and v = Σ x²/P over the whole row; leaves x/P, the direction of the step, in the gain plane.
    THRESHER_INLINE static Score margin_and_variance(RowBuffer& row) {
        const float* __restrict x = row.x();
        const float* __restrict mean = row.plane(kMean);
        const float* __restrict excess = row.plane(kExcess);
        float* __restrict gain = row.plane(kGain);
        LaneSum margin, variance;
        const std::size_t blocks = row.blocks();
        for (std::size_t i = 0; i < blocks; i += kLanes)
#pragma omp simd
            for (std::size_t k = 0; k < kLanes; ++k) {
                const float direction = x[i + k] / (1.0f + std::fabs(excess[i + k]));
                gain[i + k] = direction;
                margin.lane[k] += static_cast<double>(mean[i + k] * x[i + k]);
                variance.lane[k] += static_cast<double>(x[i + k] * direction);
            }
        return {margin.total(), variance.total()};
    }

    double gamma_;
    float alpha_ = 0.0f;
};

}  // namespace thresher
