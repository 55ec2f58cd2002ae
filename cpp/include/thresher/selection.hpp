// What selectors for two and for many classes have in common: the learner, the memory that holds its features' state,
// its members, and how all of that is told, kept and taken up again.
//
// With two classes a feature has one vector of weights; with C > 2 it has C, and the members are one set for all: a
// feature's rank is the sum of its ranks in the classes, and a leaver leaves in all. What class c keeps of feature j
// lies in the memory at key j·C + c, so that a feature's classes lie together; all of them bear the member's mark.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "thresher/everyone.hpp"
#include "thresher/lesson.hpp"
#include "thresher/ranked_set.hpp"
#include "thresher/row.hpp"

namespace thresher {

// kVectors is 1, or std::dynamic_extent where only the data tell how many classes there are.
template <class Learner_, class Memory, std::size_t kVectors>
class Selection {
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

    // How many weights a feature has.
    std::size_t n_vectors() const { return kVectors == std::dynamic_extent ? n_vectors_ : kVectors; }

    // Makes room for ids below n. Takes address space, not memory.
    void reserve(std::int64_t n) {
        std::lock_guard lock(mutex_);
        reserve_ids(n);
    }

    Ranking members() const {
        std::lock_guard lock(mutex_);
        struct Member {
            float rank;
            std::int64_t id;
        };
        std::vector<Member> ranked;
        if constexpr (kHasBudget) {
            members_.for_each([&](std::int64_t id) { ranked.push_back({rank_of(id), id}); });
        } else {
            memory_.for_each_touched([&](std::int64_t key, const Cell& cell) {
                const std::int64_t id = id_of(key);
                if (Learner::is_member(cell) && (ranked.empty() || ranked.back().id != id))
                    ranked.push_back({rank_of(id), id});
            });
        }
        sort_best_first(ranked);
        Ranking out;
        for (const Member& member : ranked) {
            out.ids.push_back(member.id);
            for (std::size_t c = 0; c < n_vectors(); ++c)
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
        if (state.intercept.size() != n_vectors())
            throw std::invalid_argument("the saved state has arrays of the wrong size");
        restore_scalars(learner_, state.scalars);
        if (!state.keys.empty()) reserve_ids(id_of(state.keys.back()) + 1);
        for (std::size_t i = 0; i < state.keys.size(); ++i) memory_.store(state.keys[i], state.cells[i]);
        if constexpr (kHasBudget) restore_members(state);
        intercept_ = state.intercept;
        counters_ = state.counters;
    }

  protected:
    Selection(std::size_t n_vectors, const Options& options)
        : options_(options.rows),
          learner_(options.parameters),
          members_(options.budget),
          budget_(options.budget),
          intercept_(n_vectors, Learner::as_member(Cell{})),
          buffer_(n_vectors),
          n_vectors_(n_vectors) {}

    std::int64_t key(std::int64_t id, std::size_t c) const {
        return id * static_cast<std::int64_t>(n_vectors()) + static_cast<std::int64_t>(c);
    }

    std::int64_t id_of(std::int64_t key) const { return key / static_cast<std::int64_t>(n_vectors()); }

    void reserve_ids(std::int64_t n) {
        if (n > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(n_vectors()))
            throw std::bad_alloc();
        memory_.reserve(n * static_cast<std::int64_t>(n_vectors()));
    }

    static Cell cell_at(const Row& row, std::size_t i) {
        const auto planes = Learner::planes(row);
        Cell cell;
        for (std::size_t k = 0; k < planes.size(); ++k) cell[k] = planes[k][i];
        return cell;
    }

    // A member's rank, as the memory has it.
    float rank_of(std::int64_t id) const {
        float sum = 0.0f;
        for (std::size_t c = 0; c < n_vectors(); ++c) sum += Learner::rank(memory_.load(key(id, c)));
        return std::min(sum, std::numeric_limits<float>::max());
    }

    // The planes of class c around what the memory gathered for the first `known` of n features: the rest, and the
    // padding, read as untouched.
    THRESHER_INLINE void complete_planes(std::size_t c, std::size_t n, std::size_t known) {
        const auto planes = Learner::planes(buffer_.row(c));
        for (std::size_t k = 0; k < planes.size(); ++k) {
            for (std::size_t i = known; i < buffer_.blocks(); ++i) planes[k][i] = 0.0f;
            if (options_.fit_intercept) planes[k][n] = intercept_[c][k];
        }
    }

    THRESHER_INLINE void fold_if_needed() {
        if constexpr (requires { learner_.must_fold(); })
            if (learner_.must_fold()) fold();
    }

    // What the set asks about its members.
    struct RanksNow {
        const Selection& selection;
        // Below all ranks if it is a member no more.
        float operator()(std::int64_t id) const {
            const Cell cell = selection.memory_.load(selection.key(id, 0));
            return Learner::is_member(cell) ? selection.rank_of(id) : -1.0f;
        }
        // Says that it will be asked for soon.
        void expect(std::int64_t id) const {
            if constexpr (requires { selection.memory_.prefetch(id); })
                selection.memory_.prefetch(selection.key(id, 0));
        }
    };

    // Offers an outsider to the set; where it enters, its cells are stored and the leaver's are marked.
    // `entrant_of(c)` is the cell of class c that it would enter with.
    template <class EntrantOf>
    void offer(std::int64_t id, float rank, EntrantOf entrant_of) {
        const auto answer = members_.offer(id, rank, RanksNow{*this});
        if (!answer.enters) return;
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell entrant = entrant_of(c);
            memory_.store(key(id, c), entrant);
            if constexpr (requires { learner_.entered(entrant); }) learner_.entered(entrant);
        }
        if (answer.leaver == Members::kNobody) return;
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell leaver = memory_.load(key(answer.leaver, c));
            memory_.store(key(answer.leaver, c), Learner::as_leaver(leaver));
            if constexpr (requires { learner_.left(leaver); }) learner_.left(leaver);
        }
    }

    const RowOptions options_;
    Learner learner_;
    Memory memory_;
    Members members_;
    const std::uint64_t budget_;
    std::vector<Cell> intercept_;
    Counters counters_;
    RowBuffer buffer_;
    // The interpreter's lock is released while we learn, so two threads may meet here.
    mutable std::mutex mutex_;

  private:
    void restore_members(const State<Cell>& state) {
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < state.keys.size(); ++i) {
            const std::int64_t id = id_of(state.keys[i]);
            if (!Learner::is_member(state.cells[i]) || (!ids.empty() && ids.back() == id)) continue;
            for (std::size_t c = 0; c < n_vectors(); ++c)
                if (!Learner::is_member(memory_.load(key(id, c))))
                    throw std::invalid_argument("a feature is a member for some of the classes only");
            ids.push_back(id);
        }
        if (ids.size() > budget_)
            throw std::invalid_argument("it has " + std::to_string(ids.size()) + " members, more than its budget of " +
                                        std::to_string(budget_));
        for (const std::int64_t id : ids) members_.add(id);
    }

    [[gnu::noinline]] void fold() {
        learner_.begin_fold();
        members_.for_each([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors(); ++c)
                memory_.store(key(id, c), learner_.folded(memory_.load(key(id, c))));
        });
        members_.forget_ranks();
    }

    const std::size_t n_vectors_;
};

}  // namespace thresher
