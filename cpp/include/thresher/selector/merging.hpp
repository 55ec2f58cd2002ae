// What shards that learned side by side have changed, added up; SelectorBase notes it, and moves the start by it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/learners/logistic.hpp"
#include "thresher/selector/changes.hpp"

namespace thresher {

// A memory that keeps more than the cells of features: a table of floats.
template <class M>
concept HasTable = requires(M memory) { memory.table().begin(); };

inline std::vector<std::int64_t> united(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    std::vector<std::int64_t> out;
    out.reserve(std::max(a.size(), b.size()));
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}

template <class M>
std::vector<std::int64_t> touched_of(const M& memory) {
    std::vector<std::int64_t> ids;
    memory.for_each_touched([&](std::int64_t id) { ids.push_back(id); });
    return ids;
}

// Notes which of these features have changed; before(id, c) and after(id, c) are the cells of class c.
template <class L, class Before, class After>
void note_changes(const std::vector<std::int64_t>& ids, std::size_t n_vectors, Before before, After after,
                  FeatureChanges& out) {
    for (const std::int64_t id : ids) {
        const std::size_t n = out.changes.size();
        bool is_changed = false;
        for (std::size_t c = 0; c < n_vectors; ++c) {
            const auto change = L::change(before(id, c), after(id, c));
            is_changed |= change != typename L::Change{};
            out.changes.insert(out.changes.end(), change.begin(), change.end());
        }
        if (is_changed)
            out.ids.push_back(id);
        else
            out.changes.resize(n);
    }
}

// What shards have changed of features, as sums.
template <class L>
Notes<std::int64_t, double> notes_of(const FeatureChanges& changed, std::uint64_t n_shards) {
    Notes<std::int64_t, double> notes{changed.ids, changed.sums};
    if (n_shards == 1)
        notes.numbers = sums_of<typename L::Sum, typename L::Change, double>(changed.changes, &L::weighed);
    return notes;
}

// The sum of the i-th note.
template <class L>
typename L::Sum sum_of(const FeatureChanges& changed, std::uint64_t n_shards, std::size_t i) {
    if (n_shards == 1) {
        typename L::Change change;
        std::copy_n(changed.changes.begin() + static_cast<std::ptrdiff_t>(i * change.size()), change.size(),
                    change.begin());
        return L::weighed(change);
    }
    typename L::Sum sum;
    std::copy_n(changed.sums.begin() + static_cast<std::ptrdiff_t>(i * sum.size()), sum.size(), sum.begin());
    return sum;
}

// The sum for the intercept of class c.
template <class L, class Changed>
typename L::Sum intercept_sum_of(const Changed& changed, std::size_t c) {
    typename L::Sum sum;
    std::copy_n(changed.intercept.begin() + static_cast<std::ptrdiff_t>(c * sum.size()), sum.size(), sum.begin());
    return sum;
}

// Whether notes are of features with `n_vectors` cells each.
template <class L>
bool fits_features(const FeatureChanges& changed, std::uint64_t n_shards, std::size_t n_vectors) {
    constexpr std::size_t of_change = std::tuple_size_v<typename L::Change>,
                          of_sum = std::tuple_size_v<typename L::Sum>;
    const std::size_t n = changed.ids.size() * n_vectors;
    return changed.changes.size() == (n_shards == 1 ? n * of_change : 0) &&
           changed.sums.size() == (n_shards == 1 ? 0 : n * of_sum);
}
template <class L, class Changed>
bool fits(const Changed& changed, std::uint64_t n_shards, std::size_t n_vectors) {
    return fits_features<L>(changed, n_shards, n_vectors) &&
           changed.intercept.size() == n_vectors * std::tuple_size_v<typename L::Sum>;
}

// Whether notes are of slots of a memory's table, if it has one.
template <class M>
bool fits_slots(const M& memory, const SlotChanges& changes, std::uint64_t n_shards) {
    if constexpr (HasTable<const M>) {
        const bool is_one = n_shards == 1;
        const std::size_t numbers = is_one ? changes.slot_changes.size() : changes.slot_sums.size();
        const std::size_t width = is_one ? M::kSlotChange : M::kSlotSum;
        return (is_one ? changes.slot_sums : changes.slot_changes).empty() && changes.n_slots == memory.n_slots() &&
               (changes.slots.empty() || changes.slots.back() < changes.n_slots) &&
               (numbers == changes.slots.size() * width ||
                (changes.slots.empty() && numbers == changes.n_slots * width));
    } else {
        return changes.n_slots == 0;
    }
}

inline std::vector<double> summed(std::vector<double> a, const std::vector<double>& b) {
    if (a.size() != b.size()) throw std::invalid_argument("changes of different kinds");
    for (std::size_t i = 0; i < b.size(); ++i) a[i] += b[i];
    return a;
}

// Adds up what two groups of shards have changed: of features, and of slots.
template <class L>
void add_features(const FeatureChanges& a, std::uint64_t n_of_a, const FeatureChanges& b, std::uint64_t n_of_b,
                  FeatureChanges& out) {
    auto notes = notes_of<L>(a, n_of_a) + notes_of<L>(b, n_of_b);
    out.ids = std::move(notes.keys);
    out.sums = std::move(notes.numbers);
}
template <class M>
void add_slots(const SlotChanges& a, std::uint64_t n_of_a, const SlotChanges& b, std::uint64_t n_of_b,
               SlotChanges& out) {
    const auto notes_of_slots = [](const SlotChanges& each, std::uint64_t n_shards) {
        Notes<std::uint32_t, float> notes{each.slots, each.slot_sums};
        if (n_shards == 1) notes.numbers = M::slot_sums(each.slot_changes);
        return notes;
    };
    if (a.n_slots != b.n_slots) throw std::invalid_argument("changes of different kinds");
    out.n_slots = a.n_slots;
    auto notes = notes_of_slots(a, n_of_a) + notes_of_slots(b, n_of_b);
    out.slots = std::move(notes.keys);
    out.slot_sums = std::move(notes.numbers);
}

template <Learner L, MemoryFor<L> M>
Changes added(const Changes& a, const Changes& b) {
    Changes out;
    out.n_shards = a.n_shards + b.n_shards;
    add_features<L>(a, a.n_shards, b, b.n_shards, out);
    out.members = united(a.members, b.members);
    out.intercept = summed(a.intercept, b.intercept);
    out.counters = added(a.counters, b.counters);
    out.numbers = summed(a.numbers, b.numbers);
    if constexpr (L::kHooks.predicts_apart) {
        add_features<Logistic>(a.predicting, a.n_shards, b.predicting, b.n_shards, out.predicting);
        out.predicting.intercept = summed(a.predicting.intercept, b.predicting.intercept);
    }
    if constexpr (L::kHooks.has_decoys) add_features<L>(a.decoys, a.n_shards, b.decoys, b.n_shards, out.decoys);
    if constexpr (HasTable<M>) {
        add_slots<M>(a, a.n_shards, b, b.n_shards, out);
        if constexpr (L::kHooks.has_decoys) add_slots<M>(a.decoys, a.n_shards, b.decoys, b.n_shards, out.decoys);
    }
    return out;
}

}  // namespace thresher
