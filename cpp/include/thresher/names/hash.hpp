// The id of a feature that has a name: 62 bits of a hash of the name's bytes. Model files contain these ids, so the
// function can't change without a new version of the format.
//
//   h = seed;  for each 8 bytes w, little-endian, the last ones filled up with zeros:  h = fold(h ^ w, K1)
//   id = fold(h ^ length, K2) / 4,  where fold(a, b) is the exclusive or of the two halves of the 128-bit product a·b
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace thresher {

inline constexpr int kNameBits = 62;

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::int64_t name_id(std::string_view name) {
    static_assert(std::endian::native == std::endian::little, "ids of names are defined on little-endian words");
    // The first bits of π, e and √2 after the point, made odd.
    constexpr std::uint64_t seed = 0x243f6a8885a308d3, k1 = 0xb7e151628aed2a6b, k2 = 0x6a09e667f3bcc909;
    auto load = [](const char* p, auto word) {
        std::memcpy(&word, p, sizeof word);
        return static_cast<std::uint64_t>(word);
    };
    const char* p = name.data();
    const std::size_t n = name.size();
    std::uint64_t h = seed;
    std::size_t left = n;
    for (; left >= 8; left -= 8, p += 8) h = fold(h ^ load(p, std::uint64_t{}), k1);
    if (left > 0) {
        std::uint64_t word;
        // No branch on each byte, and no byte behind the end is read.
        if (n >= 8) {
            word = load(p + left - 8, std::uint64_t{}) >> (8 * (8 - left));
        } else if (left >= 4) {
            word = load(p, std::uint32_t{}) | load(p + left - 4, std::uint32_t{}) << (8 * (left - 4));
        } else {
            auto byte = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i); };
            word = byte(0) | byte(left / 2) | byte(left - 1);
        }
        h = fold(h ^ word, k1);
    }
    return static_cast<std::int64_t>(fold(h ^ n, k2) >> (64 - kNameBits));
}

}  // namespace thresher
