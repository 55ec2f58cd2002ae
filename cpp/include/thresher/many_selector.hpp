// An online feature selector for more than two classes: as Selector, but with weights for each class.
//
// The members are one set for all classes; a feature's rank is the sum of its ranks in the classes, and a leaver leaves
// in all. What class c keeps of feature j lies in the memory at key j·C + c, so that a feature's classes lie together;
// all of them bear the member's mark. On a loss the true class and the best wrong one take a step; see the learners.
// A row of m nonzeros costs O(m·C).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "thresher/lesson.hpp"
#include "thresher/row.hpp"
#include "thresher/selector.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <class Learner_, class Memory>
class ManySelector {
  public:
    using Learner = Learner_;
    using Cell = typename Learner::Cell;
    using Members = typename Learner::Members;
    using Options = typename Selector<Learner, Memory>::Options;
    static constexpr bool kHasBudget = Selector<Learner, Memory>::kHasBudget;
    static constexpr bool kRanksFall = Selector<Learner, Memory>::kRanksFall;

    ManySelector(std::size_t n_classes, const Options& options)
        : n_classes_(n_classes),
          options_(options.rows),
          learner_(options.parameters),
          members_(options.budget),
          budget_(options.budget),
          intercept_(n_classes, Learner::as_member(Cell{})),
          scores_(n_classes),
          buffer_(n_classes) {}

    std::size_t n_vectors() const { return n_classes_; }

    void reserve(std::int64_t n) {
        std::lock_guard lock(mutex_);
        reserve_ids(n);
    }

    template <class Id>
    Fault learn(const CsrBatch<Id>& batch, std::int64_t n_features, const Lesson& lesson) {
        std::lock_guard lock(mutex_);
        Fault fault;
        run(simd_in_use(), [&]() __attribute__((always_inline)) {
            fault = for_each_row(batch, n_features, lesson, options_, buffer_,
                                 [&](const Id* ids, std::size_t n, std::int32_t code, double importance)
                                     __attribute__((always_inline)) {
                                         if (n > 0) reserve_ids(static_cast<std::int64_t>(ids[n - 1]) + 1);
                                         name_keys(ids, n);
                                         learn_row(n, static_cast<std::size_t>(code), importance);
                                     });
        });
        return fault;
    }

    // Scores of rows begin … end, C for each row, and where `variances` is given their variances.
    template <class Id>
    void score(const CsrBatch<Id>& batch, std::size_t begin, std::size_t end, double* scores, double* variances) {
        std::lock_guard lock(mutex_);
        run(simd_in_use(), [&]() __attribute__((always_inline)) {
            for_each_row(batch, begin, end, options_, buffer_,
                         [&](const Id* ids, std::size_t n, std::size_t at) __attribute__((always_inline)) {
                             const std::int64_t n_known = memory_.n_features() / static_cast<std::int64_t>(n_classes_);
                             const auto known = static_cast<std::size_t>(std::lower_bound(ids, ids + n, n_known) - ids);
                             name_keys(ids, known);
                             gather(n, known);
                             for (std::size_t c = 0; c < n_classes_; ++c) {
                                 const auto result = learner_.score(buffer_.row(c), n);
                                 scores[at * n_classes_ + c] = result.margin;
                                 if (variances != nullptr) variances[at * n_classes_ + c] = result.variance;
                             }
                         });
        });
    }

    Ranking members() const {
        std::lock_guard lock(mutex_);
        struct Member {
            float rank;
            std::int64_t id;
        };
        std::vector<Member> ranked;
        if constexpr (kHasBudget) {
            for (const auto& member : members_.members()) ranked.push_back({rank_of(member.id), member.id});
        } else {
            memory_.for_each_touched([&](std::int64_t key, const Cell& cell) {
                const std::int64_t id = key / static_cast<std::int64_t>(n_classes_);
                if (Learner::is_member(cell) && (ranked.empty() || ranked.back().id != id))
                    ranked.push_back({rank_of(id), id});
            });
        }
        sort_best_first(ranked);
        Ranking out;
        for (const Member& member : ranked) {
            out.ids.push_back(member.id);
            for (std::size_t c = 0; c < n_classes_; ++c)
                out.weights.push_back(learner_.weight(memory_.load(key(member.id, c))));
        }
        return out;
    }

    std::vector<float> intercept() const {
        std::lock_guard lock(mutex_);
        std::vector<float> out;
        for (const Cell& cell : intercept_) out.push_back(options_.fit_intercept ? cell[0] : 0.0f);
        return out;
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
        memory_.for_each_touched([&](std::int64_t key, const Cell& cell) {
            out.keys.push_back(key);
            out.cells.push_back(cell);
        });
        out.intercept = intercept_;
        out.counters = counters_;
        out.scalars = scalars_of(learner_);
        return out;
    }

