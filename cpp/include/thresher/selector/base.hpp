// What selectors for two and for many classes have in common: the three parts (see concepts.hpp), how members are
// listed, and how the state is saved and restored.
//
// With two classes a feature has one vector of weights; with C > 2 it has C, and there is one set of members for all of
// them: a feature's rank is the sum of its ranks in the classes, and a leaver leaves in all. The cell of feature j for
// class c is a cell of its own in the memory; all cells of a feature carry the member's mark.
//
// Features that are to be kept are marked from the start and are not in the member set, which shares out the rest of
// the budget: so nobody can push them out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/counters.hpp"
#include "thresher/selector/ranking.hpp"
#include "thresher/selector/state.hpp"

namespace thresher {

// A memory that keeps more than the cells of features: a table of floats.
template <class M>
concept HasTable = requires(M memory) { memory.table().begin(); };

// kVectors is 1, or std::dynamic_extent where only the data tell how many classes there are.
template <Learner L, MemoryFor<L> M, std::size_t kVectors>
class SelectorBase {
  public:
    using LearnerType = L;
    using Cell = typename L::Cell;
    using Members = typename L::Members;

    struct Options {
        std::uint64_t budget;
        RowOptions rows;
        typename L::Parameters parameters;
        std::vector<std::int64_t> keep = {};  // ids of members from the start that never leave, ascending
        MemoryOptions memory = {};
    };

    // How many weights a feature has.
    std::size_t n_vectors() const { return kVectors == std::dynamic_extent ? n_vectors_ : kVectors; }

    // Makes room for ids below n. Takes address space, not memory.
    void reserve(std::int64_t n) {
        std::lock_guard lock(mutex_);
        memory_.reserve(n);
    }

    Ranking members() const {
        std::lock_guard lock(mutex_);
        struct Member {
            float rank;
            std::int64_t id;
        };
        std::vector<Member> ranked;
        if constexpr (Members::kBounded) {
            for_each_member([&](std::int64_t id) { ranked.push_back({rank_of(id), id}); });
        } else {
            memory_.for_each_touched([&](std::int64_t id) {
                bool is_member = false;
                for (std::size_t c = 0; c < n_vectors(); ++c) is_member |= L::is_member(memory_.load(id, c));
                if (is_member) ranked.push_back({rank_of(id), id});
            });
        }
        std::sort(ranked.begin(), ranked.end(), [](const Member& a, const Member& b) {
            return a.rank > b.rank || (a.rank == b.rank && a.id < b.id);
        });
        Ranking out;
        for (const Member& member : ranked) {
            out.ids.push_back(member.id);
            for (std::size_t c = 0; c < n_vectors(); ++c)
                out.weights.push_back(learner_.weight(memory_.load(member.id, c)));
        }
        return out;
    }

    // The ids of the members, in any order; empty without a budget, where every feature is one.
    std::vector<std::int64_t> member_ids() const {
        std::lock_guard lock(mutex_);
        std::vector<std::int64_t> ids;
        if constexpr (Members::kBounded) for_each_member([&](std::int64_t id) { ids.push_back(id); });
        return ids;
    }

    // The cells of the given features, class after class, as the learner keeps them; of a feature that was never
    // learned, the start state.
    std::vector<float> cells(std::span<const std::int64_t> ids) const {
        std::lock_guard lock(mutex_);
        std::vector<float> out;
        out.reserve(ids.size() * n_vectors() * L::kWidth);
        for (const std::int64_t id : ids)
            for (std::size_t c = 0; c < n_vectors(); ++c) {
                const Cell cell = id < memory_.n_features() ? memory_.load(id, c) : Cell{};
                out.insert(out.end(), cell.begin(), cell.end());
            }
        return out;
    }

    std::vector<float> intercept() const {
        std::lock_guard lock(mutex_);
        std::vector<float> out;
        for (const Cell& cell : intercept_) out.push_back(options_.fit_intercept ? kInterceptValue * cell[0] : 0.0f);
        return out;
    }

    Counters counters() const {
        std::lock_guard lock(mutex_);
        return counters_;
    }

    std::uint64_t n_looks() const {
        std::lock_guard lock(mutex_);
        return members_.n_looks();
    }

    // Pages of 4 KiB that the state takes; depends on the rows alone.
    std::size_t n_pages() const {
        std::lock_guard lock(mutex_);
        return memory_.n_pages();
    }

