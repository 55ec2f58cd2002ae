// One row at work: its values and the planes of state that a learner reads and writes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "thresher/csr.hpp"
#include "thresher/mean_length.hpp"
#include "thresher/platform.hpp"
#include "thresher/simd.hpp"

namespace thresher {

// The intercept's x in every row. Beside rows of unit length, 1 would take too large steps.
inline constexpr float kInterceptValue = 0.3f;

// What happens to a row before a learner sees it.
struct RowOptions {
    Norm norm;
    bool fit_intercept;
};

// What a learner sees of a row: plane 0 holds its values x, the other planes the state of its features and what a step
// needs to note. A plane is one contiguous array, padded with zeros to whole blocks of 16: zeros add nothing to a sum,
// and no loop has a tail.
class Row {
  public:
    // Planes 1 … kPlanes; with more than two classes, of each class.
    static constexpr std::size_t kPlanes = 4;

    Row(float* x, float* planes, std::size_t stride, std::size_t size)
        : x_(x), planes_(planes), stride_(stride), size_(size) {}

    std::size_t size() const { return size_; }
    std::size_t blocks() const { return padded(size_); }
    float* x() const { return x_; }
    float* plane(std::size_t k) const { return planes_ + (k - 1) * stride_; }

  private:
    float* x_;
    float* planes_;
    std::size_t stride_, size_;
};

// The memory behind a row: its values, scaled and raw, and the planes of each of its weight vectors (one for two
// classes, else one per class).
class RowBuffer {
  public:
    explicit RowBuffer(std::size_t n_vectors = 1) : n_planes_(2 + n_vectors * Row::kPlanes) {}

    std::size_t size() const { return size_; }
    std::size_t blocks() const { return padded(size_); }
    float* x() { return planes_.get(); }
    // The values as the row has them, before they were scaled; without the intercept.
    float* raw() { return planes_.get() + capacity_; }
    Row row(std::size_t k = 0) { return {x(), planes_.get() + (2 + k * Row::kPlanes) * capacity_, capacity_, size_}; }

    void resize(std::size_t n) {
        if (padded(n) > capacity_) reserve(padded(n));
        size_ = n;
    }

  private:
    [[gnu::noinline]] void reserve(std::size_t n) {
        const std::size_t capacity = n + n / 2 / kLanes * kLanes;
        planes_ = aligned_floats(n_planes_ * capacity);
        capacity_ = capacity;
    }

    std::unique_ptr<float[], Free> planes_;
    std::size_t n_planes_;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
};

// Moves the values that are not 0 together, and their ids to `others`; returns how many there are.
template <class Id>
[[gnu::noinline]] std::size_t without_zeros(const Id* ids, std::size_t n, float* x, std::vector<Id>& others) {
    others.resize(n);
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (x[i] == 0.0f) continue;
        others[n_left] = ids[i];
        x[n_left++] = x[i];
    }
    return n_left;
}

// The features of a row that was loaded.
struct LoadedRow {
    Ids ids;
    std::size_t n;
};

// Copies n values to x, as float32; returns whether there is a zero among them.
template <class Value>
THRESHER_KERNEL bool copy_values(const Value* values, std::size_t n, float* to) {
    return run([=]() __attribute__((always_inline)) {
        const Value* __restrict from = values;
        float* __restrict x = to;
        std::int32_t has_zero = 0;
#pragma omp simd reduction(| : has_zero)
        for (std::size_t i = 0; i < n; ++i) {
            x[i] = static_cast<float>(from[i]);
            has_zero |= x[i] == 0.0f;
        }
        return has_zero != 0;
    });
}

// In these three n is a multiple of 16.
THRESHER_INLINE double length_of(const float* __restrict values, std::size_t n) {
    LaneSum squares;
    for (std::size_t i = 0; i < n; i += kLanes)
#pragma omp simd
        for (std::size_t k = 0; k < kLanes; ++k)
            squares.lane[k] += static_cast<double>(values[i + k]) * static_cast<double>(values[i + k]);
    return std::sqrt(squares.total());
}
THRESHER_INLINE void copy_scaled(const float* __restrict values, std::size_t n, double scale, float* __restrict x) {
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(static_cast<double>(values[i]) * scale);
}

// Copies values to x, scaled to unit length; all zeros stay zeros.
THRESHER_KERNEL inline void scale_to_unit_length(const float* values, std::size_t n, float* x) {
    run([=]() __attribute__((always_inline)) {
        const double length = length_of(values, n);
        copy_scaled(values, n, length > 0.0 ? 1.0 / length : 0.0, x);
    });
}

// Copies values to x, divided by a mean length, in which this row counts if it is learned. One that is predicted can be
// too long for float32 beside those that were learned: its values are cut off.
THRESHER_KERNEL inline void scale_by_mean(const float* values, std::size_t n, MeanLength& lengths, bool is_learned,
                                          float* x) {
    run([=, &lengths]() __attribute__((always_inline)) {
        if (is_learned) lengths.add(length_of(values, n));
        const double scale = lengths.scale();
        constexpr double limit = static_cast<double>(kLargestRawValue);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = static_cast<float>(std::clamp(static_cast<double>(values[i]) * scale, -limit, limit));
    });
}

// Writes row r's values to the raw plane, and to plane x, scaled to unit length if the norm is l2, followed by the
// intercept's value if there is one. After it buffer.size() is n, or n + 1 with the intercept. Zeros that are stored
// are left out, with their ids: the places of the others decide how sums are rounded. The ids that are left are then in
// `others`.
template <class Id>
LoadedRow load_row(const CsrBatch<Id>& batch, std::size_t r, const RowOptions& options, RowBuffer& buffer,
                   std::vector<Id>& others) {
    const auto begin = static_cast<std::size_t>(batch.starts[r]);
    const Id* ids = batch.ids + begin;
    std::size_t n = static_cast<std::size_t>(batch.starts[r + 1]) - begin;
    const bool intercept = options.fit_intercept;
    buffer.resize(n + (intercept ? 1 : 0));
    float* raw = buffer.raw();
    const bool has_zero = batch.values.narrow != nullptr ? copy_values(batch.values.narrow + begin, n, raw)
                                                         : copy_values(batch.values.wide + begin, n, raw);
    if (has_zero) [[unlikely]] {
        n = without_zeros(ids, n, raw, others);
        ids = others.data();
        buffer.resize(n + (intercept ? 1 : 0));
    }
    const std::size_t blocks = buffer.blocks();
    for (std::size_t i = n; i < blocks; ++i) raw[i] = 0.0f;
    float* x = buffer.x();
    if (options.norm == Norm::l2)
        scale_to_unit_length(raw, blocks, x);
    else
        std::copy_n(raw, blocks, x);
    if (intercept) x[n] = kInterceptValue;
    return {Ids(ids), n};
}

// Which rows of a batch to score: rows begin … end - 1 or, where there is an `order`, order[begin] … order[end - 1].
struct RowRange {
    std::size_t begin, end;
    const std::int64_t* order = nullptr;
};

// Loads rows and calls score(ids, n, k) for the k-th of them.
template <class Id, class Score>
void for_each_row(const CsrBatch<Id>& batch, const RowRange& rows, const RowOptions& options, RowBuffer& buffer,
                  Score score) {
    std::vector<Id> others;
    for (std::size_t k = rows.begin; k < rows.end; ++k) {
        const std::size_t r = rows.order != nullptr ? static_cast<std::size_t>(rows.order[k]) : k;
        const LoadedRow row = load_row(batch, r, options, buffer, others);
        score(row.ids, row.n, k - rows.begin);
    }
}

}  // namespace thresher
