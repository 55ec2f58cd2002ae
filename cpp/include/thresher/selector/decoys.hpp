// Decoys: what rank features reach by chance.
//
// Next to each row the selector is shown another row, its partner, whose features learn with the label of this row:
// they are decoys, with ids of their own. They take the outsiders' step beside the members, in a memory of their own,
// and never enter. A decoy has the frequency, the values and the company of a real feature, but can agree with the
// labels by chance only. So with R(τ) members and D(τ) decoys of rank τ or more, (1 + D(τ))/(share·R(τ)) estimates
// which share of these members came by chance, and a member's q-value is the least estimate at any τ up to its rank.
//
// Not every feature needs a decoy: a hash chooses a share of the ids. With a sketch, decoys have a table of their own,
// with as many features per slot, and a slot counts as one decoy, as it can bring one feature in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/csr.hpp"
#include "thresher/learners/kernels.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/changes.hpp"
#include "thresher/selector/merging.hpp"
#include "thresher/selector/ranking.hpp"
#include "thresher/selector/state.hpp"
#include "thresher/splitmix.hpp"

namespace thresher {

// Which features have a decoy: those with ids below `all_below`, and a share of the others; none if it is 0.
struct DecoyOptions {
    double share = 0.0;
    std::int64_t all_below = 0;
};

template <class L, MemoryFor<L> M>
class Decoys {
  public:
    using Cell = typename L::Cell;

    Decoys(std::size_t n_vectors, const DecoyOptions& options, const MemoryOptions& memory)
        : options_(options),
          n_vectors_(n_vectors),
          chosen_below_(static_cast<std::uint64_t>(options.share * 0x1p32)),
          memory_(n_vectors, with_share(memory, options.share)),
          buffer_(n_vectors) {}

    bool exist() const { return options_.share > 0.0; }
    void reserve(std::int64_t n) { memory_.reserve(n); }
    std::size_t n_pages() const { return memory_.n_pages(); }

    // Notes the features of a partner: the next step of decoys is theirs.
    template <class Id>
    void show(const Id* ids, const float* x, std::size_t n) {
        if (ids_.size() < n) ids_.resize(n);
        buffer_.resize(n);
        std::int64_t* __restrict to_ids = ids_.data();
        float* __restrict to_x = buffer_.x();
        std::size_t n_shown = 0;
        by_fours(n, [&](std::size_t i) __attribute__((always_inline)) {
            const auto id = static_cast<std::int64_t>(ids[i]);
            to_ids[n_shown] = id;
            to_x[n_shown] = x[i];
            n_shown += static_cast<std::size_t>(has_decoy(id));
        });
        end_showing(n_shown);
    }
    void show_nothing() { end_showing(0); }

    // Decoys follow the step that the learner took last; of two classes, or of these two of many.
    void follow(const L& learner) {
        if (n_shown_ == 0) return;
        locate();
        gather(0);
        Kernels<L>::follow(learner, buffer_.row());
        scatter(0);
    }
    void follow(const L& learner, std::size_t up, std::size_t down) {
        if (n_shown_ == 0) return;
        locate();
        gather(up);
        gather(down);
        Kernels<L>::follow(learner, buffer_.row(up), buffer_.row(down));
        scatter(up);
        scatter(down);
    }

    // Swaps two classes.
    void swap_classes() { memory_.update(L::negated); }

    // The q-values of members with these ranks, which fall.
    std::vector<double> q_values(std::span<const float> ranks) const {
        std::vector<Counted> decoys = counted(ranks.empty() ? 0.0f : ranks.back());
        std::sort(decoys.begin(), decoys.end(), ranks_higher);
        const double most_for_one = counts_for_most(decoys);
        std::vector<double> out(ranks.size());
        double n_decoys = 0.0;
        std::size_t k = 0;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            for (; k < decoys.size() && decoys[k].rank >= ranks[i]; ++k) n_decoys += decoys[k].stands_for;
            const double q = (most_for_one + n_decoys) / static_cast<double>(i + 1);
            out[i] = ranks[i] > 0.0f ? std::min(q, 1.0) : 1.0;
        }
        for (std::size_t i = out.size(); i-- > 1;) out[i - 1] = std::min(out[i - 1], out[i]);
        return out;
    }

