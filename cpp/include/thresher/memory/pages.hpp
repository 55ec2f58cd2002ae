// Zeroed memory that costs nothing until it is touched, and grows without copying.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace thresher {

class ZeroPages {
  public:
    ZeroPages() = default;
    ZeroPages(const ZeroPages&) = delete;
    ZeroPages& operator=(const ZeroPages&) = delete;
    ~ZeroPages() { release(data_, bytes_); }

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    // Keeps the content; what is new reads as zero. Throws std::bad_alloc, and changes nothing, if there is no room.
    void grow(std::size_t bytes) {
        bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
        if (bytes <= bytes_) return;
        void* larger = reserve(bytes);
        if (bytes_ > 0) {
#if defined(__linux__)
            // Moves page tables, not bytes: an untouched page stays untouched.
            if (mremap(data_, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, larger) == MAP_FAILED) {
                release(larger, bytes);
                throw std::bad_alloc();
            }
#else
            std::memcpy(larger, data_, bytes_);
            release(data_, bytes_);
#endif
        }
        data_ = larger;
        bytes_ = bytes;
        if (huge_ || bytes_ <= kSmall) advise_huge();
    }

    // Huge pages quarter the cost of a random access, but one touch then takes 2 MiB instead of 4 KiB. They are asked
    // for when they can no longer cost more than small pages might: once so many features were touched that, spread at
    // random, they would have brought in every small page.
    void touched(std::uint64_t n_features) {
        if (!huge_ && n_features >= bytes_ / kSmallPage) advise_huge();
    }

  private:
    static constexpr std::size_t kSmallPage = 4096;
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;
    static constexpr std::size_t kSmall = std::size_t{1} << 26;

    // A reservation that starts at a multiple of a huge page: mapped with one page to spare, then trimmed.
    static void* reserve(std::size_t bytes) {
        if (bytes > SIZE_MAX - kHugePage) throw std::bad_alloc();
        int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
        flags |= MAP_NORESERVE;
#endif
        void* mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (mapped == MAP_FAILED) throw std::bad_alloc();
        char* begin = static_cast<char*>(mapped);
        const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
        release(begin, before);
        release(begin + before + bytes, kHugePage - before);
        return begin + before;
    }

    static void release(void* data, std::size_t bytes) {
        if (bytes > 0) munmap(data, bytes);
    }

    void advise_huge() {
        huge_ = true;
#if defined(MADV_HUGEPAGE)
        madvise(data_, bytes_, MADV_HUGEPAGE);
#endif
    }

    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    bool huge_ = false;
};

}  // namespace thresher
