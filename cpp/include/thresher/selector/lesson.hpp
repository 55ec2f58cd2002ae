// What to learn from a batch, and the loop over its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "thresher/csr.hpp"
#include "thresher/row.hpp"

namespace thresher {

// What each row of a batch is to be predicted as.
struct RowLabels {
    const std::int32_t* classes = nullptr;  // from 0
    const double* numbers = nullptr;        // where targets are numbers

    double operator[](std::size_t r) const { return classes != nullptr ? static_cast<double>(classes[r]) : numbers[r]; }
};

// Rows begin … end - 1; where there is an `order`, rows order[begin] … order[end - 1].
struct Lesson {
    RowLabels labels;
    const double* row_weights = nullptr;  // sample weights; a row of weight 0 is skipped
    const std::int64_t* order = nullptr;
    std::size_t begin = 0, end = 0;
    bool check = true;   // check each row before it is learned, and stop at the first fault
    bool is_new = true;  // the rows come for the first time, so their margins are those of rows never seen
    // For each row of the batch the row whose features are its decoys, or -1; without them, it is the row learned
    // before.
    const std::int64_t* partners = nullptr;
};

// Fetches a row that will be loaded soon. Rows in their own order are fetched by the processor, which sees the pattern.
template <class Id>
void prefetch_row(const CsrBatch<Id>& batch, std::size_t r) {
    auto prefetch = [&](const auto* array) {
        constexpr std::size_t kCacheLine = 64;
        const auto* from = reinterpret_cast<const char*>(array + batch.starts[r]);
        const auto* to = reinterpret_cast<const char*>(array + batch.starts[r + 1]);
        for (; from < to; from += kCacheLine) __builtin_prefetch(from);
    };
    prefetch(batch.ids);
    batch.values.narrow != nullptr ? prefetch(batch.values.narrow) : prefetch(batch.values.wide);
}

// Loads the lesson's rows in their order and calls learn(ids, n, row, importance) for each, up to the first fault.
template <class Id, class Learn>
Fault for_each_row(const CsrBatch<Id>& batch, std::int64_t n_features, const Lesson& lesson, const RowOptions& options,
                   RowBuffer& buffer, Learn learn) {
    std::vector<Id> others;
    for (std::size_t k = lesson.begin; k < lesson.end; ++k) {
        const std::size_t r = lesson.order != nullptr ? static_cast<std::size_t>(lesson.order[k]) : k;
        if (lesson.order != nullptr && k + 1 < lesson.end)
            prefetch_row(batch, static_cast<std::size_t>(lesson.order[k + 1]));
        if (lesson.check) {
            const Fault fault = row_fault(batch, r, n_features, options.norm);
            if (fault.kind != Fault::Kind::none) return fault;
        }
        const double importance = lesson.row_weights != nullptr ? lesson.row_weights[r] : 1.0;
        if (importance == 0.0) continue;
        const LoadedRow row = load_row(batch, r, options, buffer, others);
        learn(row.ids, row.n, r, importance);
    }
    return {};
}

}  // namespace thresher
