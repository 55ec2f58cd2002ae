// AROW: adaptive regularisation of weights (Crammer, Kulesza, Dredze 2009), on all features: the paper's second-order
// baseline, and what SOFS becomes when the budget is never reached.
//
//   keeps    the mean μ and the precision P of every feature
//   members  all features that were touched
//   on loss  α = y·max(0, 1 − y·m)/(v + γ);  μ += α·x/P;  P += x²/γ,  with m = Σ μx and v = Σ x²/P over the row
//   cost     O(m) for a row of m nonzeros
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "thresher/concepts.hpp"
#include "thresher/learners/second_order.hpp"

namespace thresher {

template <MemberSet Members_>
class Arow : public SecondOrder {
  public:
    using Members = Members_;
    static constexpr Hooks kHooks{.marks_touched = true};
    static constexpr bool kRanksFall = true;
    static constexpr std::array<KeptNumber<Arow>, 0> kept() { return {}; }

    explicit Arow(Parameters parameters) : SecondOrder(parameters) {}

    // No feature is dropped. The rank orders the list of features: it is what dropping one would cost (eq. 4).
    static float rank(const Cell& cell) { return worth(cell[0], cell[1]); }

    THRESHER_INLINE Step step(const Row& row, std::size_t n, double y, double importance, const Members&) {
        const Score score = margin_and_variance<false>(row);
        Step done{score.margin};
        const double residual = SquaredHinge::residual(score.margin, y);
        if (residual == 0.0) return done;
        const Pull pull = pull_of(residual, score.variance, importance);
        done.loss = pull.loss;
        done.updated = true;
        grow_intercept(row, n, pull.inverse_gamma);
        const float alpha = static_cast<float>(y) * pull.alpha;
        done.saturated = is_saturated(row, n, move<Outsiders::none>(row, alpha, pull.inverse_gamma));
        return done;
    }

    // With many classes a touched feature is a member in all of them, though only two took the step.
    static void mark_touched(const Row& row) {
        float* excess = row.plane(kExcess);
        for (std::size_t i = 0; i < row.size(); ++i)
            if (row.x()[i] != 0.0f) excess[i] = -std::fabs(excess[i]);
    }

    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) {
        return SecondOrder::pull_apart<Outsiders::none>(up, down, n, margin, importance);
    }
};

}  // namespace thresher
