// Zeroed memory that costs nothing until it is written to, and grows without copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "thresher/platform.hpp"

namespace thresher {

class ZeroPages {
  public:
    ZeroPages() = default;
    ZeroPages(ZeroPages&& other) noexcept { swap(other); }
    ZeroPages& operator=(ZeroPages&& other) noexcept {
        ZeroPages(std::move(other)).swap(*this);
        return *this;
    }
    ~ZeroPages() { unmap(data_, bytes_); }

    void swap(ZeroPages& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(huge_, other.huge_);
    }

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    // How many bytes a region of at least this many has.
    static std::size_t whole_pages(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

    // Keeps the content; new bytes are zero. If memory is short it throws std::bad_alloc and changes nothing.
    void grow(std::size_t bytes) {
        bytes = whole_pages(bytes);
        if (bytes <= bytes_) return;
        void* larger = reserve(bytes);
        if (bytes_ > 0 && !move_pages(data_, bytes_, larger, bytes)) throw std::bad_alloc();
        data_ = larger;
        huge_ = huge_ && bytes <= 2 * bytes_;
        bytes_ = bytes;
        huge_ ? ask_for_huge_pages(data_, bytes_) : ask_for_small_pages(data_, bytes_);
    }

    // Huge pages cut the cost of a random access to a quarter, but the first write then takes 2 MiB instead of 4 KiB
    // and 0.1 ms: only where half of the region is about to be used, so that small models stay small. Existing small
    // pages are collapsed if there is memory for the whole region.
    void use_huge_pages(std::size_t bytes_in_use) {
        if (2 * bytes_in_use < bytes_) return;
        huge_ = true;
        ask_for_huge_pages(data_, bytes_);
    }
    bool uses_huge_pages() const { return huge_; }

    // Gives back the memory of the first bytes, which are no longer needed; how many were given back already is
    // `before`.
    void discard(std::size_t before, std::size_t bytes) {
        before = before / kHugePage * kHugePage;
        bytes = bytes / kHugePage * kHugePage;
        if (bytes > before) give_back(static_cast<char*>(data_) + before, bytes - before);
    }

  private:
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;

    // Address space that starts at a multiple of a huge page: mapped with one page to spare, then trimmed.
    static void* reserve(std::size_t bytes) {
        if (bytes > SIZE_MAX - kHugePage) throw std::bad_alloc();
        char* begin = static_cast<char*>(map_zeros(bytes + kHugePage));
        const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
        unmap(begin, before);
        unmap(begin + before + bytes, kHugePage - before);
        return begin + before;
    }

    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    bool huge_ = false;
};

}  // namespace thresher