    // Only for a selector that has learned nothing yet.
    void restore(const State<Cell>& state) {
        std::lock_guard lock(mutex_);
        if (state.intercept.size() != n_classes_)
            throw std::invalid_argument("the saved state has arrays of the wrong size");
        restore_scalars(learner_, state.scalars);
        if (!state.keys.empty()) reserve_ids(state.keys.back() / static_cast<std::int64_t>(n_classes_) + 1);
        for (std::size_t i = 0; i < state.keys.size(); ++i) memory_.store(state.keys[i], state.cells[i]);
        if constexpr (kHasBudget) {
            std::int64_t last = -1;
            for (std::size_t i = 0; i < state.keys.size(); ++i) {
                const std::int64_t id = state.keys[i] / static_cast<std::int64_t>(n_classes_);
                if (id == last || !Learner::is_member(state.cells[i])) continue;
                for (std::size_t c = 0; c < n_classes_; ++c)
                    if (!Learner::is_member(memory_.load(key(id, c))))
                        throw std::invalid_argument("a feature is a member for some of the classes only");
                if (members_.size() >= budget_)
                    throw std::invalid_argument("it has more members than its budget of " + std::to_string(budget_));
                members_.add(id, rank_of(id));
                last = id;
            }
        }
        intercept_ = state.intercept;
        counters_ = state.counters;
    }

  private:
    std::int64_t key(std::int64_t id, std::size_t c) const {
        return id * static_cast<std::int64_t>(n_classes_) + static_cast<std::int64_t>(c);
    }

    void reserve_ids(std::int64_t n) {
        if (n > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(n_classes_))
            throw std::bad_alloc();
        memory_.reserve(n * static_cast<std::int64_t>(n_classes_));
    }

    template <class Id>
    void name_keys(const Id* ids, std::size_t n) {
        keys_.resize(n);
        for (std::size_t i = 0; i < n; ++i) keys_[i] = key(static_cast<std::int64_t>(ids[i]), 0);
    }

    // Turns the keys of one class into those of another.
    void to_class(std::int64_t from, std::int64_t to) {
        for (std::int64_t& key : keys_) key += to - from;
    }

    float rank_of(std::int64_t id) const {
        float sum = 0.0f;
        for (std::size_t c = 0; c < n_classes_; ++c) sum += Learner::rank(memory_.load(key(id, c)));
        return std::min(sum, std::numeric_limits<float>::max());
    }

    static Cell cell_at(const Row& row, std::size_t i) {
        const auto planes = Learner::planes(row);
        Cell cell;
        for (std::size_t k = 0; k < planes.size(); ++k) cell[k] = planes[k][i];
        return cell;
    }

    // The rank of the row's feature i, as the planes have it.
    float rank_at(std::size_t i) {
        float sum = 0.0f;
        for (std::size_t c = 0; c < n_classes_; ++c) sum += Learner::rank(cell_at(buffer_.row(c), i));
        return std::min(sum, std::numeric_limits<float>::max());
    }

    THRESHER_INLINE void gather(std::size_t n, std::size_t known) {
        for (std::size_t c = 0; c < n_classes_; ++c) {
            const auto planes = Learner::planes(buffer_.row(c));
            memory_.gather(keys_.data(), known, planes);
            to_class(0, 1);
            for (std::size_t k = 0; k < planes.size(); ++k) {
                for (std::size_t i = known; i < buffer_.blocks(); ++i) planes[k][i] = 0.0f;
                if (options_.fit_intercept) planes[k][n] = intercept_[c][k];
            }
        }
        to_class(static_cast<std::int64_t>(n_classes_), 0);
    }

    THRESHER_INLINE void learn_row(std::size_t n, std::size_t truth, double importance) {
        if constexpr (requires { learner_.must_fold(); })
            if (learner_.must_fold()) fold();
        gather(n, n);
        for (std::size_t c = 0; c < n_classes_; ++c) scores_[c] = learner_.margin(buffer_.row(c), n);
        std::size_t rival = truth == 0 ? 1 : 0;
        for (std::size_t c = rival + 1; c < n_classes_; ++c)
            if (c != truth && scores_[c] > scores_[rival]) rival = c;
        // `predict` takes the highest score, and the lowest class where two are equal.
        counters_.n_samples += 1;
        counters_.n_mistakes += scores_[rival] > scores_[truth] || (scores_[rival] == scores_[truth] && rival < truth);
        if constexpr (kRanksFall) note_ranks(n);
        const auto step =
            learner_.pull_apart(buffer_.row(truth), buffer_.row(rival), n, scores_[truth] - scores_[rival], importance);
        counters_.loss += step.loss;
        if (!step.updated) return;
        counters_.n_updates += 1;
        counters_.n_saturated += step.saturated;
        if constexpr (requires { Learner::mark_touched(buffer_.row()); }) {
            if (has_newcomers(n, truth, rival)) {
                for (std::size_t c = 0; c < n_classes_; ++c) {
                    Learner::mark_touched(buffer_.row(c));
                    put_back(n, c);
                }
                return;
            }
        }
        put_back(n, truth);
        put_back(n, rival);
        if constexpr (kRanksFall) tell_of_members(n);
        if constexpr (kHasBudget) offer_outsiders(n, truth, rival);
    }

