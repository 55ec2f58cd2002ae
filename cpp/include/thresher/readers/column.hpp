// Columns of numbers that readers fill and hand to numpy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "thresher/readers/recycled_buffer.hpp"

namespace thresher {

// An array that is filled from the front. A reader makes room first, for all that its text can hold or for a row at a
// time, so that no push has to look.
template <class T>
class Column {
  public:
    explicit Column(std::size_t capacity) : buffer_(capacity * sizeof(T)), capacity_(capacity) {}
    // Makes room for n more items.
    void ensure(std::size_t n) {
        if (n <= capacity_ - size_) return;
        const std::size_t capacity = std::max(size_ + n, 2 * capacity_);
        RecycledBuffer larger(capacity * sizeof(T));
        if (size_ > 0) std::memcpy(larger.data(), buffer_.data(), size_ * sizeof(T));
        buffer_ = std::move(larger);
        capacity_ = capacity;
    }
    void push(T item) {
#if defined(THRESHER_CHECKED)
        // Buffers have slack, which would hide a reader's wrong estimate from the sanitizers.
        if (size_ == capacity_) std::abort();
#endif
        data()[size_++] = item;
    }
    // Counts n items that were written behind the last one.
    void grow(std::size_t n) {
#if defined(THRESHER_CHECKED)
        if (n > capacity_ - size_) std::abort();
#endif
        size_ += n;
    }
    // Copies n items behind the last one; returns where they begin.
    std::size_t append(const T* items, std::size_t n) {
        ensure(n);
        if (n > 0) std::memcpy(data() + size_, items, n * sizeof(T));
        return std::exchange(size_, size_ + n);
    }
    void cut(std::size_t size) { size_ = size; }
    std::size_t size() const { return size_; }
    T* data() const { return static_cast<T*>(buffer_.data()); }
    RecycledBuffer release() { return std::move(buffer_); }

  private:
    RecycledBuffer buffer_;
    std::size_t capacity_;
    std::size_t size_ = 0;
};

}  // namespace thresher
