// An online feature selector: a learner, the memory that holds its features' state, and the set of its members.
//
// For each row the memory gathers the state of the row's features into a buffer, the learner takes its step there, the
// memory puts the state back, and the row's outsiders are offered to the set in ascending order of id.
// No part knows the others: a learner sees a buffer, a memory sees ids, the set sees ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher {

struct Counters {
    std::uint64_t n_samples = 0;
    std::uint64_t n_updates = 0;
    std::uint64_t n_mistakes = 0;          // of `predict` before learning
    std::uint64_t n_undecided_first = 0;   // rows of the first class whose margin was exactly 0 …
    std::uint64_t n_undecided_second = 0;  // … and of the second
    std::uint64_t n_saturated = 0;         // updates in which float32 let no precision grow
    double loss = 0.0;                     // summed over rows, before learning
};

// What to learn from a batch: rows begin … end, by way of `order` where there is one.
struct Lesson {
    const std::int32_t* classes;          // 0 or 1 for each row of the batch
    const double* importances = nullptr;  // sample weights; a row of weight 0 is passed over
    const std::int64_t* order = nullptr;  // row numbers
    std::size_t begin = 0, end = 0;
    bool check = true;  // look at each row before it is learned, and stop at the first fault
};

template <class Learner, class Memory>
class Selector {
  public:
    using Cell = typename Learner::Cell;
    using Members = typename Learner::Members;

    struct Options {
        std::uint64_t budget;
        Norm norm;
        bool fit_intercept;
        typename Learner::Parameters parameters;
    };