    State state() const {
        std::lock_guard lock(mutex_);
        State out;
        // Counted first: arrays that grow would need twice the room.
        const std::size_t n = memory_.n_touched();
        out.ids.reserve(n);
        out.cells.reserve(n * n_vectors() * L::kWidth);
        memory_.for_each_touched([&](std::int64_t id) {
            out.ids.push_back(id);
            for (std::size_t c = 0; c < n_vectors(); ++c) {
                const Cell cell = memory_.load(id, c);
                out.cells.insert(out.cells.end(), cell.begin(), cell.end());
            }
        });
        if constexpr (HasTable<M>) out.table.assign(memory_.table().begin(), memory_.table().end());
        for (const Cell& cell : intercept_) out.intercept.insert(out.intercept.end(), cell.begin(), cell.end());
        out.counters = counters_;
        for (const KeptNumber<L>& number : L::kept()) out.numbers.push_back(learner_.*number.member);
        return out;
    }

    // Only for a selector that has learned nothing yet.
    void restore(const StateView& state) {
        std::lock_guard lock(mutex_);
        if (state.cells.size() != state.ids.size() * n_vectors() * L::kWidth)
            throw std::invalid_argument("cells has the wrong size: " + std::to_string(n_vectors() * L::kWidth) +
                                        " per id");
        if (state.intercept.size() != n_vectors() * L::kWidth)
            throw std::invalid_argument("intercept has the wrong size: " + std::to_string(n_vectors() * L::kWidth));
        for (const auto& [name, sum] : kSums)
            if (!std::isfinite(state.counters.*sum) || state.counters.*sum < 0.0)
                throw std::invalid_argument("the counter " + std::string(name) + " is out of range");
        for (const auto& [name, number] : kScales)
            if (const double value = state.counters.margins.*number;
                !std::isfinite(value) || value < 0.0 || (value == 0.0 && number == &MarginScale::scale))
                throw std::invalid_argument("the counter " + std::string(name) + " is out of range");
        restore_numbers(state.numbers);
        memory_.make_room(state.ids);
        for (std::size_t i = 0; i < state.ids.size(); ++i)
            for (std::size_t c = 0; c < n_vectors(); ++c)
                memory_.store(state.ids[i], c, cell_of(state.cells, i * n_vectors() + c));
        restore_table(state.table);  // after the members, whose shares it does not have
        if constexpr (Members::kBounded) restore_members(state);
        for (std::size_t c = 0; c < n_vectors(); ++c) intercept_[c] = cell_of(state.intercept, c);
        counters_ = state.counters;
    }

  protected:
    SelectorBase(std::size_t n_vectors, const Options& options)
        : options_(options.rows),
          learner_(options.parameters),
          memory_(n_vectors, options.memory),
          members_(options.budget - options.keep.size()),
          budget_(options.budget),
          keep_(options.keep),
          intercept_(n_vectors, L::as_member(Cell{})),
          buffer_(n_vectors),
          n_vectors_(n_vectors) {
        memory_.make_room(keep_);
        for (const std::int64_t id : keep_)
            for (std::size_t c = 0; c < n_vectors; ++c) memory_.store(id, c, L::as_member(Cell{}));
    }

    static Cell cell_at(const Row& row, std::size_t i) {
        const auto planes = L::planes(row);
        Cell cell;
        for (std::size_t k = 0; k < planes.size(); ++k) cell[k] = planes[k][i];
        return cell;
    }

    // Whether a member never leaves.
    bool is_kept(std::int64_t id) const { return !keep_.empty() && std::binary_search(keep_.begin(), keep_.end(), id); }

    // A feature's rank, as the memory has it.
    float rank_of(std::int64_t id) const {
        float sum = 0.0f;
        for (std::size_t c = 0; c < n_vectors(); ++c) sum += L::rank(memory_.load(id, c));
        return std::min(sum, std::numeric_limits<float>::max());
    }

    // The planes of class c around what the memory gathered for the first `known` of n features: the rest, and the
    // padding, read as untouched.
    THRESHER_INLINE void complete_planes(std::size_t c, std::size_t n, std::size_t known) {
        const auto planes = L::planes(buffer_.row(c));
        for (std::size_t k = 0; k < planes.size(); ++k) {
            for (std::size_t i = known; i < buffer_.blocks(); ++i) planes[k][i] = 0.0f;
            if (options_.fit_intercept) planes[k][n] = intercept_[c][k];
        }
    }

    THRESHER_INLINE void fold_if_needed() {
        if constexpr (L::kHooks.folds)
            if (learner_.must_fold()) fold();
    }

    // While places are open, the row's first outsiders take them; their positions are noted. The planes alone change:
    // if the row has no loss, they are forgotten with it.
    THRESHER_INLINE void enter_first(std::size_t n) {
        entered_.clear();
        if (const std::size_t n_open = members_.n_open(); n_open > 0) fill_places(n, n_open);
    }

