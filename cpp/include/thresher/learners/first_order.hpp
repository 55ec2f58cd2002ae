// What the first-order learners share: a weight for each feature, and the step w += δ·x on rows with a loss.
//
//   loss   perceptron: y·m ≤ 0 counts as a loss. hinge: y·m < 1 does.
//   many   with more than two classes, each has weights of its own; the true class y takes the step with δ, the best
//          wrong class r with −δ, and m = s_y − s_r
//
// The intercept stands behind the row's features, with a fixed x, and takes its step on its own: neither the budget,
// nor the decay, nor the norm applies to it. Weights are float32 and stay within ±1e20, so no product with a value
// overflows.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "thresher/concepts.hpp"
#include "thresher/learners/step.hpp"
#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher {

enum class Loss { perceptron, hinge };

inline Loss loss_by_name(const std::string& name) {
    if (name == "perceptron") return Loss::perceptron;
    if (name == "hinge") return Loss::hinge;
    throw std::invalid_argument("loss must be 'perceptron' or 'hinge'");
}

class FirstOrder {
  public:
    static constexpr bool kForAllSets = false;  // there to compare with; most of their time goes into memory

    THRESHER_INLINE static double margin(const Row& row, std::size_t n) { return products(row, n) + intercept(row, n); }

    // Merging (selector/changes.hpp). All shards that changed a weight count alike: together they move it by `size`
    // times their mean, but no further than they went together.
    using Change = std::array<float, 1>;  // Δw
    using Sum = std::array<double, 2>;    // Σ Δw, how many

    template <class Cell>
    static Change change(const Cell& from, const Cell& to) {
        return {to[0] - from[0]};
    }
    static Sum weighed(const Change& change) { return {static_cast<double>(change[0]), change[0] != 0.0f ? 1.0 : 0.0}; }
    template <class Cell>
    static Cell moved(const Cell& from, const Sum& sum, double size) {
        if (!(sum[1] > 0.0)) return from;
        constexpr double limit = static_cast<double>(kLargestWeight);
        const double weight = static_cast<double>(from[0]) + std::min(size, sum[1]) * (sum[0] / sum[1]);
        Cell to = from;
        to[0] = static_cast<float>(std::clamp(weight, -limit, limit));
        return to;
    }

  protected:
    enum Plane : std::size_t { kWeight = 1, kMark = 2, kMoved = 3 };
    static constexpr float kLargestWeight = 1e20f;
    static constexpr float kLargest = std::numeric_limits<float>::max();

    static bool has_loss(Loss loss, double margin) { return loss == Loss::hinge ? margin < 1.0 : margin <= 0.0; }
    static double loss_of(Loss loss, double margin) { return loss == Loss::hinge ? 1.0 - margin : -margin; }

    // δ as float32 can hold it.
    static float size_of_step(double delta) {
        constexpr double limit = static_cast<double>(kLargestWeight);
        return static_cast<float>(std::clamp(delta, -limit, limit));
    }

    THRESHER_INLINE static float bounded(float weight) {
        const float above = weight > -kLargestWeight ? weight : -kLargestWeight;
        return above < kLargestWeight ? above : kLargestWeight;
    }

    // Σ w·x over the n features of a row; an outsider's weight is 0. The intercept is added separately, so its x
    // becomes 0.
    THRESHER_INLINE static double products(const Row& row, std::size_t n) {
        if (n < row.size()) row.x()[n] = 0.0f;
        return lane_products(row.plane(kWeight), row.x(), row.blocks()).total();
    }

    static double intercept(const Row& row, std::size_t n) {
        return n < row.size() ? static_cast<double>(kInterceptValue * row.plane(kWeight)[n]) : 0.0;
    }

    static void move_intercept(const Row& row, std::size_t n, double delta) {
        if (n < row.size())
            row.plane(kWeight)[n] = bounded(row.plane(kWeight)[n] + size_of_step(delta) * kInterceptValue);
    }
};

// First-order learners that keep at most B weights: PET and FOFS. An outsider's weight is 0.
class Truncated : public FirstOrder {
  public:
    static constexpr std::size_t kWidth = 2;
    using Cell = std::array<float, kWidth>;  // the weight, and 1 for a member
    using Planes = std::array<float*, kWidth>;

    static Planes planes(const Row& row) { return {row.plane(kWeight), row.plane(kMark)}; }

    static bool is_member(const Cell& cell) { return cell[1] != 0.0f; }
    static float rank(const Cell& cell) { return std::fabs(cell[0]); }
    static Cell as_member(const Cell& cell) { return {cell[0], 1.0f}; }
    static Cell as_leaver(const Cell&) { return {0.0f, 0.0f}; }
    static Cell negated(const Cell& cell) { return {0.0f - cell[0], cell[1]}; }

    static bool is_outsider(const Row& row, std::size_t i) { return row.plane(kMark)[i] == 0.0f && row.x()[i] != 0.0f; }

    // Position i of the row that was just stepped on: its rank, and what it would be as a member.
    static float rank(const Row& row, std::size_t i) { return std::fabs(row.plane(kMoved)[i]); }
    static Cell entrant(const Row& row, std::size_t i) { return {row.plane(kMoved)[i], 1.0f}; }

  protected:
    // w + δ·x for every feature of the row, in the moved plane.
    THRESHER_INLINE static void propose(const Row& row, float delta) {
        const float* __restrict x = row.x();
        const float* __restrict weight = row.plane(kWeight);
        float* __restrict moved = row.plane(kMoved);
        const std::size_t blocks = row.blocks();
#pragma omp simd
        for (std::size_t i = 0; i < blocks; ++i) moved[i] = bounded(weight[i] + delta * x[i]);
    }

    // The members take what was proposed.
    THRESHER_INLINE static void take(const Row& row) {
        const float* __restrict mark = row.plane(kMark);
        const float* __restrict moved = row.plane(kMoved);
        float* __restrict weight = row.plane(kWeight);
        const std::size_t blocks = row.blocks();
#pragma omp simd
        for (std::size_t i = 0; i < blocks; ++i) weight[i] = mark[i] != 0.0f ? moved[i] : 0.0f;
    }

    // The same, and what the member set must be notified of.
    template <MemberSet Members>
    THRESHER_INLINE static void take_and_report(const Row& row, const Members& members, Step& done) {
        const float* __restrict x = row.x();
        const float* __restrict mark = row.plane(kMark);
        const float* __restrict moved = row.plane(kMoved);
        float* __restrict weight = row.plane(kWeight);
        float lowest_member = kLargest, highest_outsider = -1.0f;
        const std::size_t blocks = row.blocks();
#pragma omp simd reduction(min : lowest_member) reduction(max : highest_outsider)
        for (std::size_t i = 0; i < blocks; ++i) {
            const float new_rank = std::fabs(moved[i]);
            const bool member = mark[i] != 0.0f, touched = x[i] != 0.0f;
            weight[i] = member ? moved[i] : 0.0f;
            const float as_member = (member & touched) ? new_rank : kLargest;
            const float as_outsider = (!member & touched) ? new_rank : -1.0f;
            lowest_member = lowest_member < as_member ? lowest_member : as_member;
            highest_outsider = highest_outsider > as_outsider ? highest_outsider : as_outsider;
        }
        done.lowest_member = lowest_member;
        if constexpr (Members::kReports == RankReports::low) done.low = lowest_member < members.watched();
        done.candidates = highest_outsider > std::min(members.threshold(), lowest_member);
    }
};

}  // namespace thresher
