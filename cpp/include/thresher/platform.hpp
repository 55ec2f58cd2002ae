// What differs between operating systems and standard libraries, and what is used where something is missing: memory
// pages, aligned memory, secrets, and decimal numbers.
//
//   pages      Linux moves, collapses and gives back pages; elsewhere POSIX is enough, and copies them
//   decimals   libc++ has no std::from_chars for float64; here are strtod and printf whatever the locale
#pragma once

#if defined(__APPLE__)
#include <xlocale.h>
#endif
#include <locale.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <version>

#include "thresher/splitmix.hpp"

namespace thresher {

// Address space of zeros, of which a page takes memory when it is first written to.
inline void* map_zeros(std::size_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
    flags |= MAP_NORESERVE;
#endif
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return mapped;
}

inline void unmap(void* data, std::size_t bytes) {
    if (bytes > 0) munmap(data, bytes);
}

// Moves what was mapped to a place of new_bytes ≥ bytes that map_zeros gave; zeros follow it there. If memory is short
// it returns false: what was mapped is as before, and the other place is unmapped.
inline bool move_pages(void* from, std::size_t bytes, void* to, [[maybe_unused]] std::size_t new_bytes) {
#if defined(__linux__)
    // Moves page tables, not bytes: an untouched page stays untouched. Moved and extended in one step it stays a single
    // mapping, and before 6.17 Linux can't move more than one.
    return mremap(from, bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
#else
    std::memcpy(to, from, bytes);
    munmap(from, bytes);
    return true;
#endif
}

// Asks for small pages, also where Linux is set up to give huge ones to everybody.
inline void ask_for_small_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    madvise(data, bytes, MADV_NOHUGEPAGE);
#endif
}

// Asks for huge pages, also for what is in small pages now if there is memory for all of it.
inline void ask_for_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    constexpr int kCollapse = 25;  // MADV_COLLAPSE of Linux 6.1: older kernels refuse it, older headers lack the name
    const auto free_memory =
        static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    madvise(data, bytes, MADV_HUGEPAGE);
    if (bytes < free_memory) madvise(data, bytes, kCollapse);
#endif
}

// Gives back the memory of pages whose content is no longer needed.
inline void give_back([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    madvise(data, bytes, MADV_DONTNEED);
#endif
}

struct Free {
    void operator()(void* data) const { std::free(data); }
};

// Floats that start at a cache line.
inline std::unique_ptr<float[], Free> aligned_floats(std::size_t n) {
    void* data = nullptr;
    if (posix_memalign(&data, 64, n * sizeof(float)) != 0) throw std::bad_alloc();
    return std::unique_ptr<float[], Free>(static_cast<float*>(data));
}

// Bits that nobody outside of the process knows.
inline std::uint64_t secret_bits() {
    try {
        std::random_device device;
        return std::uint64_t{device()} << 32 | device();
    } catch (const std::exception&) {
        // There is no source of random bits. The time and where the system has put the stack are hard to guess too.
        const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
        return mix(now ^ std::rotl(reinterpret_cast<std::uintptr_t>(&now), 32));
    }
}

// While it lives, this thread's strtod and printf write a point where the user's locale may have a comma.
class PlainLocale {
  public:
    PlainLocale() : before_(uselocale(plain())) {}
    PlainLocale(const PlainLocale&) = delete;
    ~PlainLocale() { uselocale(before_); }

  private:
    static locale_t plain() {
        static const locale_t locale = newlocale(LC_ALL_MASK, "C", locale_t{});
        return locale;
    }
    locale_t before_;
};

// The number that a text starts with, as C's strtod reads it, and how many bytes it takes: 0 if there is none.
struct StartingNumber {
    double value;
    std::size_t bytes;
};
inline StartingNumber starting_number(std::string_view text) {
    const std::string copy(text);
    const PlainLocale locale;
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    return {value, static_cast<std::size_t>(end - copy.c_str())};
}

// The value of a decimal number without a sign, such as 12.5e-3, rounded to the nearest float64; infinite if it is too
// large for one.
inline double decimal_value(std::string_view number) {
#if defined(__cpp_lib_to_chars)
    double value = 0.0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc()) return value;
    // Too large, or so small that it is 0 or nearly 0: strtod knows which.
#endif
    return starting_number(number).value;
}

// Room for any float32 with the fewest digits that read back as the same one.
inline constexpr std::size_t kFloatBytes = 16;

// What std::to_chars writes, without it: of the shortest forms with and without an exponent, the shorter one. Where the
// value is a power of two it may have one digit more.
inline char* write_float_with_printf(char* to, float value) {
    const PlainLocale locale;
    if (!std::isfinite(value)) return to + std::snprintf(to, kFloatBytes, "%g", static_cast<double>(value));
    char scientific[24], fixed[64];
    int n_scientific = 0, digits = 0;
    for (; digits < 9; ++digits) {
        n_scientific = std::snprintf(scientific, sizeof(scientific), "%.*e", digits, static_cast<double>(value));
        if (std::strtof(scientific, nullptr) == value) break;
    }
    const int exponent = static_cast<int>(std::strtol(std::strchr(scientific, 'e') + 1, nullptr, 10));
    const int n_decimals = digits > exponent ? digits - exponent : 0;
    const int n_fixed = std::snprintf(fixed, sizeof(fixed), "%.*f", n_decimals, static_cast<double>(value));
    const bool is_fixed = n_fixed <= n_scientific;
    const auto n = static_cast<std::size_t>(is_fixed ? n_fixed : n_scientific);
    std::memcpy(to, is_fixed ? fixed : scientific, n);
    return to + n;
}

// Writes a float32 with the fewest digits that read back as the same one, into kFloatBytes; returns its end.
inline char* write_float(char* to, float value) {
#if defined(__cpp_lib_to_chars)
    return std::to_chars(to, to + kFloatBytes, value).ptr;
#else
    return write_float_with_printf(to, value);
#endif
}

}  // namespace thresher
