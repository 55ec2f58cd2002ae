// What learning has changed since a common start, so that shards that learned side by side can be merged.
//
// Each learner says what it notes of a cell (Change), how notes of several shards add up (Sum), and where a cell moves
// for a sum; so shards can be merged in any grouping, up to rounding. Only features that changed are noted. The start
// itself is no part of it: what all shards had in common is counted once.
//
// How far a Sum moves a cell for a `size`, the learner says (`moved`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include "thresher/selector/counters.hpp"

namespace thresher {

// Of features. One shard has `changes`, as the learner notes them in float32; several have `sums`. With C > 2 classes a
// feature has C of them.
struct FeatureChanges {
    std::vector<std::int64_t> ids = {};  // of features that changed, ascending
    std::vector<float> changes = {};
    std::vector<double> sums = {};
};

// Of the slots of a sketch's table.
struct SlotChanges {
    std::uint64_t n_slots = 0;              // of the table
    std::vector<std::uint32_t> slots = {};  // that changed, ascending; if there are changes and no slots: all, in order
    std::vector<float> slot_changes = {};   // of one shard
    std::vector<float> slot_sums = {};      // of several

    bool has_all_slots() const { return slots.empty() && !(slot_changes.empty() && slot_sums.empty()); }
};

// Of the predicting layer; empty without one.
struct LayerChanges : FeatureChanges {
    std::vector<double> intercept = {};
};

// Of decoys; empty without any.
struct DecoyChanges : FeatureChanges, SlotChanges {};

struct Changes : FeatureChanges, SlotChanges {
    std::uint64_t n_shards = 1;
    std::vector<std::int64_t> members = {};  // who is a member in some shard, ascending
    std::vector<double> intercept = {};      // sums
    Counters counters = {};                  // increments; the scale of margins is weighed by the information
    std::vector<double> numbers = {};        // increments of what the learner keeps
    LayerChanges predicting = {};
    DecoyChanges decoys = {};
};

// The increments of counters.
inline Counters counters_since(const Counters& start, const Counters& end) {
    Counters out;
    for (const auto& [name, count] : kCounts) out.*count = end.*count - start.*count;
    for (const auto& [name, sum] : kSums) out.*sum = end.*sum - start.*sum;
    const double information = end.margins.information - start.margins.information;
    out.margins = {information * (end.margins.scale - start.margins.scale), information,
                   end.margins.n_rows - start.margins.n_rows};
    return out;
}

inline Counters added(Counters a, const Counters& b) {
    for (const auto& [name, count] : kCounts) a.*count += b.*count;
    for (const auto& [name, sum] : kSums) a.*sum += b.*sum;
    for (const auto& [name, scale] : kScales) a.margins.*scale += b.margins.*scale;
    return a;
}

// The counters of all shards together.
inline Counters moved(const Counters& start, const Counters& increments) {
    Counters out = added(start, increments);
    out.margins = start.margins;
    if (const double information = increments.margins.information; information > 0.0) {
        const double wanted = start.margins.scale + increments.margins.scale / information;
        out.margins = {std::clamp(wanted, 1e-30, 1e30), std::min(start.margins.information + information, 1e300),
                       start.margins.n_rows + increments.margins.n_rows};
    }
    return out;
}

// Notes of the same kind, the same number of numbers for each of ascending keys; numbers without keys are for 0, 1, 2 …
template <class Key, class Number>
struct Notes {
    std::vector<Key> keys;
    std::vector<Number> numbers;

    bool has_all() const { return keys.empty() && !numbers.empty(); }

    friend Notes operator+(const Notes& a, const Notes& b) {
        if (a.numbers.empty()) return b;
        if (b.numbers.empty()) return a;
        if (a.has_all() || b.has_all()) return a.has_all() ? a.plus(b) : b.plus(a);
        const std::size_t width = a.numbers.size() / a.keys.size();
        if (b.numbers.size() != width * b.keys.size()) throw std::invalid_argument("changes of different kinds");
        Notes out;
        out.keys.reserve(std::max(a.keys.size(), b.keys.size()));
        out.numbers.reserve(std::max(a.numbers.size(), b.numbers.size()));
        std::size_t i = 0, k = 0;
        const auto take = [&](const Notes& from, std::size_t at) {
            out.keys.push_back(from.keys[at]);
            const auto first = from.numbers.begin() + static_cast<std::ptrdiff_t>(at * width);
            out.numbers.insert(out.numbers.end(), first, first + static_cast<std::ptrdiff_t>(width));
        };
        while (i < a.keys.size() || k < b.keys.size()) {
            if (k == b.keys.size() || (i < a.keys.size() && a.keys[i] < b.keys[k])) {
                take(a, i++);
            } else if (i == a.keys.size() || b.keys[k] < a.keys[i]) {
                take(b, k++);
            } else {
                take(a, i++);
                for (std::size_t w = 0; w < width; ++w)
                    out.numbers[out.numbers.size() - width + w] += b.numbers[k * width + w];
                ++k;
            }
        }
        return out;
    }

  private:
    // This one has all.
    Notes plus(const Notes& some) const {
        Notes out = *this;
        const std::size_t width = some.has_all() ? 1 : some.numbers.size() / some.keys.size();
        for (std::size_t i = 0; i < some.numbers.size(); ++i) {
            const std::size_t key = some.has_all() ? i : static_cast<std::size_t>(some.keys[i / width]);
            out.numbers.at(key * width + i % width) += some.numbers[i];
        }
        return out;
    }
};

// The sums of one shard's changes: of each note, what the learner makes of it.
template <class Sum, class Change, class Number>
std::vector<Number> sums_of(const std::vector<float>& changes, Sum (*weighed)(const Change&)) {
    std::vector<Number> sums;
    sums.reserve(changes.size() / std::tuple_size_v<Change> * std::tuple_size_v<Sum>);
    for (std::size_t i = 0; i < changes.size(); i += std::tuple_size_v<Change>) {
        Change change;
        std::copy_n(changes.begin() + static_cast<std::ptrdiff_t>(i), change.size(), change.begin());
        for (const double number : weighed(change)) sums.push_back(static_cast<Number>(number));
    }
    return sums;
}

}  // namespace thresher
