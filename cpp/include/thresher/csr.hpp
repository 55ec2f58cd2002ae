// Rows in CSR, as they come from the user or a reader, and the check that they can be learned.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "thresher/simd.hpp"

namespace thresher {

// The values of a batch, in the type that the user has them in. float64 is rounded to float32 row by row, so the matrix
// is never copied.
struct Values {
    const float* narrow = nullptr;
    const double* wide = nullptr;
};

// Row r has the ids and values at positions starts[r] … starts[r + 1] - 1. Ids are strictly ascending within a row.
template <class Id>
struct CsrBatch {
    const Id* starts;
    const Id* ids;
    Values values;
    std::size_t n_rows;
};

// Whether the starts of rows rise from 0 or more to at most the number of ids and values that are there. All else that
// is done with a batch relies on it.
template <class Id>
bool starts_fit(const CsrBatch<Id>& batch, std::size_t n_values) {
    bool bad = batch.starts[0] < 0;
    for (std::size_t r = 0; r < batch.n_rows; ++r) bad |= batch.starts[r + 1] < batch.starts[r];
    return !bad && static_cast<std::uint64_t>(batch.starts[batch.n_rows]) <= n_values;
}

enum class Norm { none, l2 };

// With norm = none the square of a value is added to a float32 precision, so it must stay far below float32's limit.
inline constexpr float kLargestRawValue = 1e18f;

// Why a row can't be learned, and where. `unsorted` also covers a repeated id: sorting and summing fixes both.
struct Fault {
    enum class Kind { none, not_finite, too_large, negative_id, id_too_large, unsorted };
    Kind kind = Kind::none;
    std::int64_t row = 0;
    std::int64_t id = 0;
    double value = 0.0;
};

// The slow half of `row_fault`: something in the row is wrong, and this finds the first thing that is.
template <class Id>
[[gnu::noinline]] Fault name_fault(const CsrBatch<Id>& batch, std::size_t r, std::int64_t n_features, Norm norm) {
    Fault fault;
    fault.row = static_cast<std::int64_t>(r);
    const auto begin = static_cast<std::size_t>(batch.starts[r]), end = static_cast<std::size_t>(batch.starts[r + 1]);
    auto found = [&](Fault::Kind kind, std::size_t i) {
        fault.kind = kind;
        fault.id = static_cast<std::int64_t>(batch.ids[i]);
        fault.value =
            batch.values.narrow != nullptr ? static_cast<double>(batch.values.narrow[i]) : batch.values.wide[i];
    };
    // An id out of range is the more serious fault: sorting would not fix it.
    for (std::size_t i = begin; i < end; ++i) {
        if (batch.ids[i] < 0) return found(Fault::Kind::negative_id, i), fault;
        if (static_cast<std::int64_t>(batch.ids[i]) >= n_features) return found(Fault::Kind::id_too_large, i), fault;
    }
    for (std::size_t i = begin + 1; i < end; ++i)
        if (batch.ids[i] <= batch.ids[i - 1]) return found(Fault::Kind::unsorted, i), fault;
    for (std::size_t i = begin; i < end; ++i) {
        found(Fault::Kind::not_finite, i);
        const double size = std::fabs(fault.value);
        if (!std::isfinite(fault.value)) return fault;
        fault.kind = Fault::Kind::too_large;
        if (!std::isfinite(static_cast<float>(fault.value))) return fault;
        if (norm == Norm::none && size > static_cast<double>(kLargestRawValue)) return fault;
    }
    fault.kind = Fault::Kind::none;
    return fault;
}

// Checks that ids are strictly ascending in [0, n_features) and values finite, without a branch per nonzero.
template <class Id>
THRESHER_INLINE Fault row_fault(const CsrBatch<Id>& batch, std::size_t r, std::int64_t n_features, Norm norm) {
    const auto begin = static_cast<std::size_t>(batch.starts[r]), end = static_cast<std::size_t>(batch.starts[r + 1]);
    if (begin == end) return {};
    const Id* __restrict ids = batch.ids;
    int bad = (ids[begin] < 0) | (static_cast<std::int64_t>(ids[end - 1]) >= n_features);
    for (std::size_t i = begin + 1; i < end; ++i) bad |= ids[i] <= ids[i - 1];
    const float limit = norm == Norm::none ? kLargestRawValue : 3.4028234663852886e38f;
    if (batch.values.narrow != nullptr) {
        const float* __restrict x = batch.values.narrow;
        for (std::size_t i = begin; i < end; ++i) bad |= !(std::fabs(x[i]) <= limit);
    } else {
        const double* __restrict x = batch.values.wide;
        for (std::size_t i = begin; i < end; ++i) bad |= !(std::fabs(static_cast<float>(x[i])) <= limit);
    }
    if (bad == 0) return {};
    return name_fault(batch, r, n_features, norm);
}

// The first fault of a batch, or none.
template <class Id>
Fault batch_fault(const CsrBatch<Id>& batch, std::int64_t n_features, Norm norm) {
    Fault fault;
    run(simd_in_use(), [&]() __attribute__((always_inline)) {
        for (std::size_t r = 0; r < batch.n_rows && fault.kind == Fault::Kind::none; ++r)
            fault = row_fault(batch, r, n_features, norm);
    });
    return fault;
}

}  // namespace thresher
