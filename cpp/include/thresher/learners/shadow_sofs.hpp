// ShadowSOFS: SOFS that selects by what a feature's weight is worth.
//
//   keeps     the precision P and the mean μ of every feature, by which it selects; its members predict by a layer of
//             their own, a logistic regression (logistic.hpp)
//   members   the B features of highest μ²P: dropping a feature costs μ²/Σ = μ²P in the paper's own objective (eq. 4)
//   on loss   while places are open, the row's outsiders take them before the step
//             members: the AROW step, m = Σ μx and v = Σ x²/P summed over the members of the row
//             an outsider: the same step as if it alone had joined them; its own shadow counts in its residual and in v
//   cost      O(m) for a row of m nonzeros, and what the member set takes for each change of membership
//
// An outsider's mean is its shadow: it is learned but not used to predict. Since it corrects itself, it settles at what
// the feature would be worth beside the members, and μ²P is the gain of adding it, as a member's is the loss of
// dropping it. With B ≥ d there are no outsiders, and the bits are AROW's.
//
// In float32, with g = x/P and c = v + γ (rounded once), an outsider moves by
//
//   μ += rate·g,   rate = y·max(0, (1 − y·m) − y·(μ·x)) / (c + x·g)
//
// and with many classes, up for the true class y and down for the best wrong one r, by
//
//   rate = max(0, (1 − m) − (μ_y − μ_r)·x) / (c + (x·g_y + x·g_r))
//
// With many classes a quarter of the outsiders' x²/P counts in v: on news20's twenty classes that gains up to a point.
// On two classes it gains nothing.
//
// Of numbers (residuals.hpp), r = y − m takes the place of y·max(0, 1 − y·m), and every row is learned.
//
// μ²P falls as well as rises, so the member set must be notified.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "thresher/concepts.hpp"
#include "thresher/learners/second_order.hpp"

namespace thresher {

template <MemberSet Members_, class Loss_ = SquaredHinge>
class ShadowSofs : public SecondOrder, public Loss_ {
  public:
    using Members = Members_;
    using Loss = Loss_;
    static constexpr Hooks kHooks{.enters_first = true, .predicts_apart = true, .has_decoys = true};
    static constexpr bool kRanksFall = true;
    static constexpr auto kept() { return Loss::template kept<ShadowSofs>(); }

    explicit ShadowSofs(Parameters parameters) : SecondOrder(parameters) {}

    static float rank(const Cell& cell) { return worth(cell[0], cell[1]); }
    static Cell as_leaver(const Cell& cell) { return {cell[0], std::fabs(cell[1])}; }

    // Position i of a row becomes a member's before the step.
    static void enter(const Row& row, std::size_t i) { row.plane(kExcess)[i] = -std::fabs(row.plane(kExcess)[i]); }

    THRESHER_INLINE Step step(const Row& row, std::size_t n, double y, double importance, const Members& members) {
        const Score score = margin_and_variance<true>(row);
        Step done{score.margin};
        const double residual = Loss::residual(score.margin, y);
        last_pull_.common = 0.0f;
        if (Loss::kSkipsRows && residual == 0.0) return done;
        const Pull pull = pull_of(residual, score.variance, importance);
        done.loss = pull.loss;
        done.updated = true;
        const float sign = Loss::direction(y), alpha = sign * pull.alpha;
        last_pull_ = pull, last_sign_ = sign;

        grow_intercept(row, n, pull.inverse_gamma);
        const float* __restrict x = row.x();
        const float* __restrict gain = row.plane(kGain);
        float* __restrict mean = row.plane(kMean);
        float* __restrict excess = row.plane(kExcess);
        std::int32_t n_grown = 0;
        float lowest_member = kLargest, highest_outsider = -1.0f;
        const std::size_t blocks = row.blocks();
#pragma omp simd reduction(+ : n_grown) reduction(min : lowest_member) reduction(max : highest_outsider)
        for (std::size_t i = 0; i < blocks; ++i) {
            const float before = excess[i], old_mean = mean[i];
            const float after = grown(before, x[i], pull.inverse_gamma);
            const bool member = member_mask(before) != 0, touched = x[i] != 0.0f;
            const float own = sign * alpha_of(pull, pull.residual - sign * (old_mean * x[i]), x[i] * gain[i]);
            const float moved = old_mean + (member ? alpha : own) * gain[i];
            const float new_rank = worth(moved, after);
            mean[i] = moved;
            excess[i] = marked(after, before);
            n_grown += static_cast<std::int32_t>(after != std::fabs(before));
            const float as_member = (member & touched) ? new_rank : kLargest;
            const float as_outsider = (!member & touched) ? new_rank : -1.0f;
            lowest_member = lowest_member < as_member ? lowest_member : as_member;
            highest_outsider = highest_outsider > as_outsider ? highest_outsider : as_outsider;
        }
        done.lowest_member = lowest_member;
        if constexpr (Members::kReports == RankReports::low) done.low = lowest_member < members.watched();
        done.candidates = highest_outsider > std::min(members.threshold(), lowest_member);
        done.saturated = is_saturated(row, n, n_grown);
        return done;
    }

    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) {
        const double residual = Loss::residual(margin, 1.0);
        last_pull_.common = 0.0f;
        if (residual == 0.0) return {};
        const double variance = margin_and_variance<true>(up, kOutsidersShare).variance +
                                margin_and_variance<true>(down, kOutsidersShare).variance;
        const Pull pull = last_pull_ = pull_of(residual, variance, importance);
        grow_intercept(up, n, pull.inverse_gamma);
        grow_intercept(down, n, pull.inverse_gamma);
        set_rates(up, down, pull);
        const std::int32_t n_grown = move_by_rates(up, up.plane(kRank), 1.0f, pull.inverse_gamma) +
                                     move_by_rates(down, up.plane(kRank), -1.0f, pull.inverse_gamma);
        return {pull.loss, true, is_saturated(up, n, n_grown)};
    }

