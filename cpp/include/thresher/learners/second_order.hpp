// What the second-order learners share: a feature's state, and the AROW step's numbers (Crammer et al. 2009; eq. 6).
//
//   state  {μ, ±E}: the mean, and the precision P = 1 + E, E ≥ 0. The paper's Σ is 1/P.
//   step   α = y·max(0, 1 − y·m)/(v + γ);   μ += α·x/P;   P += x²/γ
//   many   with more than two classes, each has a μ and P of its own; the true class y takes the step with α, the best
//          wrong class r with −α, where m = s_y − s_r, v = Σ x²/P_y + Σ x²/P_r, α = max(0, 1 − m)/(v + γ)
//
// E ("excess") keeps the digits of small first steps and makes all zeros the start state; its sign bit marks a member.
// It is float32, so it stops growing once x²/γ < 6e-8·E; `saturated` reports a row in which no feature's E grew. A huge
// sample weight must not overflow E either: γ/importance counts as at least 1e-10.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "thresher/learners/residuals.hpp"
#include "thresher/learners/step.hpp"
#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher {

class SecondOrder {
  public:
    static constexpr bool kForAllSets = true;
    static constexpr std::size_t kWidth = 2;
    using Cell = std::array<float, kWidth>;
    using Planes = std::array<float*, kWidth>;

    struct Parameters {
        double gamma;

        template <class Given>
        static Parameters from(const Given& given) {
            return {given.number("gamma")};
        }
    };

    static Planes planes(const Row& row) { return {row.plane(kMean), row.plane(kExcess)}; }

    static bool is_member(const Cell& cell) { return std::signbit(cell[1]); }
    static float weight(const Cell& cell) { return cell[0]; }
    static Cell as_member(const Cell& cell) { return {cell[0], -std::fabs(cell[1])}; }
    static Cell negated(const Cell& cell) { return {0.0f - cell[0], cell[1]}; }

    // Merging (selector/changes.hpp). A shard's move counts as much as the precision that it won, ΔE. Together they
    // move μ by `size` times their mean, but no further than `at_most` times. Precisions add up.
    using Change = std::array<float, 2>;  // Δμ, ΔE
    using Sum = std::array<double, 3>;    // Σ ΔE·Δμ, Σ ΔE, Σ ΔE²

    static Change change(const Cell& from, const Cell& to) {
        return {to[0] - from[0], std::max(std::fabs(to[1]) - std::fabs(from[1]), 0.0f)};
    }
    static Sum weighed(const Change& change) {
        const double move = static_cast<double>(change[0]), won = static_cast<double>(change[1]);
        return {won * move, won, won * won};
    }
    // Keeps the mark.
    static Cell moved(const Cell& from, const Sum& sum, double size) {
        if (!(sum[1] > 0.0)) return from;
        const double times = std::min(size, at_most(1.0 + std::fabs(static_cast<double>(from[1])), sum));
        const double mean = static_cast<double>(from[0]) + times * (sum[0] / sum[1]);
        const double excess = std::min(std::fabs(static_cast<double>(from[1])) + sum[1], kLargestExcess);
        return {static_cast<float>(mean), std::copysign(static_cast<float>(excess), from[1])};
    }

    // How many mean moves there are in a sum, for a feature that started at this precision. Where little was won, moves
    // add up: n_eff = (Σ ΔE)²/Σ ΔE², the number of shards if all won the same, and 1 if only one has seen the feature.
    // A shard that has won far more than there was is nearly where all of them would be, so that its move counts by the
    // logarithm of what it won.
    static double at_most(double precision, const Sum& sum) {
        const double won = sum[1], won_by_one = sum[2] / sum[1], n_effective = won / won_by_one;
        if (!(n_effective > 1.0)) return n_effective;
        return std::min(n_effective, std::log1p(won / precision) / std::log1p(won_by_one / precision));
    }

    // Position i of a row: is it an outsider that the row touches?
    static bool is_outsider(const Row& row, std::size_t i) {
        const bool is_member = std::signbit(row.plane(kExcess)[i]), is_touched = row.x()[i] != 0.0f;
        return is_touched > is_member;  // and no branch
    }

    // The margin over members only: for predictions, and before a step of many classes.
    THRESHER_INLINE double margin(const Row& row, std::size_t) const {
        const float* __restrict mean = row.plane(kMean);
        const float* __restrict excess = row.plane(kExcess);
        const float* __restrict x = row.x();
        LaneSum margin;
        const std::size_t blocks = row.blocks();
        for (std::size_t i = 0; i < blocks; i += kLanes)
#pragma omp simd
            for (std::size_t k = 0; k < kLanes; ++k)
                margin.lane[k] += static_cast<double>(mean[i + k] * if_member(x[i + k], excess[i + k]));
        return margin.total();
    }

  protected:
    enum Plane : std::size_t { kMean = 1, kExcess = 2, kGain = 3, kRank = 4 };
    static constexpr std::int32_t kMagnitude = 0x7fffffff;
    static constexpr float kLargest = std::numeric_limits<float>::max();
    static constexpr double kLargestExcess = static_cast<double>(kLargest);

    explicit SecondOrder(Parameters parameters) : gamma_(parameters.gamma) {}

    // Of a row: m, and its variance v under w ~ N(μ, Σ).
    struct Score {
        double margin;
        double variance;
    };

    // All ones for a member, all zeros for an outsider.
    THRESHER_INLINE static std::int32_t member_mask(float excess) { return std::bit_cast<std::int32_t>(excess) >> 31; }

