// PET: the perceptron with truncation (Wu et al., section 3.1).
//
//   keeps    a weight w for each of at most B features
//   members  the B features of highest |w|
//   on loss  w += η·y·x, then all but the B largest |w| become 0
//   cost     O(m) for a row of m nonzeros, and what the member set takes for each change of membership: only the row's
//            features can have grown, so only they are offered, where the paper sorts all d
#pragma once

#include <array>
#include <cstddef>

#include "thresher/concepts.hpp"
#include "thresher/learners/first_order.hpp"

namespace thresher {

template <MemberSet Members_>
class Pet : public Truncated {
  public:
    using Members = Members_;
    static constexpr Hooks kHooks{};
    static constexpr bool kRanksFall = true;
    static constexpr std::array<KeptNumber<Pet>, 0> kept() { return {}; }

    struct Parameters {
        double eta;
        Loss loss;

        template <class Given>
        static Parameters from(const Given& given) {
            return {given.number("eta"), loss_by_name(given.word("loss"))};
        }
    };

    explicit Pet(Parameters parameters) : eta_(parameters.eta), loss_(parameters.loss) {}

    static float weight(const Cell& cell) { return cell[0]; }

    THRESHER_INLINE Step step(const Row& row, std::size_t n, double y, double importance, const Members& members) {
        Step done{margin(row, n)};
        if (!has_loss(loss_, y * done.margin)) return done;
        done.loss = loss_of(loss_, y * done.margin);
        done.updated = true;
        const double delta = y * eta_ * importance;
        propose(row, size_of_step(delta));
        take_and_report(row, members, done);
        move_intercept(row, n, delta);
        return done;
    }

    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) {
        if (!has_loss(loss_, margin)) return {};
        const double delta = eta_ * importance;
        propose(up, size_of_step(delta));
        propose(down, size_of_step(-delta));
        take(up);
        take(down);
        move_intercept(up, n, delta);
        move_intercept(down, n, -delta);
        return {loss_of(loss_, margin), true};
    }

  private:
    double eta_;
    Loss loss_;
};

}  // namespace thresher
