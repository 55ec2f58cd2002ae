// Zeroed memory that costs nothing until it is written to, and grows without copying.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace thresher {

class ZeroPages {
  public:
    ZeroPages() = default;
    ZeroPages(ZeroPages&& other) noexcept { swap(other); }
    ZeroPages& operator=(ZeroPages&& other) noexcept {
        ZeroPages(std::move(other)).swap(*this);
        return *this;
    }
    ~ZeroPages() { release(data_, bytes_); }

    void swap(ZeroPages& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(huge_, other.huge_);
    }

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    // Keeps the content; new bytes are zero. If memory is short it throws std::bad_alloc and changes nothing.
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
        if (huge_) use_huge_pages();
    }

    // Huge pages cut the cost of a random access to a quarter, but the first write then takes 2 MiB instead of 4 KiB.
    // Existing small pages are collapsed if there is memory for the whole region.
    void use_huge_pages() {
        huge_ = true;
#if defined(__linux__)
        madvise(data_, bytes_, MADV_HUGEPAGE);
        if (bytes_ < free_memory()) madvise(data_, bytes_, kCollapse);
#endif
    }
    bool uses_huge_pages() const { return huge_; }

    // Gives back the memory of the first bytes, which are no longer needed; how many were given back already is
    // `before`.
    void discard(std::size_t before, std::size_t bytes) {
#if defined(__linux__)
        before = before / kHugePage * kHugePage;
        bytes = bytes / kHugePage * kHugePage;
        if (bytes > before) madvise(static_cast<char*>(data_) + before, bytes - before, MADV_DONTNEED);
#endif
    }

  private:
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;
    // MADV_COLLAPSE of Linux 6.1: older kernels refuse it, older headers lack the name.
    static constexpr int kCollapse = 25;

    // Address space that starts at a multiple of a huge page: mapped with one page to spare, then trimmed.
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

#if defined(__linux__)
    static std::size_t free_memory() {
        return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    }
#endif

    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    bool huge_ = false;
};

}  // namespace thresher
