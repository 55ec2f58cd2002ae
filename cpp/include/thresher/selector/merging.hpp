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

// What shards have changed of features, as sums; `Changed` is Changes or LayerChanges.
template <class L, class Changed>
Notes<std::int64_t, double> notes_of(const Changed& changed, std::uint64_t n_shards) {
    Notes<std::int64_t, double> notes{changed.ids, changed.sums};
    if (n_shards == 1)
        notes.numbers = sums_of<typename L::Sum, typename L::Change, double>(changed.changes, &L::weighed);
    return notes;
}

// The sum of the i-th note.
template <class L, class Changed>
typename L::Sum sum_of(const Changed& changed, std::uint64_t n_shards, std::size_t i) {
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
template <class L, class Changed>
bool fits(const Changed& changed, std::uint64_t n_shards, std::size_t n_vectors) {
    constexpr std::size_t of_change = std::tuple_size_v<typename L::Change>,
                          of_sum = std::tuple_size_v<typename L::Sum>;
    const std::size_t n = changed.ids.size() * n_vectors;
    return changed.changes.size() == (n_shards == 1 ? n * of_change : 0) &&
           changed.sums.size() == (n_shards == 1 ? 0 : n * of_sum) && changed.intercept.size() == n_vectors * of_sum;
}

inline std::vector<double> summed(std::vector<double> a, const std::vector<double>& b) {
    if (a.size() != b.size()) throw std::invalid_argument("changes of different kinds");
    for (std::size_t i = 0; i < b.size(); ++i) a[i] += b[i];
    return a;
}

// Adds up what two groups of shards have changed.
template <Learner L, MemoryFor<L> M>
Changes added(const Changes& a, const Changes& b) {
    Changes out;
    out.n_shards = a.n_shards + b.n_shards;
    auto features = notes_of<L>(a, a.n_shards) + notes_of<L>(b, b.n_shards);
    out.ids = std::move(features.keys);
    out.sums = std::move(features.numbers);
    out.members = united(a.members, b.members);
    out.intercept = summed(a.intercept, b.intercept);
    out.counters = added(a.counters, b.counters);
    out.numbers = summed(a.numbers, b.numbers);
    if constexpr (L::kHooks.predicts_apart) {
        auto apart = notes_of<Logistic>(a.predicting, a.n_shards) + notes_of<Logistic>(b.predicting, b.n_shards);
        out.predicting.ids = std::move(apart.keys);
        out.predicting.sums = std::move(apart.numbers);
        out.predicting.intercept = summed(a.predicting.intercept, b.predicting.intercept);
    }
    if constexpr (HasTable<M>) {
        const auto of_slots = [](const Changes& each) {
            Notes<std::uint32_t, float> notes{each.slots, each.slot_sums};
            if (each.n_shards == 1) notes.numbers = M::slot_sums(each.slot_changes);
            return notes;
        };
        if (a.n_slots != b.n_slots) throw std::invalid_argument("changes of different kinds");
        out.n_slots = a.n_slots;
        auto slots = of_slots(a) + of_slots(b);
        out.slots = std::move(slots.keys);
        out.slot_sums = std::move(slots.numbers);
    }
    return out;
}

}  // namespace thresher