    // Whether the row that was learned last had a loss.
    bool has_stepped() const { return last_pull_.common > 0.0f; }

    // The features of another row, none of them a member, take the step that this row's outsiders took last.
    THRESHER_INLINE void follow(const Row& row) const {
        const Pull pull = last_pull_;
        const float sign = last_sign_;
        const float* __restrict x = row.x();
        float* __restrict mean = row.plane(kMean);
        float* __restrict excess = row.plane(kExcess);
        const std::size_t blocks = row.blocks();
#pragma omp simd
        for (std::size_t i = 0; i < blocks; ++i) {
            const float gain = x[i] / (1.0f + excess[i]);
            mean[i] += sign * alpha_of(pull, pull.residual - sign * (mean[i] * x[i]), x[i] * gain) * gain;
            excess[i] = grown(excess[i], x[i], pull.inverse_gamma);
        }
    }
    THRESHER_INLINE void follow(const Row& up, const Row& down) const {
        const Pull pull = last_pull_;
        const float* __restrict x = up.x();
        float* __restrict up_mean = up.plane(kMean);
        float* __restrict down_mean = down.plane(kMean);
        float* __restrict up_excess = up.plane(kExcess);
        float* __restrict down_excess = down.plane(kExcess);
        const std::size_t blocks = up.blocks();
#pragma omp simd
        for (std::size_t i = 0; i < blocks; ++i) {
            const float up_gain = x[i] / (1.0f + up_excess[i]), down_gain = x[i] / (1.0f + down_excess[i]);
            const float alpha =
                alpha_of(pull, pull.residual - (up_mean[i] - down_mean[i]) * x[i], x[i] * up_gain + x[i] * down_gain);
            up_mean[i] += alpha * up_gain;
            down_mean[i] -= alpha * down_gain;
            up_excess[i] = grown(up_excess[i], x[i], pull.inverse_gamma);
            down_excess[i] = grown(down_excess[i], x[i], pull.inverse_gamma);
        }
    }

    static float rank(const Row& row, std::size_t i) { return worth(row.plane(kMean)[i], row.plane(kExcess)[i]); }
    static Cell entrant(const Row& row, std::size_t i) {
        return as_member({row.plane(kMean)[i], row.plane(kExcess)[i]});
    }

  private:
    static constexpr float kOutsidersShare = 0.25f;

    // The α of a feature that is looked at alone, as if it had joined the members: what is left of the row's residual
    // without what it makes up for itself, and it adds `more` to v.
    THRESHER_INLINE static float alpha_of(const Pull& pull, float own_residual, float more) {
        return Loss::left(own_residual) / (pull.common + more);
    }

    // Of the last row, for its decoys; `common` is 0 if it had no loss.
    Pull last_pull_{};
    float last_sign_ = 0.0f;

    // How far each feature of the row goes, in the rank plane of `up`: with many classes the selector notes the ranks.
    THRESHER_INLINE static void set_rates(const Row& up, const Row& down, const Pull pull) {
        const float* __restrict x = up.x();
        const float* __restrict excess = up.plane(kExcess);
        const float* __restrict up_mean = up.plane(kMean);
        const float* __restrict down_mean = down.plane(kMean);
        const float* __restrict up_gain = up.plane(kGain);
        const float* __restrict down_gain = down.plane(kGain);
        float* __restrict rate = up.plane(kRank);
        const std::size_t blocks = up.blocks();
#pragma omp simd
        for (std::size_t i = 0; i < blocks; ++i) {
            const float own = alpha_of(pull, pull.residual - (up_mean[i] - down_mean[i]) * x[i],
                                       x[i] * up_gain[i] + x[i] * down_gain[i]);
            rate[i] = member_mask(excess[i]) != 0 ? pull.alpha : own;
        }
    }

    // Returns how many precisions grew.
    THRESHER_INLINE static std::int32_t move_by_rates(const Row& row, const float* __restrict rate, float sign,
                                                      float inverse_gamma) {
        const float* __restrict x = row.x();
        const float* __restrict gain = row.plane(kGain);
        float* __restrict mean = row.plane(kMean);
        float* __restrict excess = row.plane(kExcess);
        std::int32_t n_grown = 0;
        const std::size_t blocks = row.blocks();
#pragma omp simd reduction(+ : n_grown)
        for (std::size_t i = 0; i < blocks; ++i) {
            const float before = excess[i];
            const float after = grown(before, x[i], inverse_gamma);
            mean[i] += sign * rate[i] * gain[i];
            excess[i] = marked(after, before);
            n_grown += static_cast<std::int32_t>(after != std::fabs(before));
        }
        return n_grown;
    }
};

}  // namespace thresher
