// FOFS: first-order online feature selection by sparse projection (Wu et al., Algorithm 1).
//
//   keeps    a weight w for each of at most B features
//   members  the B features of highest |w|
//   on loss  w ← (1 − λη)·w + η·y·x, scaled into the ball of radius 1/√λ, then all but the B largest |w| become 0
//   cost     as for PET: decay and projection are one scalar s that all weights share, w = s·(stored weight)
//
// s only falls. Before it gets too small it is folded into the stored weights, by a power of two, so that no digit is
// lost and their order stays the same. ‖w‖ is updated by what a row changes; folding recomputes the sum.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "thresher/concepts.hpp"
#include "thresher/learners/first_order.hpp"

namespace thresher {

template <MemberSet Members_>
class Fofs : public Truncated {
  public:
    using Members = Members_;
    static constexpr Hooks kHooks{.folds = true, .follows_members = true};
    static constexpr bool kRanksFall = true;
    static constexpr std::array<KeptNumber<Fofs>, 2> kept() {
        return {{{"scale", &Fofs::scale_, false, false}, {"sum_of_squares", &Fofs::squares_, true, false}}};
    }

    struct Parameters {
        double eta, lambda;
        Loss loss;

        template <class Given>
        static Parameters from(const Given& given) {
            return {given.number("eta"), given.number("lam"), loss_by_name(given.word("loss"))};
        }
    };

    explicit Fofs(Parameters parameters)
        : eta_(parameters.eta),
          decay_(1.0 - parameters.lambda * parameters.eta),
          radius_(1.0 / std::sqrt(parameters.lambda)),
          loss_(parameters.loss) {}

    float weight(const Cell& cell) const { return static_cast<float>(scale_ * static_cast<double>(cell[0])); }

    THRESHER_INLINE double margin(const Row& row, std::size_t n) const {
        return scale_ * products(row, n) + intercept(row, n);
    }

    double scaled(double product) const { return scale_ * product; }

    THRESHER_INLINE Step step(const Row& row, std::size_t n, double y, double importance, const Members& members) {
        Step done{margin(row, n)};
        if (!has_loss(loss_, y * done.margin)) return done;
        done.loss = loss_of(loss_, y * done.margin);
        done.updated = true;
        const double delta = y * eta_ * importance;
        scale_ *= decay_;
        propose(row, size_of_step(delta / scale_));
        const SquaresChange change = change_of_squares(row);
        project(change.members, change.outsiders);
        take_and_report(row, members, done);
        move_intercept(row, n, delta);
        return done;
    }

    // The norm spans the classes.
    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) {
        if (!has_loss(loss_, margin)) return {};
        const double delta = eta_ * importance;
        scale_ *= decay_;
        propose(up, size_of_step(delta / scale_));
        propose(down, size_of_step(-delta / scale_));
        const SquaresChange above = change_of_squares(up), below = change_of_squares(down);
        project(above.members + below.members, above.outsiders + below.outsiders);
        take(up);
        take(down);
        move_intercept(up, n, delta);
        move_intercept(down, n, -delta);
        return {loss_of(loss_, margin), true};
    }

    // The sum of squares is over the members, who come and go after the step.
    void entered(const Cell& cell) { squares_ += square(cell); }
    void left(const Cell& cell) { squares_ = std::max(0.0, squares_ - square(cell)); }

    // Whether the next step would make the scale so small that the float32 weights above it could overflow.
    bool must_fold() const { return scale_ * decay_ < 0x1p-30; }

    // Takes a power of two out of the scale; every stored weight must then go through `folded`.
    void begin_fold() {
        int exponent = 0;
        std::frexp(scale_ * decay_, &exponent);
        fold_ = std::ldexp(1.0, exponent);
        scale_ = std::ldexp(scale_, -exponent);
        squares_ = 0.0;
    }
    Cell folded(const Cell& cell) {
        const Cell smaller{static_cast<float>(fold_ * static_cast<double>(cell[0])), cell[1]};
        squares_ += square(smaller);
        return smaller;
    }

    // A cell with the weight itself, and back. After a merge all cells are folded, which recomputes the sum of squares.
    Cell real(const Cell& cell) const { return {weight(cell), cell[1]}; }
    Cell stored(const Cell& cell) const {
        return {bounded(static_cast<float>(static_cast<double>(cell[0]) / scale_)), cell[1]};
    }

  private:
    struct SquaresChange {
        double members, outsiders;
    };

    // How a row changes Σ w² over the members, and what its outsiders would add: they count until they are truncated.
    THRESHER_INLINE static SquaresChange change_of_squares(const Row& row) {
        const float* __restrict weight = row.plane(kWeight);
        const float* __restrict mark = row.plane(kMark);
        const float* __restrict moved = row.plane(kMoved);
        const float* __restrict x = row.x();
        LaneSum members, outsiders;
        const std::size_t blocks = row.blocks();
        for (std::size_t i = 0; i < blocks; i += kLanes)
#pragma omp simd
            for (std::size_t k = 0; k < kLanes; ++k) {
                const double before = static_cast<double>(weight[i + k]), after = static_cast<double>(moved[i + k]);
                const double change = x[i + k] != 0.0f ? after * after - before * before : 0.0;
                members.lane[k] += mark[i + k] != 0.0f ? change : 0.0;
                outsiders.lane[k] += mark[i + k] != 0.0f ? 0.0 : change;
            }
        return {members.total(), outsiders.total()};
    }

    void project(double members, double outsiders) {
        squares_ = std::max(0.0, squares_ + members);
        const double length = scale_ * std::sqrt(squares_ + outsiders);
        if (length > radius_) scale_ *= radius_ / length;
    }

    static double square(const Cell& cell) { return static_cast<double>(cell[0]) * static_cast<double>(cell[0]); }

    const double eta_, decay_, radius_;
    const Loss loss_;
    double scale_ = 1.0;    // w = scale · stored weight
    double squares_ = 0.0;  // Σ (stored weight)² over the members
    double fold_ = 1.0;     // the power of two of the fold under way
};

}  // namespace thresher