    THRESHER_INLINE void put_back(std::size_t n, std::size_t c) {
        const auto planes = Learner::planes(buffer_.row(c));
        to_class(0, static_cast<std::int64_t>(c));
        memory_.scatter(keys_.data(), n, planes);
        to_class(static_cast<std::int64_t>(c), 0);
        if (options_.fit_intercept) intercept_[c] = cell_at(buffer_.row(c), n);
    }

    // Whether some feature of the row was not touched before: seen in a class that has not just taken the step.
    bool has_newcomers(std::size_t n, std::size_t truth, std::size_t rival) {
        std::size_t other = 0;
        while (other == truth || other == rival) ++other;
        const Row row = buffer_.row(other);
        for (std::size_t i = 0; i < n; ++i)
            if (Learner::is_outsider(row, i)) return true;
        return false;
    }

    bool is_member_at(std::size_t i) { return Learner::is_member(cell_at(buffer_.row(0), i)); }

    void note_ranks(std::size_t n) {
        ranks_before_.resize(n);
        for (std::size_t i = 0; i < n; ++i) ranks_before_[i] = is_member_at(i) ? rank_at(i) : 0.0f;
    }

    void tell_of_members(std::size_t n) {
        const float watched = members_.watched();
        float lowest = std::numeric_limits<float>::max();
        for (std::size_t i = 0; i < n; ++i) {
            if (!is_member_at(i)) continue;
            const float rank = rank_at(i);
            lowest = std::min(lowest, rank);
            if (rank < watched && ranks_before_[i] >= watched) members_.fell(id_at(i));
        }
        members_.lower(lowest);
    }

    std::int64_t id_at(std::size_t i) const { return keys_[i] / static_cast<std::int64_t>(n_classes_); }

    void offer_outsiders(std::size_t n, std::size_t truth, std::size_t rival) {
        entrant_.resize(n_classes_);
        for (std::size_t i = 0; i < n; ++i) {
            if (!Learner::is_outsider(buffer_.row(0), i)) continue;
            float rank = 0.0f;
            for (std::size_t c = 0; c < n_classes_; ++c) {
                const bool moved = c == truth || c == rival;
                const Row row = buffer_.row(c);
                entrant_[c] = moved ? learner_.entrant(row, i) : Learner::as_member(cell_at(row, i));
                rank += Learner::rank(entrant_[c]);
            }
            rank = std::min(rank, std::numeric_limits<float>::max());
            if (!(rank > members_.threshold())) continue;
            const auto answer = members_.offer(id_at(i), rank, [&](std::int64_t id) {
                return Learner::is_member(memory_.load(key(id, 0))) ? rank_of(id) : -1.0f;
            });
            if (!answer.enters) continue;
            for (std::size_t c = 0; c < n_classes_; ++c) {
                memory_.store(key(id_at(i), c), entrant_[c]);
                if constexpr (requires { learner_.entered(entrant_[c]); }) learner_.entered(entrant_[c]);
            }
            if (answer.leaver == Members::kNobody) continue;
            for (std::size_t c = 0; c < n_classes_; ++c) {
                const Cell leaver = memory_.load(key(answer.leaver, c));
                memory_.store(key(answer.leaver, c), Learner::as_leaver(leaver));
                if constexpr (requires { learner_.left(leaver); }) learner_.left(leaver);
            }
        }
    }

    void fold() {
        learner_.begin_fold();
        for (const auto& member : members_.members())
            for (std::size_t c = 0; c < n_classes_; ++c)
                memory_.store(key(member.id, c), learner_.folded(memory_.load(key(member.id, c))));
        members_.forget_ranks();
    }

    const std::size_t n_classes_;
    const RowOptions options_;
    Learner learner_;
    Memory memory_;
    Members members_;
    const std::uint64_t budget_;
    std::vector<Cell> intercept_;
    std::vector<double> scores_;
    Counters counters_;
    RowBuffer buffer_;
    std::vector<std::int64_t> keys_;  // of the row at work, class 0
    std::vector<float> ranks_before_;
    std::vector<Cell> entrant_;
    mutable std::mutex mutex_;
};

}  // namespace thresher
