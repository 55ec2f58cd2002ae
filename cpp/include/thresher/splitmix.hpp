// Random bits from a number: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
#pragma once

#include <cstdint>

#include "thresher/simd.hpp"

namespace thresher {

constexpr std::uint64_t kPhi = 0x9e3779b97f4a7c15u;  // 2^64 / the golden ratio

THRESHER_INLINE std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

}  // namespace thresher
