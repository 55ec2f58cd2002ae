// Buffers that are reused. A reader needs a few megabytes for each piece of text and frees them soon after. With memory
// fresh from the system each page would cost a page fault, together a fifth of the time that parsing takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "thresher/fork_safe_mutex.hpp"

namespace thresher {

// AddressSanitizer must see where a buffer ends and when it is given back, so every buffer is new and has no slack
// there.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kRecycles = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kRecycles = false;
#else
inline constexpr bool kRecycles = true;
#endif
#else
inline constexpr bool kRecycles = true;
#endif

class RecycledBuffer {
  public:
    RecycledBuffer() = default;
    explicit RecycledBuffer(std::size_t bytes) { *this = free_list().take(bytes); }
    RecycledBuffer(RecycledBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    RecycledBuffer& operator=(RecycledBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~RecycledBuffer() {
        if (data_ != nullptr) free_list().give(data_, bytes_);
    }

    void* data() const { return data_; }

  private:
    class FreeList {
      public:
        // The smallest free buffer that is large enough, but not one so large that most of it would stay unused.
        RecycledBuffer take(std::size_t bytes) {
            RecycledBuffer buffer;
            if (kRecycles) {
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
            buffer.bytes_ = kRecycles ? std::max<std::size_t>(bytes + bytes / 8, 4096) : bytes;
            buffer.data_ = std::malloc(std::max<std::size_t>(buffer.bytes_, 1));
            if (buffer.data_ == nullptr) throw std::bad_alloc();
            return buffer;
        }

        void give(void* data, std::size_t bytes) noexcept {
            if (!kRecycles) return std::free(data);
            std::lock_guard lock(mutex_);
            if (idle_ + bytes > kMostIdle || free_.size() == free_.capacity()) return std::free(data);
            free_.push_back({data, bytes});
            idle_ += bytes;
        }

        FreeList() { free_.reserve(64); }

      private:
        static constexpr std::size_t kMostIdle = std::size_t{1} << 25;
        ForkSafeMutex mutex_;
        std::vector<std::pair<void*, std::size_t>> free_;
        std::size_t idle_ = 0;
    };

    // Never destroyed: numpy arrays may outlive every other object at the end of a program.
    static FreeList& free_list() {
        static FreeList* shared = new FreeList;
        return *shared;
    }

    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace thresher
