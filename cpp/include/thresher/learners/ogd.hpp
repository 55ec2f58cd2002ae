// OGD: online gradient descent on the hinge loss (Zinkevich 2003), on all features: the paper's first-order baseline.
//
//   keeps    a weight w for every feature
//   members  all features whose weight is not 0
//   on loss  w += η/√t·y·x, where t counts the rows seen
//   cost     O(m) for a row of m nonzeros
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "thresher/concepts.hpp"
#include "thresher/learners/first_order.hpp"

namespace thresher {

template <MemberSet Members_>
class Ogd : public FirstOrder {
  public:
    using Members = Members_;
    static constexpr std::size_t kWidth = 1;
    using Cell = std::array<float, kWidth>;
    using Planes = std::array<float*, kWidth>;
    static constexpr Hooks kHooks{};
    static constexpr bool kRanksFall = true;
    static constexpr std::array<KeptNumber<Ogd>, 1> kept() { return {{{"n_rows", &Ogd::n_rows_, true, true}}}; }

    struct Parameters {
        double eta;

        template <class Given>
        static Parameters from(const Given& given) {
            return {given.number("eta")};
        }
    };

    explicit Ogd(Parameters parameters) : eta_(parameters.eta) {}

    static Planes planes(const Row& row) { return {row.plane(kWeight)}; }
    static bool is_member(const Cell& cell) { return cell[0] != 0.0f; }
    static float weight(const Cell& cell) { return cell[0]; }
    static float rank(const Cell& cell) { return std::fabs(cell[0]); }
    static Cell as_member(const Cell& cell) { return cell; }
    static Cell negated(const Cell& cell) { return {0.0f - cell[0]}; }

    THRESHER_INLINE Step step(const Row& row, std::size_t n, double y, double importance, const Members&) {
        Step done{margin(row, n)};
        n_rows_ += 1.0;
        if (!has_loss(Loss::hinge, y * done.margin)) return done;
        done.loss = loss_of(Loss::hinge, y * done.margin);
        done.updated = true;
        move(row, n, y * rate(importance));
        return done;
    }

    THRESHER_INLINE PairStep pull_apart(const Row& up, const Row& down, std::size_t n, double margin,
                                        double importance) {
        n_rows_ += 1.0;
        if (!has_loss(Loss::hinge, margin)) return {};
        move(up, n, rate(importance));
        move(down, n, -rate(importance));
        return {loss_of(Loss::hinge, margin), true};
    }

  private:
    double rate(double importance) const { return eta_ * importance / std::sqrt(n_rows_); }

    THRESHER_INLINE static void move(const Row& row, std::size_t n, double delta) {
        const float step = size_of_step(delta);
        const float* __restrict x = row.x();
        float* __restrict weight = row.plane(kWeight);
        const std::size_t blocks = row.blocks();
#pragma omp simd
        for (std::size_t i = 0; i < blocks; ++i) weight[i] = bounded(weight[i] + step * x[i]);
        move_intercept(row, n, delta);
    }

    const double eta_;
    double n_rows_ = 0.0;
};

}  // namespace thresher
