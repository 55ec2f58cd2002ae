// An online feature selector for two classes: a learner, the memory that holds its features' state, and its members.
//
// For each row the memory gathers the state of the row's features into a buffer, the learner takes its step there, the
// memory puts the state back, and the row's outsiders are offered to the set in ascending order of id.
// No part knows the others: a learner sees a buffer, a memory sees ids, the set sees ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "thresher/everyone.hpp"
#include "thresher/lesson.hpp"
#include "thresher/ranked_set.hpp"
#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <class Learner_, class Memory>
class Selector {
  public:
    using Learner = Learner_;
    using Cell = typename Learner::Cell;
    using Members = typename Learner::Members;
    static constexpr bool kHasBudget = !std::is_same_v<Members, Everyone>;
    static constexpr bool kRanksFall = std::is_same_v<Members, RankedSet>;

    struct Options {
        std::uint64_t budget;
        RowOptions rows;
        typename Learner::Parameters parameters;
    };

    Selector(std::size_t, const Options& options)
        : options_(options.rows), learner_(options.parameters), members_(options.budget), budget_(options.budget) {
        intercept_ = Learner::as_member(Cell{});
    }

    // How many weights a feature has: one, since the second class's are the first's negated.
    static constexpr std::size_t n_vectors() { return 1; }

    // Makes room for ids below n. Takes address space, not memory.
    void reserve(std::int64_t n) {
        std::lock_guard lock(mutex_);
        memory_.reserve(n);
    }

    // Learns the lesson's rows in their order, up to the first fault.
    template <class Id>
    Fault learn(const CsrBatch<Id>& batch, std::int64_t n_features, const Lesson& lesson) {
        std::lock_guard lock(mutex_);
        Fault fault;
        run(simd_in_use(), [&]() __attribute__((always_inline)) {
            fault = for_each_row(
                batch, n_features, lesson, options_, buffer_,
                [&](const Id* ids, std::size_t n, std::int32_t code, double importance)
                    __attribute__((always_inline)) { learn_row(ids, n, code != 0 ? 1.0 : -1.0, importance); });
        });
        return fault;
    }

    // Margins of rows begin … end and, where `variances` is given, their variances. Ids never seen count as zero.
    template <class Id>
    void score(const CsrBatch<Id>& batch, std::size_t begin, std::size_t end, double* margins, double* variances) {
        std::lock_guard lock(mutex_);
        run(simd_in_use(), [&]() __attribute__((always_inline)) {
            for_each_row(batch, begin, end, options_, buffer_,
                         [&](const Id* ids, std::size_t n, std::size_t at) __attribute__((always_inline)) {
                             gather(
                                 ids, n,
                                 static_cast<std::size_t>(std::lower_bound(ids, ids + n, memory_.n_features()) - ids));
                             const auto result = learner_.score(buffer_.row(), n);
                             margins[at] = result.margin;
                             if (variances != nullptr) variances[at] = result.variance;
                         });
        });
    }

    // Swaps the two classes. The step is odd in y, so this is what learning with the other sign would have led to.
    void swap_classes() {
        std::lock_guard lock(mutex_);
        std::vector<std::int64_t> touched;
        memory_.for_each_touched([&](std::int64_t id, const Cell&) { touched.push_back(id); });
        for (const std::int64_t id : touched) memory_.store(id, Learner::negated(memory_.load(id)));
        intercept_ = Learner::negated(intercept_);
        // `predict` gives a margin of 0 to the first class, whichever that is.
        counters_.n_mistakes += counters_.n_undecided_first;
        counters_.n_mistakes -= counters_.n_undecided_second;
        std::swap(counters_.n_undecided_first, counters_.n_undecided_second);
    }

    Ranking members() const {
        std::lock_guard lock(mutex_);
        struct Member {
            float rank;
            std::int64_t id;
            float weight;
        };
        std::vector<Member> ranked;
        auto add = [&](std::int64_t id, const Cell& cell) {
            if (Learner::is_member(cell)) ranked.push_back({Learner::rank(cell), id, learner_.weight(cell)});
        };
        if constexpr (kHasBudget) {
            for (const auto& member : members_.members()) add(member.id, memory_.load(member.id));
        } else {
            memory_.for_each_touched(add);
        }
        sort_best_first(ranked);
        Ranking out;
        for (const Member& member : ranked) {
            out.ids.push_back(member.id);
            out.weights.push_back(member.weight);
        }
        return out;
    }

    std::vector<float> intercept() const {
        std::lock_guard lock(mutex_);
        return {options_.fit_intercept ? intercept_[0] : 0.0f};
    }
    Counters counters() const {
        std::lock_guard lock(mutex_);
        return counters_;
    }
    std::uint64_t n_sifts() const {
        std::lock_guard lock(mutex_);
        return members_.n_sifts();
    }

    State<Cell> state() const {
        std::lock_guard lock(mutex_);
        State<Cell> out;
        memory_.for_each_touched([&](std::int64_t id, const Cell& cell) {
            out.keys.push_back(id);
            out.cells.push_back(cell);
        });
        out.intercept = {intercept_};
        out.counters = counters_;
        out.scalars = scalars_of(learner_);
        return out;
    }

