// Rows in CSR, as they come from the user or a reader, and the check that they can be learned.
#pragma once

#include <algorithm>
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

// The ids of a row's features, in the type that the batch has them in.
struct Ids {
    const std::int32_t* narrow = nullptr;
    const std::int64_t* wide = nullptr;

    explicit Ids(const std::int32_t* ids) : narrow(ids) {}
    explicit Ids(const std::int64_t* ids) : wide(ids) {}

    std::int64_t operator[](std::size_t i) const { return narrow != nullptr ? narrow[i] : wide[i]; }

    // Calls visit(ids) with the ids in their own type.
    template <class Visit>
    auto visit(Visit visit) const {
        return narrow != nullptr ? visit(narrow) : visit(wide);
    }

    // How many of n ids, in ascending order, are below a limit.
    std::size_t count_below(std::int64_t limit, std::size_t n) const {
        return visit(
            [&](const auto* ids) { return static_cast<std::size_t>(std::lower_bound(ids, ids + n, limit) - ids); });
    }
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

enum class Norm { none, l2, mean };  // mean: by the mean length of rows, which the selector keeps

// Unless rows have unit length, the square of a value is added to a float32 precision, so it must stay far below
// float32's limit.
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
        if (norm != Norm::l2 && size > static_cast<double>(kLargestRawValue)) return fault;
    }
    fault.kind = Fault::Kind::none;
    return fault;
}

// Whether n ids are not strictly ascending.
template <class Id>
THRESHER_KERNEL bool not_ascending(const Id* ids, std::size_t n) {
    return run([=]() __attribute__((always_inline)) {
        int bad = 0;
        for (std::size_t i = 1; i < n; ++i) bad |= ids[i] <= ids[i - 1];
        return bad != 0;
    });
}

// Whether some of n values, as float32, are not finite or above the limit.
template <class Value>
THRESHER_KERNEL bool not_within(float limit, const Value* values, std::size_t n) {
    return run([=]() __attribute__((always_inline)) {
        int bad = 0;
        for (std::size_t i = 0; i < n; ++i) bad |= !(std::fabs(static_cast<float>(values[i])) <= limit);
        return bad != 0;
    });
}

// Checks that ids are strictly ascending in [0, n_features) and values finite, without a branch per nonzero.
template <class Id>
Fault row_fault(const CsrBatch<Id>& batch, std::size_t r, std::int64_t n_features, Norm norm) {
    const auto begin = static_cast<std::size_t>(batch.starts[r]);
    const std::size_t n = static_cast<std::size_t>(batch.starts[r + 1]) - begin;
    if (n == 0) return {};
    const Id* ids = batch.ids + begin;
    const float limit = norm != Norm::l2 ? kLargestRawValue : 3.4028234663852886e38f;
    const bool bad = ids[0] < 0 || static_cast<std::int64_t>(ids[n - 1]) >= n_features || not_ascending(ids, n) ||
                     (batch.values.narrow != nullptr ? not_within(limit, batch.values.narrow + begin, n)
                                                     : not_within(limit, batch.values.wide + begin, n));
    if (!bad) return {};
    return name_fault(batch, r, n_features, norm);
}

// The first fault of a batch, or none.
template <class Id>
Fault batch_fault(const CsrBatch<Id>& batch, std::int64_t n_features, Norm norm) {
    Fault fault;
    for (std::size_t r = 0; r < batch.n_rows && fault.kind == Fault::Kind::none; ++r)
        fault = row_fault(batch, r, n_features, norm);
    return fault;
}

}  // namespace thresher