    // The value for a member, 0 for an outsider; no branch.
    THRESHER_INLINE static float if_member(float value, float excess) {
        return std::bit_cast<float>(std::bit_cast<std::int32_t>(value) & member_mask(excess));
    }

    // `after` with the member's mark of `before`.
    THRESHER_INLINE static float marked(float after, float before) {
        const std::int32_t mark = std::bit_cast<std::int32_t>(before) & ~kMagnitude;
        return std::bit_cast<float>(std::bit_cast<std::int32_t>(after) | mark);
    }

    THRESHER_INLINE static float grown(float excess, float x, float inverse_gamma) {
        const float sum = std::fabs(excess) + x * x * inverse_gamma;
        return sum < kLargest ? sum : kLargest;
    }

    // m and v over the whole row, or over its members only, with a share of the outsiders in v; leaves x/P, the
    // direction of the step, in the gain plane.
    template <bool members_only>
    THRESHER_INLINE static Score margin_and_variance(const Row& row, float outsiders_share = 0.0f) {
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
                const float seen = members_only ? if_member(x[i + k], excess[i + k]) : x[i + k];
                const float counted = outsiders_share == 0.0f ? seen : seen + outsiders_share * (x[i + k] - seen);
                margin.lane[k] += static_cast<double>(mean[i + k] * seen);
                variance.lane[k] += static_cast<double>(counted * direction);
            }
        return {margin.total(), variance.total()};
    }

    // What becomes of an outsider's μ: SOFS drops it unless the feature enters, and for AROW there are no outsiders.
    enum class Outsiders { dropped, none };

    // μ += α·x/P and P += x²/γ over the row, x/P being in the gain plane; leaves α·x/P there, which is what an outsider
    // whose μ is dropped would enter with. Returns how many precisions grew.
    template <Outsiders outsiders>
    THRESHER_INLINE static std::int32_t move(const Row& row, float alpha, float inverse_gamma) {
        const float* __restrict x = row.x();
        float* __restrict gain = row.plane(kGain);
        float* __restrict mean = row.plane(kMean);
        float* __restrict excess = row.plane(kExcess);
        std::int32_t n_grown = 0;
        const std::size_t blocks = row.blocks();
#pragma omp simd reduction(+ : n_grown)
        for (std::size_t i = 0; i < blocks; ++i) {
            const float before = excess[i];
            const float after = grown(before, x[i], inverse_gamma);
            const float change = alpha * gain[i];
            const float moved = mean[i] + change;
            gain[i] = change;
            mean[i] = outsiders == Outsiders::dropped ? if_member(moved, before) : moved;
            excess[i] = marked(after, outsiders == Outsiders::none && x[i] != 0.0f ? -1.0f : before);
            n_grown += static_cast<std::int32_t>(after != std::fabs(before));
        }
        return n_grown;
    }

    // The step of many classes: `up` is the true class's part of the row, `down` that of the best wrong class, `margin`
    // the difference of their scores.
    template <Outsiders outsiders>
    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) const {
        const double residual = SquaredHinge::residual(margin, 1.0);
        if (residual == 0.0) return {};
        const double variance = margin_and_variance<false>(up).variance + margin_and_variance<false>(down).variance;
        const Pull pull = pull_of(residual, variance, importance);
        grow_intercept(up, n, pull.inverse_gamma);
        grow_intercept(down, n, pull.inverse_gamma);
        const std::int32_t n_grown = move<outsiders>(up, pull.alpha, pull.inverse_gamma) +
                                     move<outsiders>(down, -pull.alpha, pull.inverse_gamma);
        return {pull.loss, true, is_saturated(up, n, n_grown)};
    }

    // How a row moves its features.
    struct Pull {
        double loss;  // as it counts
        float residual;
        float common;         // v + γ
        float alpha;          // μ moves by α·x/P, for y = 1
        float inverse_gamma;  // P grows by x²/γ
    };

    Pull pull_of(double residual, double variance, double importance) const {
        const double gamma = std::max(gamma_ / importance, kSmallestGamma), common = variance + gamma;
        return {.loss = residual * residual,
                .residual = static_cast<float>(residual),
                .common = static_cast<float>(common),
                .alpha = static_cast<float>(residual / common),
                .inverse_gamma = static_cast<float>(1.0 / gamma)};
    }

    // Whether none of the n features of a row grew, although some have x ≠ 0.
    static bool is_saturated(const Row& row, std::size_t n, std::int32_t n_grown) {
        return n_grown == 0 && any_nonzero(row.x(), n);
    }

    // The intercept has a member's mark but is no feature: a step must count it neither among the row's members nor
    // among what grew. So its precision grows before the step, in which its x is then 0; its mean moves with the
    // others, by the direction that the gain plane has.
    THRESHER_INLINE static void grow_intercept(const Row& row, std::size_t n, float inverse_gamma) {
        if (n == row.size()) return;
        float& excess = row.plane(kExcess)[n];
        excess = marked(grown(excess, kInterceptValue, inverse_gamma), excess);
        row.x()[n] = 0.0f;
    }

    THRESHER_INLINE static float worth(float mean, float excess) {
        const float value = mean * mean * (1.0f + std::fabs(excess));
        return value < kLargest ? value : kLargest;
    }

  private:
    static constexpr double kSmallestGamma = 1e-10;

    [[gnu::noinline]] static bool any_nonzero(const float* x, std::size_t n) {
        return std::any_of(x, x + n, [](float value) { return value != 0.0f; });
    }

    double gamma_;
};

}  // namespace thresher