    // Only for a selector that has learned nothing yet.
    void restore(const State<Cell>& state) {
        std::lock_guard lock(mutex_);
        if (state.intercept.size() != 1) throw std::invalid_argument("the saved state has arrays of the wrong size");
        std::uint64_t n_members = 0;
        for (const Cell& cell : state.cells) n_members += Learner::is_member(cell);
        if (kHasBudget && n_members > budget_)
            throw std::invalid_argument("it has " + std::to_string(n_members) + " members, more than its budget of " +
                                        std::to_string(budget_));
        restore_scalars(learner_, state.scalars);
        if (!state.keys.empty()) memory_.reserve(state.keys.back() + 1);
        for (std::size_t i = 0; i < state.keys.size(); ++i) {
            memory_.store(state.keys[i], state.cells[i]);
            if constexpr (kHasBudget)
                if (Learner::is_member(state.cells[i])) members_.add(state.keys[i], Learner::rank(state.cells[i]));
        }
        intercept_ = state.intercept[0];
        counters_ = state.counters;
    }

  private:
    template <class Id>
    THRESHER_INLINE void learn_row(const Id* ids, std::size_t n, double y, double importance) {
        if (n > 0) memory_.reserve(static_cast<std::int64_t>(ids[n - 1]) + 1);
        if constexpr (requires { learner_.must_fold(); })
            if (learner_.must_fold()) fold();
        gather(ids, n, n);
        const Row row = buffer_.row();
        const auto step = learner_.step(row, n, y, importance, members_);
        counters_.n_samples += 1;
        counters_.n_mistakes += (step.margin > 0.0) != (y > 0.0);
        (y > 0.0 ? counters_.n_undecided_second : counters_.n_undecided_first) += step.margin == 0.0;
        counters_.loss += step.loss;
        if (!step.updated) return;
        counters_.n_updates += 1;
        counters_.n_saturated += step.saturated;
        memory_.scatter(ids, n, Learner::planes(row));
        if (options_.fit_intercept) {
            const auto planes = Learner::planes(row);
            for (std::size_t k = 0; k < planes.size(); ++k) intercept_[k] = planes[k][n];
        }
        if constexpr (kRanksFall) {
            members_.lower(step.lowest_member);
            if (step.fallen) note_fallen(ids, n);
        }
        if constexpr (kHasBudget)
            if (step.candidates) offer_outsiders(ids, n);
    }

    // The state of the first `known` of n features beside their values; the rest, and the padding, read as untouched.
    template <class Id>
    THRESHER_INLINE void gather(const Id* ids, std::size_t n, std::size_t known) {
        const auto planes = Learner::planes(buffer_.row());
        memory_.gather(ids, known, planes);
        for (std::size_t k = 0; k < planes.size(); ++k) {
            for (std::size_t i = known; i < buffer_.blocks(); ++i) planes[k][i] = 0.0f;
            if (options_.fit_intercept) planes[k][n] = intercept_[k];
        }
    }

    template <class Id>
    [[gnu::noinline]] void note_fallen(const Id* ids, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
            if (Learner::fell(buffer_.row(), i, members_.watched())) members_.fell(static_cast<std::int64_t>(ids[i]));
    }

    template <class Id>
    [[gnu::noinline]] void offer_outsiders(const Id* ids, std::size_t n) {
        const Row row = buffer_.row();
        for (std::size_t i = 0; i < n; ++i) {
            if (!Learner::is_outsider(row, i) || !(Learner::rank(row, i) > members_.threshold())) continue;
            const auto id = static_cast<std::int64_t>(ids[i]);
            const auto answer = members_.offer(id, Learner::rank(row, i), [&](std::int64_t member) {
                const Cell cell = memory_.load(member);
                return Learner::is_member(cell) ? Learner::rank(cell) : -1.0f;
            });
            if (!answer.enters) continue;
            const Cell entrant = learner_.entrant(row, i);
            memory_.store(id, entrant);
            if constexpr (requires { learner_.entered(entrant); }) learner_.entered(entrant);
            if (answer.leaver == Members::kNobody) continue;
            const Cell leaver = memory_.load(answer.leaver);
            memory_.store(answer.leaver, Learner::as_leaver(leaver));
            if constexpr (requires { learner_.left(leaver); }) learner_.left(leaver);
        }
    }

    [[gnu::noinline]] void fold() {
        learner_.begin_fold();
        for (const auto& member : members_.members())
            memory_.store(member.id, learner_.folded(memory_.load(member.id)));
        members_.forget_ranks();
    }

    const RowOptions options_;
    Learner learner_;
    Memory memory_;
    Members members_;
    const std::uint64_t budget_;
    Cell intercept_{};
    Counters counters_;
    RowBuffer buffer_;
    // The interpreter's lock is released while we learn, so two threads may meet here.
    mutable std::mutex mutex_;
};

}  // namespace thresher
