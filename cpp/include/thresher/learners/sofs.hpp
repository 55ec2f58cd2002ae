// SOFS: second-order online feature selection (Wu et al., Algorithm 2).
//
//   keeps    the precision P of every feature (the paper's Σ is 1/P), and the mean μ of the members
//   members  the B features of highest precision P (the paper's smallest Σ)
//   on loss  α = y·max(0, 1 − y·m)/(v + γ);  μ += α·x/P;  P += x²/γ,  with m = Σ μx and v = Σ x²/P over the row
//   cost     O(m) for a row of m nonzeros, O(log B) for each change of membership (with LazyHeap)
//
// P never falls, so a member's rank never does, and a member set need not follow it. An outsider's μ is 0, so the
// margin needs no branch.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "thresher/concepts.hpp"
#include "thresher/learners/second_order.hpp"

namespace thresher {

template <MemberSet Members_>
class Sofs : public SecondOrder {
  public:
    using Members = Members_;
    static constexpr Hooks kHooks{};
    static constexpr bool kRanksFall = false;
    static constexpr std::array<KeptNumber<Sofs>, 0> kept() { return {}; }

    explicit Sofs(Parameters parameters) : SecondOrder(parameters) {}

    static float rank(const Cell& cell) { return std::fabs(cell[1]); }
    static Cell as_leaver(const Cell& cell) { return {0.0f, std::fabs(cell[1])}; }

    THRESHER_INLINE Step step(const Row& row, std::size_t n, double y, double importance, const Members& members) {
        const Score score = margin_and_variance<false>(row);
        Step done{score.margin};
        const double residual = SquaredHinge::residual(score.margin, y);
        if (residual == 0.0) return done;
        const Pull pull = pull_of(residual, score.variance, importance);
        done.loss = pull.loss;
        done.updated = true;
        alpha_ = static_cast<float>(y) * pull.alpha;

        const float alpha = alpha_, inverse_gamma = pull.inverse_gamma, threshold = members.threshold();
        grow_intercept(row, n, inverse_gamma);
        const float* __restrict x = row.x();
        const float* __restrict gain = row.plane(kGain);
        float* __restrict mean = row.plane(kMean);
        float* __restrict excess = row.plane(kExcess);
        std::int32_t candidates = 0, n_grown = 0;
        const std::size_t blocks = row.blocks();
#pragma omp simd reduction(| : candidates) reduction(+ : n_grown)
        for (std::size_t i = 0; i < blocks; ++i) {
            const float before = excess[i];
            const float after = grown(before, x[i], inverse_gamma);
            mean[i] = if_member(mean[i] + alpha * gain[i], before);
            excess[i] = marked(after, before);
            candidates |= ~member_mask(before) & -static_cast<std::int32_t>((after > threshold) & (x[i] != 0.0f));
            n_grown += static_cast<std::int32_t>(after != std::fabs(before));
        }
        done.candidates = candidates != 0;
        done.saturated = is_saturated(row, n, n_grown);
        return done;
    }

    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) {
        alpha_ = 1.0f;  // the gain planes will hold α·x/P, not x/P
        return SecondOrder::pull_apart<Outsiders::dropped>(up, down, n, margin, importance);
    }

    // Position i of the row that was just stepped on: its rank, and what it would be as a member.
    static float rank(const Row& row, std::size_t i) { return std::fabs(row.plane(kExcess)[i]); }
    Cell entrant(const Row& row, std::size_t i) const {
        return as_member({alpha_ * row.plane(kGain)[i], row.plane(kExcess)[i]});
    }

  private:
    float alpha_ = 0.0f;  // of the last step; `entrant` needs it
};

}  // namespace thresher