    // Up to n decoys of the highest ranks above 0.
    DecoyRanks strongest(std::size_t n) const {
        std::vector<Counted> decoys = counted(std::numeric_limits<float>::denorm_min());
        n = std::min(n, decoys.size());
        std::partial_sort(decoys.begin(), decoys.begin() + static_cast<std::ptrdiff_t>(n), decoys.end(), ranks_higher);
        DecoyRanks out;
        for (const Counted& decoy : std::span(decoys).first(n)) {
            out.ranks.push_back(decoy.rank);
            out.stand_for.push_back(decoy.stands_for);
        }
        return out;
    }

    DecoyState state() const {
        DecoyState out;
        memory_.for_each_touched([&](std::int64_t id) {
            out.ids.push_back(id);
            for (std::size_t c = 0; c < n_vectors_; ++c) {
                const Cell cell = memory_.load(id, c);
                out.cells.insert(out.cells.end(), cell.begin(), cell.end());
            }
        });
        if constexpr (HasTable<M>)
            if (exist()) out.table.assign(memory_.table().begin(), memory_.table().end());
        out.shown_ids.assign(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(n_shown_));
        out.shown_values.assign(shown(), shown() + n_shown_);
        return out;
    }

    void restore(const DecoyView& state) {
        if (state.cells.size() != state.ids.size() * n_vectors_ * L::kWidth ||
            state.shown_ids.size() != state.shown_values.size())
            throw std::invalid_argument("the decoys have the wrong size");
        if (!exist() && !(state.ids.empty() && state.shown_ids.empty() && state.table.empty()))
            throw std::invalid_argument("this learner has no decoys");
        memory_.make_room(state.ids);
        for (std::size_t i = 0; i < state.ids.size(); ++i)
            for (std::size_t c = 0; c < n_vectors_; ++c) {
                Cell cell;
                std::copy_n(state.cells.data() + (i * n_vectors_ + c) * L::kWidth, L::kWidth, cell.begin());
                if (L::is_member(cell)) throw std::invalid_argument("a decoy is a member");
                memory_.store(state.ids[i], c, cell);
            }
        restore_table(state.table);
        show(state.shown_ids.data(), state.shown_values.data(), state.shown_ids.size());
        if (n_shown_ != state.shown_ids.size()) throw std::invalid_argument("a feature is shown that has no decoy");
    }

    // Merging: like features that are no members. A merge has no last row.
    DecoyChanges changes_since(const Decoys& start) {
        DecoyChanges out;
        if (!exist()) return out;
        note_changes<L>(
            united(touched_of(memory_), touched_of(start.memory_)), n_vectors_,
            [&](std::int64_t id, std::size_t c) { return start.load(id, c); },
            [&](std::int64_t id, std::size_t c) { return load(id, c); }, out);
        if constexpr (HasTable<M>) memory_.note_slots(start.memory_, out);
        return out;
    }
    bool fits(const DecoyChanges& changes, std::uint64_t n_shards) const {
        if (!exist()) return changes.ids.empty() && changes.n_slots == 0;
        return fits_features<L>(changes, n_shards, n_vectors_) && fits_slots(memory_, changes, n_shards);
    }
    void merge(const DecoyChanges& changes, std::uint64_t n_shards, double size) {
        if (!exist()) return;
        memory_.make_room(changes.ids);
        for (std::size_t i = 0; i < changes.ids.size(); ++i)
            for (std::size_t c = 0; c < n_vectors_; ++c)
                memory_.store(
                    changes.ids[i], c,
                    L::moved(memory_.load(changes.ids[i], c), sum_of<L>(changes, n_shards, i * n_vectors_ + c), size));
        if constexpr (HasTable<M>) memory_.merge_slots(changes, n_shards, size);
        show_nothing();
    }

  private:
    // A decoy, and for how many features it stands.
    struct Counted {
        float rank;
        double stands_for;
    };
    // Of equal ranks those that stand for more come first, so that the order does not depend on the memory.
    static bool ranks_higher(const Counted& a, const Counted& b) {
        return std::tie(a.rank, a.stands_for) > std::tie(b.rank, b.stands_for);
    }

