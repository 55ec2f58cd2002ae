// ShadowSOFS: SOFS that selects by what a feature's weight is worth.
//
//   keeps    the precision P and the mean μ of every feature; only members predict
//   members  the B features of highest μ²P: dropping a feature costs μ²/Σ = μ²P in the paper's own objective (eq. 4)
//   on loss  the AROW step, with m = Σ μx over the members of the row and v = Σ x²/P over the whole row
//   cost     O(m) for a row of m nonzeros, and what the member set takes for each change of membership
//
// An outsider's mean is its shadow: it is updated but not used to predict, so that a feature can earn its way in.
// μ²P falls as well as rises, so the member set must hear of it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "thresher/concepts.hpp"
#include "thresher/learners/second_order.hpp"

namespace thresher {

template <MemberSet Members_>
class ShadowSofs : public SecondOrder {
  public:
    using Members = Members_;
    static constexpr Hooks kHooks{};
    static constexpr bool kRanksFall = true;
    static constexpr std::array<KeptNumber<ShadowSofs>, 0> kept() { return {}; }

    explicit ShadowSofs(Parameters parameters) : SecondOrder(parameters) {}

    static float rank(const Cell& cell) { return worth(cell[0], cell[1]); }
    static Cell as_leaver(const Cell& cell) { return {cell[0], std::fabs(cell[1])}; }

    THRESHER_INLINE Step step(const Row& row, std::size_t n, double y, double importance, const Members& members) {
        const Score score = margin_and_variance<true>(row);
        Step done{score.margin};
        const double loss = 1.0 - y * score.margin;
        if (!(loss > 0.0)) return done;
        done.loss = loss * loss;
        done.updated = true;
        const double gamma = gamma_for(importance);
        const float alpha = static_cast<float>(y * loss / (score.variance + gamma));
        const float inverse_gamma = static_cast<float>(1.0 / gamma);

        constexpr bool kReportsFalls = Members::kReports == RankReports::falls;
        float watched = 0.0f;
        if constexpr (kReportsFalls) watched = members.watched();
        const float intercept_before = intercept_excess(row, n);
        const float* __restrict x = row.x();
        const float* __restrict gain = row.plane(kGain);
        float* __restrict mean = row.plane(kMean);
        float* __restrict excess = row.plane(kExcess);
        float* __restrict rank_before = row.plane(kRank);
        std::int32_t fallen = 0, n_grown = 0;
        float lowest_member = kLargest, highest_outsider = -1.0f;
        const std::size_t blocks = row.blocks();
#pragma omp simd reduction(| : fallen) reduction(+ : n_grown) reduction(min : lowest_member) \
    reduction(max : highest_outsider)
        for (std::size_t i = 0; i < blocks; ++i) {
            const float before = excess[i], old_rank = worth(mean[i], before);
            const float after = grown(before, x[i], inverse_gamma);
            const float moved = mean[i] + alpha * gain[i];
            const float new_rank = worth(moved, after);
            const bool member = member_mask(before) != 0, touched = x[i] != 0.0f;
            mean[i] = moved;
            excess[i] = marked(after, before);
            if constexpr (kReportsFalls) {
                rank_before[i] = old_rank;
                fallen |= static_cast<std::int32_t>(member & (new_rank < watched) & (old_rank >= watched));
            }
            n_grown += static_cast<std::int32_t>(after != std::fabs(before));
            const float as_member = (member & touched) ? new_rank : kLargest;
            const float as_outsider = (!member & touched) ? new_rank : -1.0f;
            lowest_member = lowest_member < as_member ? lowest_member : as_member;
            highest_outsider = highest_outsider > as_outsider ? highest_outsider : as_outsider;
        }
        done.fallen = fallen != 0;
        // The intercept carries a member's mark but is no member: at worst this bound is lower than needed.
        done.lowest_member = lowest_member;
        done.candidates = highest_outsider > std::min(members.threshold(), lowest_member);
        done.saturated = is_saturated(row, n, n_grown, intercept_before);
        return done;
    }

    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) {
        return SecondOrder::pull_apart<Outsiders::learned>(up, down, n, margin, importance);
    }

    static float rank(const Row& row, std::size_t i) { return worth(row.plane(kMean)[i], row.plane(kExcess)[i]); }
    static Cell entrant(const Row& row, std::size_t i) {
        return as_member({row.plane(kMean)[i], row.plane(kExcess)[i]});
    }

    // Position i of the row: is it a member whose rank fell below `watched` in this step?
    static bool fell(const Row& row, std::size_t i, float watched) {
        return std::signbit(row.plane(kExcess)[i]) && row.plane(kRank)[i] >= watched && rank(row, i) < watched;
    }
};

}  // namespace thresher
