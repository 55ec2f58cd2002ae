// Buffers that are used again. A reader needs a few megabytes for each piece of text and gives them back a moment
// later; fresh from the system, every page of them would cost a fault, a fifth of the time that parsing takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace thresher {

class PooledBuffer {
  public:
    PooledBuffer() = default;
    explicit PooledBuffer(std::size_t bytes) { *this = pool().take(bytes); }
    PooledBuffer(PooledBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    PooledBuffer& operator=(PooledBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~PooledBuffer() {
        if (data_ != nullptr) pool().give(data_, bytes_);
    }

    void* data() const { return data_; }

  private:
    class Pool {
      public:
        // The smallest free buffer that is large enough, and not so large that most of it would lie idle.
        PooledBuffer take(std::size_t bytes) {
            PooledBuffer buffer;
            {
                std::lock_guard lock(mutex_);
                auto best = free_.end();
                for (auto it = free_.begin(); it != free_.end(); ++it)
                    if (it->second >= bytes && it->second / 4 <= bytes &&
                        (best == free_.end() || it->second < best->second))
                        best = it;
                if (best != free_.end()) {
                    buffer.data_ = best->first, buffer.bytes_ = best->second;
                    idle_ -= best->second;
                    free_.erase(best);
                    return buffer;
                }
            }
            buffer.bytes_ = std::max<std::size_t>(bytes + bytes / 8, 4096);
            buffer.data_ = std::malloc(buffer.bytes_);
            if (buffer.data_ == nullptr) throw std::bad_alloc();
            return buffer;
        }

        void give(void* data, std::size_t bytes) noexcept {
            std::lock_guard lock(mutex_);
            if (idle_ + bytes > kMostIdle || free_.size() == free_.capacity()) return std::free(data);
            free_.push_back({data, bytes});
            idle_ += bytes;
        }

        Pool() { free_.reserve(64); }

      private:
        static constexpr std::size_t kMostIdle = std::size_t{1} << 25;
        std::mutex mutex_;
        std::vector<std::pair<void*, std::size_t>> free_;
        std::size_t idle_ = 0;
    };

    // Never destroyed: arrays may outlive everything else at the end of a program.
    static Pool& pool() {
        static Pool* shared = new Pool;
        return *shared;
    }

    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace thresher
