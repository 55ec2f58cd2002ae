// A CSR batch, one row of it at work, and the check that a row is fit to learn from.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "thresher/simd.hpp"

namespace thresher {

// Values as the user has them. float64 is rounded to float32 row by row, so that no copy of the matrix is made.
struct Values {
    const float* narrow = nullptr;
    const double* wide = nullptr;
};

// Rows `starts[r] … starts[r + 1]` of ids, strictly ascending within a row, and their values.
template <class Id>
struct CsrBatch {
    const Id* starts;
    const Id* ids;
    Values values;
    std::size_t n_rows;
};

enum class Norm { none, l2 };

// With norm = none a value's square goes into the float32 precision as it is, so it must leave room to add up.
inline constexpr float kLargestRawValue = 1e18f;

// One row at work, as a learner sees it: its values and, beside each, the state of its feature. A plane is one
// contiguous array; every plane is padded with zeros to whole blocks of 16, which add nothing to a sum, so that no loop
// has a tail.
class Row {
  public:
    // State, and what a step needs to note: planes 1 … kPlanes of a row, or of each class of a row.
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

// Room for a row: x, and the planes of each of its classes (one, where there are two classes).
class RowBuffer {
  public:
    explicit RowBuffer(std::size_t n_classes = 1) : n_planes_(1 + n_classes * Row::kPlanes) {}

    std::size_t size() const { return size_; }
    std::size_t blocks() const { return padded(size_); }
    float* x() { return planes_.get(); }
    Row row(std::size_t k = 0) { return {x(), planes_.get() + (1 + k * Row::kPlanes) * capacity_, capacity_, size_}; }

    void resize(std::size_t n) {
        if (padded(n) > capacity_) reserve(padded(n));
        size_ = n;
    }

  private:
    struct Free {
        void operator()(float* p) const { std::free(p); }
    };

    [[gnu::noinline]] void reserve(std::size_t n) {
        const std::size_t capacity = n + n / 2 / kLanes * kLanes;
        float* planes = static_cast<float*>(std::aligned_alloc(64, n_planes_ * capacity * sizeof(float)));
        if (planes == nullptr) throw std::bad_alloc();
        planes_.reset(planes);
        capacity_ = capacity;
    }

    std::unique_ptr<float[], Free> planes_;
    std::size_t n_planes_;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
};

// Writes a row's values to plane x, scaled to unit length where the norm asks for it (an all-zero row stays as it is),
// followed by the intercept's 1 if there is one. Returns with buffer.size() = n, or n + 1 with the intercept.
THRESHER_INLINE void load_values(const Values& values, std::size_t begin, std::size_t n, Norm norm, bool intercept,
                                 RowBuffer& buffer) {
    buffer.resize(n + (intercept ? 1 : 0));
    float* __restrict x = buffer.x();
    if (values.narrow != nullptr) {
        const float* __restrict from = values.narrow + begin;
        for (std::size_t i = 0; i < n; ++i) x[i] = from[i];
    } else {
        const double* __restrict from = values.wide + begin;
        for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(from[i]);
    }
    const std::size_t blocks = buffer.blocks();
    for (std::size_t i = n; i < blocks; ++i) x[i] = 0.0f;
    if (norm == Norm::l2) {
        LaneSum squares;
        for (std::size_t i = 0; i < blocks; i += kLanes)
#pragma omp simd
            for (std::size_t k = 0; k < kLanes; ++k)
                squares.lane[k] += static_cast<double>(x[i + k]) * static_cast<double>(x[i + k]);
        const double length = std::sqrt(squares.total());
        if (length > 0.0) {
            const double scale = 1.0 / length;
            for (std::size_t i = 0; i < blocks; ++i) x[i] = static_cast<float>(static_cast<double>(x[i]) * scale);
        }
    }
    if (intercept) x[n] = 1.0f;
}

// Why a row can't be learned, and where. `unsorted` also stands for a repeated id: both are mended by sorting.
struct Fault {
    enum class Kind { none, not_finite, too_large, negative_id, id_too_large, unsorted };
    Kind kind = Kind::none;
    std::int64_t row = 0;
    std::int64_t id = 0;
    double value = 0.0;
};

// The slow half of `row_fault`: it knows that something is wrong and finds the first thing that is.
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
    // An id out of range is the graver fault: sorting would not mend it.
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

// Ids strictly ascending in [0, n_features), values finite: one branch-free look over the row.
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
