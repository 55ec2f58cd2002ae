// Hashes for tables, keyed by a secret of the process: without it, ids or text that collide can't be chosen on purpose,
// so no data make a table slow.
//
// A result must not depend on it: what is read from such a table comes in an order that the rows or the ids give. A
// sketch's slots and the ids of names, which do decide results, have hashes without a secret.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "thresher/names/hash.hpp"
#include "thresher/platform.hpp"
#include "thresher/simd.hpp"

namespace thresher {

// Drawn when the library is loaded, before any fork. It is odd and large, so that no product loses bits.
inline const std::uint64_t kSecret = secret_bits() | 1 | std::uint64_t{1} << 63;

// 64 bits. The second multiplication is for ids in steps: with one alone, a process in a hundred would draw a secret
// that puts them close together.
struct IdHash {
    std::uint64_t secret = kSecret;
    THRESHER_INLINE std::uint64_t operator()(std::int64_t id) const noexcept {
        __extension__ using Wide = unsigned __int128;
        const Wide product = static_cast<Wide>(fold(static_cast<std::uint64_t>(id) ^ secret, secret)) * secret;
        return static_cast<std::uint64_t>(product >> 64);
    }
};

struct TextHash {
    std::size_t operator()(std::string_view text) const noexcept {
        std::uint64_t hash = kSecret ^ text.size();
        for (std::size_t at = 0; at < text.size(); at += sizeof(hash)) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
            hash = fold(hash ^ word, kSecret);
        }
        return hash;
    }
};

}  // namespace thresher
