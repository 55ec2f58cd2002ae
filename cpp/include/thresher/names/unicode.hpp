// UTF-8, and what the tokenizer needs to know of a character: whether it is part of a word or a space, and its lower
// case (simple case mapping: one character to one).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "thresher/names/unicode_tables.hpp"

namespace thresher {

struct Character {
    std::int32_t properties;
    bool is_word() const { return (properties & 1) != 0; }
    bool is_space() const { return (properties & 2) != 0; }
    std::int32_t to_lower() const { return properties >> 2; }  // the distance
};

inline Character character(char32_t code) {
    return {kUnicodeProperties[code < kUnicodeEnd ? kUnicodeBlocks[code >> 6] : kUnicodeRest][code & 63]};
}

inline constexpr char32_t kNotUtf8 = 0xffffffff;

// The character at p, which moves behind it; kNotUtf8, with p where it was, for bytes that are no character: truncated,
// longer than necessary, a surrogate, or beyond the last code point. Always inlined, since every name is checked by it,
// and a compiler's choice can change with what else there is.
[[gnu::always_inline]] inline char32_t next_character(const char*& p, const char* end) {
    auto byte = [&](std::ptrdiff_t i) { return static_cast<unsigned char>(p[i]); };
    const std::uint32_t first = byte(0);
    if (first < 0x80) return ++p, first;
    const std::ptrdiff_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || end - p < n) return kNotUtf8;
    std::uint32_t code = first & (0x7f >> n);
    for (std::ptrdiff_t i = 1; i < n; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return kNotUtf8;
        code = code << 6 | (byte(i) & 0x3f);
    }
    if ((n == 3 && code < 0x800) || (n == 4 && code < 0x10000) || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return kNotUtf8;
    p += n;
    return code;
}

inline bool is_utf8(std::string_view text) {
    const char *p = text.data(), *const end = p + text.size();
    while (p < end)
        if (next_character(p, end) == kNotUtf8) return false;
    return true;
}

// Writes a character and returns the place behind it.
inline char* write_utf8(char32_t code, char* out) {
    auto put = [&](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
    if (code < 0x80) return put(code), out;
    if (code < 0x800) return put(0xc0 | code >> 6), put(0x80 | (code & 0x3f)), out;
    if (code < 0x10000) return put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f)), out;
    return put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f)), put(0x80 | (code >> 6 & 0x3f)),
           put(0x80 | (code & 0x3f)), out;
}

// For each ASCII character of a word its lower case, 0 for the others, and kNotAscii beyond.
inline constexpr unsigned char kNotAscii = 0xff;
inline constexpr std::array<unsigned char, 256> kAsciiWords = [] {
    std::array<unsigned char, 256> table{};
    for (std::size_t c = 0; c < 256; ++c) {
        const bool is_upper = c >= 'A' && c <= 'Z';
        const bool is_word = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        table[c] = c >= 0x80 ? kNotAscii : static_cast<unsigned char>(is_word ? (is_upper ? c + 32 : c) : 0);
    }
    return table;
}();

}  // namespace thresher
