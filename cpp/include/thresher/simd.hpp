// One source, three instruction sets.
//
// The kernels are plain loops over one row, written once. `run` compiles the work it is given three times, for the
// baseline instruction set, for AVX2 and for AVX-512, and picks one at run time. Only the loops are compiled so often,
// each in a function of its own; what calls them is compiled once. All three give the same bits because nothing in
// a loop may be reordered: every float operation is per element, and sums over a row run in 16 separate lanes
// (`LaneSum`) that are added in one fixed order. The build forbids fused multiply-add (-ffp-contract=off) for the same
// reason.
//
// Explicit gather and scatter instructions were measured and left out: on Zen 4 they are slower than scalar loads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// A loop gets into the AVX-512 copy of its caller by inlining only, so that can't be left to the compiler.
#define THRESHER_INLINE [[gnu::always_inline]] inline
// The function in which a loop is run, compiled once and not for each of its callers.
#define THRESHER_KERNEL [[gnu::noinline]]

#if defined(__x86_64__) && !defined(THRESHER_ONE_COPY)
#define THRESHER_HAS_COPIES 1
#define THRESHER_TARGET_AVX2 gnu::target("avx2")
#if defined(__clang__)
#define THRESHER_TARGET_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl")
#else
#define THRESHER_TARGET_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#endif

namespace thresher {

inline constexpr std::size_t kLanes = 16;

constexpr std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// 16 float64 sums, the element at position i in lane i mod 16.
struct LaneSum {
    double lane[kLanes] = {};

    THRESHER_INLINE double total() const {
        double of_8[8], of_4[4];
        for (std::size_t k = 0; k < 8; ++k) of_8[k] = lane[k] + lane[k + 8];
        for (std::size_t k = 0; k < 4; ++k) of_4[k] = of_8[k] + of_8[k + 4];
        return (of_4[0] + of_4[2]) + (of_4[1] + of_4[3]);
    }
};

// The sums of a[i]·b[i], each product rounded to float32, over n elements; n is a multiple of 16.
THRESHER_INLINE LaneSum lane_products(const float* __restrict a, const float* __restrict b, std::size_t n) {
    LaneSum sum;
    for (std::size_t i = 0; i < n; i += kLanes)
#pragma omp simd
        for (std::size_t k = 0; k < kLanes; ++k) sum.lane[k] += static_cast<double>(a[i + k] * b[i + k]);
    return sum;
}

// Calls each(i) for i from 0 to n - 1, four at a time, which takes a third fewer instructions where each does little.
template <class Each>
THRESHER_INLINE void by_fours(std::size_t n, Each each) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        each(i);
        each(i + 1);
        each(i + 2);
        each(i + 3);
    }
    for (; i < n; ++i) each(i);
}

enum class Simd { scalar, avx2, avx512 };

inline Simd best_simd() {
#if defined(THRESHER_HAS_COPIES)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return Simd::avx512;
    if (__builtin_cpu_supports("avx2")) return Simd::avx2;
#endif
    return Simd::scalar;
}

// The instruction set that callers pass to `run`: the machine's best, unless another was chosen (tests do that).
inline std::atomic<Simd>& simd_choice() {
    static std::atomic<Simd> choice = best_simd();
    return choice;
}
inline Simd simd_in_use() { return simd_choice().load(std::memory_order_relaxed); }

#if defined(THRESHER_HAS_COPIES)
template <class Work>
[[THRESHER_TARGET_AVX2]] auto run_avx2(const Work& work) {
    const Work own = work;
    return own();
}
template <class Work>
[[THRESHER_TARGET_AVX512]] auto run_avx512(const Work& work) {
    const Work own = work;
    return own();
}
#endif

// Returns work(), compiled for the instruction set in use, or, if not for all, for the baseline only; its call operator
// must be always_inline. What it captures by value the compiler knows to be nobody else's.
template <bool for_all = true, class Work>
THRESHER_INLINE auto run(Work work) {
#if defined(THRESHER_HAS_COPIES)
    if constexpr (for_all) {
        const Simd simd = simd_in_use();
        if (simd == Simd::avx512) return run_avx512(work);
        if (simd == Simd::avx2) return run_avx2(work);
    }
#endif
    return work();
}

}  // namespace thresher
