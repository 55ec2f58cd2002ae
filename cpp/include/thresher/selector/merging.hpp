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

// Adds up what two groups of shards have changed.
template <Learner L, MemoryFor<L> M>
Changes added(const Changes& a, const Changes& b) {
    const auto of_features = [](const Changes& each) {
        Notes<std::int64_t, double> notes{each.ids, each.sums};
        if (each.n_shards == 1)
            notes.numbers = sums_of<typename L::Sum, typename L::Change, double>(each.changes, &L::weighed);
        return notes;
    };
    Changes out;
    out.n_shards = a.n_shards + b.n_shards;
    auto features = of_features(a) + of_features(b);
    out.ids = std::move(features.keys);
    out.sums = std::move(features.numbers);
    out.members = united(a.members, b.members);
    if (a.intercept.size() != b.intercept.size() || a.numbers.size() != b.numbers.size())
        throw std::invalid_argument("changes of different kinds");
    out.intercept = a.intercept;
    for (std::size_t i = 0; i < b.intercept.size(); ++i) out.intercept[i] += b.intercept[i];
    out.counters = added(a.counters, b.counters);
    out.numbers = a.numbers;
    for (std::size_t i = 0; i < b.numbers.size(); ++i) out.numbers[i] += b.numbers[i];
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