    // What the member set asks about a feature.
    struct RankOf {
        const SelectorBase& selector;
        // Below all ranks if the feature is no longer a member.
        float operator()(std::int64_t id) const {
            const Cell cell = selector.memory_.load(id, 0);
            return L::is_member(cell) ? selector.rank_of(id) : -1.0f;
        }
        void expect(std::int64_t id) const { selector.memory_.prefetch(id); }
    };

    // Offers an outsider to the set; if it enters, its cells are stored and the leaver's are marked. `entrant_of(c)` is
    // the cell of class c that it would enter with.
    template <class EntrantOf>
    void offer(std::int64_t id, float rank, EntrantOf entrant_of) {
        const Admission answer = members_.offer(id, rank, RankOf{*this});
        if (!answer.enters) return;
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell entrant = entrant_of(c);
            memory_.store(id, c, entrant);
            if constexpr (L::kHooks.follows_members) learner_.entered(entrant);
        }
        if (answer.leaver == kNoFeature) return;
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell leaver = memory_.load(answer.leaver, c);
            memory_.store(answer.leaver, c, L::as_leaver(leaver));
            if constexpr (L::kHooks.follows_members) learner_.left(leaver);
        }
    }

    const RowOptions options_;
    L learner_;
    M memory_;
    Members members_;
    const std::uint64_t budget_;
    const std::vector<std::int64_t> keep_;
    std::vector<Cell> intercept_;
    Counters counters_;
    RowBuffer buffer_;
    std::vector<std::size_t> entered_;  // positions in the row at work
    // Python's lock is released while rows are learned, so two threads may call the same selector.
    mutable std::mutex mutex_;

  private:
    static Cell cell_of(std::span<const float> cells, std::size_t i) {
        Cell cell;
        std::memcpy(&cell, cells.data() + i * L::kWidth, sizeof(Cell));
        return cell;
    }

    void restore_numbers(std::span<const double> numbers) {
        constexpr auto kept = L::kept();
        if (numbers.size() != kept.size())
            throw std::invalid_argument("the learner keeps " + std::to_string(kept.size()) + " numbers");
        for (std::size_t k = 0; k < kept.size(); ++k) {
            if (!std::isfinite(numbers[k]) || numbers[k] < 0.0 || (numbers[k] == 0.0 && !kept[k].may_be_zero))
                throw std::invalid_argument("the learner's " + std::string(kept[k].name) + " is out of range");
            learner_.*kept[k].member = numbers[k];
        }
    }

    void restore_table(std::span<const float> table) {
        std::size_t size = 0;
        if constexpr (HasTable<M>) size = memory_.table().size();
        if (table.size() != size)
            throw std::invalid_argument("the table has " + std::to_string(table.size()) + " numbers, not " +
                                        std::to_string(size));
        if constexpr (HasTable<M>) {
            if (!M::is_valid(table)) throw std::invalid_argument("the table has a value that is out of range");
            std::copy(table.begin(), table.end(), memory_.table().begin());
        }
    }

    void restore_members(const StateView& state) {
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < state.ids.size(); ++i) {
            std::size_t n_marked = 0;
            for (std::size_t c = 0; c < n_vectors(); ++c)
                n_marked += L::is_member(cell_of(state.cells, i * n_vectors() + c));
            if (n_marked == 0) continue;
            if (n_marked < n_vectors())
                throw std::invalid_argument("a feature is a member for some of the classes only");
            if (!is_kept(state.ids[i])) ids.push_back(state.ids[i]);
        }
        if (const std::size_t n = ids.size() + keep_.size(); n > budget_)
            throw std::invalid_argument("it has " + std::to_string(n) + " members, more than its budget of " +
                                        std::to_string(budget_));
        for (const std::int64_t id : ids) members_.add(id);
    }

    template <class Visit>
    void for_each_member(Visit visit) const {
        for (const std::int64_t id : keep_) visit(id);
        members_.for_each(visit);
    }

    [[gnu::noinline]] void fill_places(std::size_t n, std::size_t n_open) {
        for (std::size_t i = 0; i < n && entered_.size() < n_open; ++i) {
            if (!L::is_outsider(buffer_.row(), i)) continue;
            for (std::size_t c = 0; c < n_vectors(); ++c) L::enter(buffer_.row(c), i);
            entered_.push_back(i);
        }
    }

    [[gnu::noinline]] void fold() {
        learner_.begin_fold();
        for_each_member([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors(); ++c) memory_.store(id, c, learner_.folded(memory_.load(id, c)));
        });
        members_.forget_ranks();
    }

    const std::size_t n_vectors_;
};

}  // namespace thresher
