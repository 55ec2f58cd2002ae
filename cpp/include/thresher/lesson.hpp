// What selectors for two and for many classes share: what is to be learned, the loop over its rows, and the counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher {

struct Counters {
    std::uint64_t n_samples = 0;
    std::uint64_t n_updates = 0;
    std::uint64_t n_mistakes = 0;          // of `predict` before learning
    std::uint64_t n_undecided_first = 0;   // of two classes: rows of the first whose margin was exactly 0 …
    std::uint64_t n_undecided_second = 0;  // … and of the second
    std::uint64_t n_saturated = 0;         // updates in which float32 let no precision grow
    double loss = 0.0;                     // summed over rows, before learning
};

// What to learn from a batch: rows begin … end, by way of `order` where there is one.
struct Lesson {
    const std::int32_t* classes;          // for each row of the batch, from 0
    const double* importances = nullptr;  // sample weights; a row of weight 0 is passed over
    const std::int64_t* order = nullptr;  // row numbers
    std::size_t begin = 0, end = 0;
    bool check = true;  // look at each row before it is learned, and stop at the first fault
};

struct RowOptions {
    Norm norm;
    bool fit_intercept;
};

// Loads the lesson's rows in their order and calls learn(ids, n, class, importance) for each, up to the first fault.
template <class Id, class Learn>
THRESHER_INLINE Fault for_each_row(const CsrBatch<Id>& batch, std::int64_t n_features, const Lesson& lesson,
                                   const RowOptions& options, RowBuffer& buffer, Learn learn) {
    for (std::size_t k = lesson.begin; k < lesson.end; ++k) {
        const std::size_t r = lesson.order != nullptr ? static_cast<std::size_t>(lesson.order[k]) : k;
        if (lesson.check) {
            const Fault fault = row_fault(batch, r, n_features, options.norm);
            if (fault.kind != Fault::Kind::none) return fault;
        }
        const double importance = lesson.importances != nullptr ? lesson.importances[r] : 1.0;
        if (importance == 0.0) continue;
        const auto begin = static_cast<std::size_t>(batch.starts[r]);
        const auto n = static_cast<std::size_t>(batch.starts[r + 1]) - begin;
        load_values(batch.values, begin, n, options.norm, options.fit_intercept, buffer);
        learn(batch.ids + begin, n, lesson.classes[r], importance);
    }
    return {};
}

// Loads rows begin … end and calls score(ids, n, row − begin) for each.
template <class Id, class Score>
THRESHER_INLINE void for_each_row(const CsrBatch<Id>& batch, std::size_t begin, std::size_t end,
                                  const RowOptions& options, RowBuffer& buffer, Score score) {
    for (std::size_t r = begin; r < end; ++r) {
        const auto first = static_cast<std::size_t>(batch.starts[r]);
        const auto n = static_cast<std::size_t>(batch.starts[r + 1]) - first;
        load_values(batch.values, first, n, options.norm, options.fit_intercept, buffer);
        score(batch.ids + first, n, r - begin);
    }
}

// The selected features, best first, and the weights of each: one, or one a class.
struct Ranking {
    std::vector<std::int64_t> ids;
    std::vector<float> weights;
};

// Highest rank first, then lowest id.
template <class Member>
void sort_best_first(std::vector<Member>& members) {
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.rank > b.rank || (a.rank == b.rank && a.id < b.id); });
}

// All that learning depends on: what is stored of touched features in ascending order, the intercept, the counters, and
// what the learner keeps beside its features.
template <class Cell>
struct State {
    std::vector<std::int64_t> keys;  // an id; with C > 2 classes, id·C + class
    std::vector<Cell> cells;
    std::vector<Cell> intercept;
    Counters counters;
    std::vector<double> scalars;
};

template <class Learner>
std::vector<double> scalars_of(const Learner& learner) {
    if constexpr (requires { learner.scalars(); }) {
        const auto scalars = learner.scalars();
        return {scalars.begin(), scalars.end()};
    } else {
        return {};
    }
}

template <class Learner>
void restore_scalars(Learner& learner, const std::vector<double>& given) {
    if constexpr (requires { learner.scalars(); }) {
        typename Learner::Scalars scalars{};
        if (given.size() != scalars.size()) throw std::invalid_argument("the saved state has arrays of the wrong size");
        std::copy(given.begin(), given.end(), scalars.begin());
        if (!Learner::is_valid(scalars)) throw std::invalid_argument("the saved state is out of range");
        learner.restore(scalars);
    } else if (!given.empty()) {
        throw std::invalid_argument("the saved state has arrays of the wrong size");
    }
}

}  // namespace thresher
