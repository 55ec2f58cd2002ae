// A selector that shards can be made of: what it has learned since a common start, and how the start moves by what
// several of them have learned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/selector/base.hpp"
#include "thresher/selector/changes.hpp"
#include "thresher/selector/merging.hpp"
#include "thresher/selector/ranking.hpp"
#include "thresher/selector/selector.hpp"

namespace thresher {

template <Learner L, MemoryFor<L> M, std::size_t kVectors>
class MergeableSelector : public SelectorBase<L, M, kVectors> {
    using Base = SelectorBase<L, M, kVectors>;

  public:
    using Base::kPredictsApart, Base::n_vectors;
    using typename Base::Cell, typename Base::Members, typename Base::Options;

    Changes changes_since(const Selector& other) final {
        const auto* of_this_kind = dynamic_cast<const MergeableSelector*>(&other);
        if (of_this_kind == nullptr) throw std::invalid_argument("the start is of another kind");
        const MergeableSelector& start = *of_this_kind;
        if (this == &start) throw std::invalid_argument("a selector can't be its own start");
        std::scoped_lock lock(mutex_, start.mutex_);  // waits for neither while it holds the other
        if (n_vectors() != start.n_vectors() || budget_ != start.budget_ || keep_ != start.keep_)
            throw std::invalid_argument("the start is of another kind");
        Changes out;
        if constexpr (Members::kBounded) {
            this->for_each_member([&](std::int64_t id) { out.members.push_back(id); });
            std::sort(out.members.begin(), out.members.end());
        }
        // Of a sketch's outsiders the table alone knows.
        note_changes<L>(
            HasTable<M> ? touched_of(memory_) : united(touched_of(memory_), touched_of(start.memory_)), n_vectors(),
            [&](std::int64_t id, std::size_t c) { return start.real(id, c); },
            [&](std::int64_t id, std::size_t c) { return real(id, c); }, out);
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const auto sum = L::weighed(L::change(start.intercept_[c], intercept_[c]));
            out.intercept.insert(out.intercept.end(), sum.begin(), sum.end());
        }
        out.counters = counters_since(start.counters_, counters_);
        const std::vector<double> at_start = start.numbers();
        this->for_each_number([&](const auto& kept, double number) {
            out.numbers.push_back(kept.adds_up ? number - at_start[out.numbers.size()] : 0.0);
        });
        if constexpr (kPredictsApart) out.predicting = layer_.changes_since(start.layer_);
        if constexpr (Base::kHasDecoys) out.decoys = decoys_.changes_since(start.decoys_);
        if constexpr (HasTable<M>) memory_.note_slots(start.memory_, out);
        return out;
    }

    void merge(const Changes& changes, const MergeSizes& sizes) final {
        std::lock_guard lock(mutex_);
        check(changes);
        const double size = sizes.selecting;
        const Chosen chosen = members_after(changes, size);
        std::vector<std::int64_t> before;  // members that are not in the changes may leave all the same
        if constexpr (Members::kBounded) this->for_each_member([&](std::int64_t id) { before.push_back(id); });
        std::sort(before.begin(), before.end());
        memory_.make_room(changes.ids);
        if constexpr (HasTable<M>) memory_.merge_slots(changes, changes.n_shards, size);
        std::size_t next = 0;
        for (const std::int64_t id : united(united(changes.ids, before), ids_of(chosen))) {
            while (next < chosen.members.size() && chosen.members[next].id < id) ++next;
            const bool is_chosen = next < chosen.members.size() && chosen.members[next].id == id;
            for (std::size_t c = 0; c < n_vectors(); ++c) {
                if constexpr (Members::kBounded) {
                    if (is_chosen) {
                        memory_.store(id, c, stored(L::as_member(chosen.cells[next * n_vectors() + c])));
                        continue;
                    }
                    // Outsiders of a sketch are in its table.
                    if (HasTable<M> && !L::is_member(memory_.load(id, c))) continue;
                    memory_.store(id, c, stored(L::as_leaver(merged_cell(id, c, changes, size))));
                } else {
                    memory_.store(id, c, L::as_member(merged_cell(id, c, changes, size)));
                }
            }
        }
        if constexpr (Members::kBounded) {
            members_ = Members(budget_ - keep_.size());
            for (const Ranked& member : chosen.members)
                if (!this->is_kept(member.id)) members_.add(member.id);
        }
        for (std::size_t c = 0; c < n_vectors(); ++c) intercept_[c] = merged_intercept(c, changes, size);
        if constexpr (kPredictsApart) layer_.merge(changes.predicting, changes.n_shards, sizes.predicting);
        if constexpr (kPredictsApart && HasTable<M>)
            if (layer_.size() > this->most_known()) this->forget_leavers();
        if constexpr (Base::kHasDecoys) decoys_.merge(changes.decoys, changes.n_shards, size);
        counters_ = moved(counters_, changes.counters);
        auto added = changes.numbers.begin();
        this->for_each_number([&](const auto&, double& number) { number += *added++; });
        this->trim_to(this->max_fdr_);
        if constexpr (L::kHooks.folds) this->fold();
    }