    explicit Selector(const Options& options)
        : norm_(options.norm),
          fit_intercept_(options.fit_intercept),
          learner_(options.parameters),
          members_(options.budget) {
        intercept_ = Learner::as_member(Cell{});
    }

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
            for (std::size_t k = lesson.begin; k < lesson.end; ++k) {
                const std::size_t r = lesson.order != nullptr ? static_cast<std::size_t>(lesson.order[k]) : k;
                if (lesson.check) {
                    fault = row_fault(batch, r, n_features, norm_);
                    if (fault.kind != Fault::Kind::none) return;
                }
                const double importance = lesson.importances != nullptr ? lesson.importances[r] : 1.0;
                if (importance == 0.0) continue;
                const auto begin = static_cast<std::size_t>(batch.starts[r]);
                const auto n = static_cast<std::size_t>(batch.starts[r + 1]) - begin;
                if (n > 0) memory_.reserve(static_cast<std::int64_t>(batch.ids[begin + n - 1]) + 1);
                load_values(batch.values, begin, n, norm_, fit_intercept_, buffer_);
                learn_row(batch.ids + begin, n, lesson.classes[r] != 0 ? 1.0 : -1.0, importance);
            }
        });
        return fault;
    }

    // Margins of rows begin … end and, where `variances` is given, their variances. Ids never seen count as zero.
    template <class Id>
    void score(const CsrBatch<Id>& batch, std::size_t begin, std::size_t end, double* margins, double* variances) {
        std::lock_guard lock(mutex_);
        run(simd_in_use(), [&]() __attribute__((always_inline)) {
            for (std::size_t r = begin; r < end; ++r) {
                const auto first = static_cast<std::size_t>(batch.starts[r]);
                const auto n = static_cast<std::size_t>(batch.starts[r + 1]) - first;
                const Id* ids = batch.ids + first;
                load_values(batch.values, first, n, norm_, fit_intercept_, buffer_);
                const auto known = static_cast<std::size_t>(std::lower_bound(ids, ids + n, memory_.n_features()) - ids);
                gather(ids, n, known);
                const auto result = learner_.score(buffer_);
                margins[r - begin] = result.margin;
                if (variances != nullptr) variances[r - begin] = result.variance;
            }
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

    // The members, best first: highest rank, then lowest id.
    struct Ranking {
        std::vector<std::int64_t> ids;
        std::vector<float> weights;
    };
    Ranking members() const {
        std::lock_guard lock(mutex_);
        std::vector<typename Members::Member> ranked = members_.members();
        for (auto& member : ranked) member.rank = Learner::rank(memory_.load(member.id));
        std::sort(ranked.begin(), ranked.end(),
                  [](const auto& a, const auto& b) { return a.rank > b.rank || (a.rank == b.rank && a.id < b.id); });
        Ranking out;
        for (const auto& member : ranked) {
            out.ids.push_back(member.id);
            out.weights.push_back(Learner::weight(memory_.load(member.id)));
        }
        return out;
    }

    float intercept() const {
        std::lock_guard lock(mutex_);
        return Learner::weight(intercept_);
    }
    Counters counters() const {
        std::lock_guard lock(mutex_);
        return counters_;
    }
    std::uint64_t n_sifts() const {
        std::lock_guard lock(mutex_);
        return members_.n_sifts();
    }

    // All that learning depends on: touched features in ascending order, the intercept, the counters.
    struct State {
        std::vector<std::int64_t> ids;
        std::vector<Cell> cells;
        Cell intercept{};
        Counters counters;
    };
    State state() const {
        std::lock_guard lock(mutex_);
        State out;
        memory_.for_each_touched([&](std::int64_t id, const Cell& cell) {
            out.ids.push_back(id);
            out.cells.push_back(cell);
        });
        out.intercept = intercept_;
        out.counters = counters_;
        return out;
    }

    // Only for a selector that has learned nothing yet.
    void restore(const State& state) {
        std::lock_guard lock(mutex_);
        if (!state.ids.empty()) memory_.reserve(state.ids.back() + 1);
        for (std::size_t i = 0; i < state.ids.size(); ++i) {
            memory_.store(state.ids[i], state.cells[i]);
            if (Learner::is_member(state.cells[i])) members_.add(state.ids[i], Learner::rank(state.cells[i]));
        }
        intercept_ = state.intercept;
        counters_ = state.counters;
    }

  private:
    template <class Id>
    THRESHER_INLINE void learn_row(const Id* ids, std::size_t n, double y, double importance) {
        gather(ids, n, n);
        const auto step = learner_.step(buffer_, n, y, importance, members_);
        counters_.n_samples += 1;
        counters_.n_mistakes += (step.margin > 0.0) != (y > 0.0);
        (y > 0.0 ? counters_.n_undecided_second : counters_.n_undecided_first) += step.margin == 0.0;
        counters_.loss += step.loss;
        if (!step.updated) return;
        counters_.n_updates += 1;
        counters_.n_saturated += step.saturated;
        memory_.scatter(ids, n, Learner::planes(buffer_));
        if (fit_intercept_) {
            const auto planes = Learner::planes(buffer_);
            for (std::size_t k = 0; k < planes.size(); ++k) intercept_[k] = planes[k][n];
        }
        if constexpr (requires { step.fallen; }) {
            members_.lower(step.lowest_member);
            if (step.fallen) note_fallen(ids, n);
        }
        if (step.candidates) offer_outsiders(ids, n);
    }

    // The state of the first `known` of n features beside their values; the rest, and the padding, read as untouched.
    template <class Id>
    THRESHER_INLINE void gather(const Id* ids, std::size_t n, std::size_t known) {
        const auto planes = Learner::planes(buffer_);
        memory_.gather(ids, known, planes);
        for (std::size_t k = 0; k < planes.size(); ++k) {
            for (std::size_t i = known; i < buffer_.blocks(); ++i) planes[k][i] = 0.0f;
            if (fit_intercept_) planes[k][n] = intercept_[k];
        }
    }

    template <class Id>
    [[gnu::noinline]] void note_fallen(const Id* ids, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
            if (Learner::fell(buffer_, i, members_.watched())) members_.fell(static_cast<std::int64_t>(ids[i]));
    }

    template <class Id>
    [[gnu::noinline]] void offer_outsiders(const Id* ids, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            if (!Learner::is_outsider(buffer_, i) || !(Learner::rank(buffer_, i) > members_.threshold())) continue;
            const auto id = static_cast<std::int64_t>(ids[i]);
            const auto answer = members_.offer(id, Learner::rank(buffer_, i), [&](std::int64_t member) {
                const Cell cell = memory_.load(member);
                return Learner::is_member(cell) ? Learner::rank(cell) : -1.0f;
            });
            if (!answer.enters) continue;
            memory_.store(id, learner_.entrant(buffer_, i));
            if (answer.leaver != Members::kNobody)
                memory_.store(answer.leaver, Learner::as_leaver(memory_.load(answer.leaver)));
        }
    }

    const Norm norm_;
    const bool fit_intercept_;
    Learner learner_;
    Memory memory_;
    Members members_;
    Cell intercept_{};
    Counters counters_;
    RowBuffer buffer_;
    // The interpreter's lock is released while we learn, so two threads may meet here.
    mutable std::mutex mutex_;
};

}  // namespace thresher