    // As many features per slot as the other table has.
    static MemoryOptions with_share(MemoryOptions options, double share) {
        options.bytes = static_cast<std::size_t>(static_cast<double>(options.bytes) * share);
        return options;
    }

    THRESHER_INLINE bool has_decoy(std::int64_t id) const {
        const std::uint64_t hash = (static_cast<std::uint64_t>(id) * kPhi) >> 32;
        return (id < options_.all_below) | (hash < chosen_below_);
    }

    void end_showing(std::size_t n) {
        n_shown_ = n;
        buffer_.resize(n);
        std::fill(buffer_.x() + n, buffer_.x() + buffer_.blocks(), 0.0f);
    }

    void locate() {
        memory_.admit(ids_[n_shown_ - 1] + 1);
        memory_.locate(ids_.data(), n_shown_);
    }
    void gather(std::size_t c) {
        const Row row = buffer_.row(c);
        const auto planes = L::planes(row);
        memory_.gather(ids_.data(), n_shown_, c, planes);
        for (float* plane : planes) std::fill(plane + n_shown_, plane + row.blocks(), 0.0f);
    }
    void scatter(std::size_t c) { memory_.scatter(ids_.data(), n_shown_, c, L::planes(buffer_.row(c))); }

    Cell load(std::int64_t id, std::size_t c) const { return id < memory_.n_features() ? memory_.load(id, c) : Cell{}; }
    const float* shown() const { return const_cast<RowBuffer&>(buffer_).x(); }

    // The decoys that rank at `least` or above.
    std::vector<Counted> counted(float least) const {
        std::vector<Counted> out;
        const auto count = [&](float rank, double stands_for) {
            if (rank >= least) out.push_back({rank, stands_for});
        };
        if constexpr (HasTable<M>) {
            const std::span<const float> table = memory_.table();
            const std::size_t width = n_vectors_ * L::kWidth;
            for (std::size_t at = 0; at + width <= table.size(); at += width) {
                float rank = 0.0f;
                for (std::size_t c = 0; c < n_vectors_; ++c)
                    rank += L::rank(Cell{table[at + c * L::kWidth], table[at + c * L::kWidth + 1]});
                count(rank, 1.0 / options_.share);
            }
        } else {
            memory_.for_each_touched([&](std::int64_t id) {
                float rank = 0.0f;
                for (std::size_t c = 0; c < n_vectors_; ++c) rank += L::rank(memory_.load(id, c));
                count(rank, id < options_.all_below ? 1.0 : 1.0 / options_.share);
            });
        }
        return out;
    }

    // For how many features a decoy can stand at most, among the features that occur.
    double counts_for_most(const std::vector<Counted>& decoys) const {
        double most = 1.0;
        for (const Counted& decoy : decoys) most = std::max(most, decoy.stands_for);
        return most;
    }

    void restore_table(std::span<const float> table) {
        if constexpr (HasTable<M>) {
            if (table.size() != (exist() ? memory_.table().size() : 0))
                throw std::invalid_argument("the table of the decoys has the wrong size");
            if (!M::is_valid(table)) throw std::invalid_argument("the decoys' table has a value that is out of range");
            std::copy(table.begin(), table.end(), memory_.table().begin());
        } else if (!table.empty()) {
            throw std::invalid_argument("the decoys have no table");
        }
    }

    DecoyOptions options_;
    std::size_t n_vectors_;
    std::uint64_t chosen_below_;  // of 2^32
    M memory_;
    // The partner of the row at work: its values and planes, and its ids.
    RowBuffer buffer_;
    std::vector<std::int64_t> ids_;
    std::size_t n_shown_ = 0;
};

// In the place of them, for learners that have none.
template <class L, class M>
struct NoDecoys {
    NoDecoys(std::size_t, const DecoyOptions& options, const MemoryOptions&) {
        if (options.share > 0.0) throw std::invalid_argument("this learner has no decoys");
    }
};

}  // namespace thresher