    Preview preview(const Changes& changes, const MergeSizes& sizes, std::span<const std::int64_t> ids) const final {
        std::lock_guard lock(mutex_);
        check(changes);
        const double size = sizes.selecting;
        const Means means = means_after(changes);
        Preview out;
        const auto add_weight = [&](const Cell& cell) {
            const float weight = learner_.weight(stored(cell));
            if constexpr (Base::kOfNumbers)
                out.members.weights.push_back(static_cast<float>(static_cast<double>(weight) * means.of_rows.scale()));
            else
                out.members.weights.push_back(weight);
        };
        if constexpr (Members::kBounded) {
            const Chosen chosen = members_after(changes, size);
            out.members.ids = ids_of(chosen);
            for (const Cell& cell : chosen.cells) add_weight(cell);
        } else {
            for (const std::int64_t id : ids) {
                out.members.ids.push_back(id);
                for (std::size_t c = 0; c < n_vectors(); ++c) add_weight(merged_cell(id, c, changes, size));
            }
        }
        std::vector<Cell> intercept;
        for (std::size_t c = 0; c < n_vectors(); ++c) intercept.push_back(merged_intercept(c, changes, size));
        out.intercept = this->with_mean_target(this->selecting_intercept(intercept), means.of_rows);
        if constexpr (kPredictsApart) {
            layer_.preview(changes.predicting, changes.n_shards, sizes.predicting, means.of_members, out);
            out.predicting_intercept = this->with_mean_target(std::move(out.predicting_intercept), means.of_rows);
        }
        return out;
    }

  protected:
    using Base::Base;
    using Base::budget_, Base::counters_, Base::decoys_, Base::intercept_, Base::keep_, Base::layer_, Base::learner_;
    using Base::members_, Base::memory_, Base::mutex_;

  private:
    // Where targets are numbers, the means of targets and rows after a merge, and of the rows' members.
    struct Means {
        Squared of_rows = {};
        MeanLength of_members = {};
    };
    Means means_after([[maybe_unused]] const Changes& changes) const {
        Means out;
        if constexpr (Base::kOfNumbers) {
            out = {learner_, layer_.lengths()};
            auto added = changes.numbers.begin();
            for (const auto& kept : Squared::kept<Squared>()) out.of_rows.*kept.member += *added++;
            for (const auto& kept : Base::Layer::kept()) out.of_members.*kept.member += *added++;
        }
        return out;
    }

    // The members after a merge, in ascending order of id, and their cells.
    struct Chosen {
        std::vector<Ranked> members;
        std::vector<Cell> cells;
    };

    static std::vector<std::int64_t> ids_of(const Chosen& chosen) {
        std::vector<std::int64_t> ids;
        for (const Ranked& member : chosen.members) ids.push_back(member.id);
        return ids;
    }

    // Cells without the scalar that FOFS's weights share, and with it.
    Cell real(std::int64_t id, std::size_t c) const {
        const Cell cell = id < memory_.n_features() ? memory_.load(id, c) : Cell{};
        if constexpr (L::kHooks.folds) return learner_.real(cell);
        return cell;
    }
    Cell stored(const Cell& cell) const {
        if constexpr (L::kHooks.folds) return learner_.stored(cell);
        return cell;
    }

    void check(const Changes& changes) const {
        bool fits = changes.n_shards > 0 && thresher::fits<L>(changes, changes.n_shards, n_vectors()) &&
                    changes.numbers.size() == Base::n_numbers();
        fits &= fits_slots(memory_, changes, changes.n_shards);
        if constexpr (kPredictsApart) fits &= layer_.fits(changes.predicting, changes.n_shards);
        if constexpr (Base::kHasDecoys) fits &= decoys_.fits(changes.decoys, changes.n_shards);
        if (!fits) throw std::invalid_argument("the changes are of another kind");
    }

    // A feature's cell after a merge, without the scalar; its mark is still that of the start.
    Cell merged_cell(std::int64_t id, std::size_t c, const Changes& changes, double size) const {
        const Cell from = real(id, c);
        const auto found = std::lower_bound(changes.ids.begin(), changes.ids.end(), id);
        const bool is_changed = found != changes.ids.end() && *found == id;
        const auto i = static_cast<std::size_t>(found - changes.ids.begin()) * n_vectors() + c;
        const Cell to = is_changed ? L::moved(from, sum_of<L>(changes, changes.n_shards, i), size) : from;
        if constexpr (HasTable<M>) {
            // The shards in which it was an outsider have it in their tables only.
            if (!L::is_member(from)) {
                if (M::kKeepsMeans && is_changed) return to;
                const Cell outsider = memory_.load_merged(id, c, changes, changes.n_shards, size);
                return {M::kKeepsMeans ? outsider[0] : to[0], outsider[1]};
            }
        }
        return to;
    }

    Cell merged_intercept(std::size_t c, const Changes& changes, double size) const {
        return L::moved(intercept_[c], intercept_sum_of<L>(changes, c), size);
    }

    // The best of all shards' members. Empty without a budget.
    Chosen members_after(const Changes& changes, double size) const {
        Chosen chosen;
        if constexpr (Members::kBounded) {
            for (const std::int64_t id : united(changes.members, keep_)) {
                float rank = 0.0f;
                for (std::size_t c = 0; c < n_vectors(); ++c) rank += L::rank(merged_cell(id, c, changes, size));
                chosen.members.push_back({id, this->is_kept(id) ? std::numeric_limits<float>::infinity()
                                                                : std::min(rank, std::numeric_limits<float>::max())});
            }
            keep_best(chosen.members, budget_);
            for (const Ranked& member : chosen.members)
                for (std::size_t c = 0; c < n_vectors(); ++c)
                    chosen.cells.push_back(merged_cell(member.id, c, changes, size));
        }
        return chosen;
    }
};

}  // namespace thresher
