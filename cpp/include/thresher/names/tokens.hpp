// Text to tokens, words or characters, written one after another as they will appear in names. So an n-gram is a piece
// of what was written: words are separated by one space, and characters need no separator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "thresher/names/unicode.hpp"
#include "thresher/readers/column.hpp"

namespace thresher {

struct Token {
    std::uint32_t begin, end;  // in the text of the names
};

// No character's lower case takes more than 1.5 times its bytes.
inline std::size_t most_token_bytes(std::string_view text) { return text.size() + text.size() / 2 + 8; }

// The words: runs of letters, marks, numbers and underscores. Returns false where the text is not UTF-8.
inline bool append_words(std::string_view text, bool lowercase, Column<char>& names, std::vector<Token>& tokens) {
    names.ensure(most_token_bytes(text));
    const char *p = text.data(), *const end = p + text.size();
    char* const base = names.data();
    char* out = base + names.size();
    while (p < end) {
        char* const begin = out;
        while (p < end) {
            const unsigned char ascii = kAsciiWords[static_cast<unsigned char>(*p)];
            if (ascii == 0) break;
            if (ascii != kNotAscii) {
                *out++ = lowercase ? static_cast<char>(ascii) : *p;
                ++p;
                continue;
            }
            const char* after = p;
            const char32_t code = next_character(after, end);
            if (code == kNotUtf8) return false;
            const Character found = character(code);
            if (!found.is_word()) break;
            out = write_utf8(lowercase ? code + static_cast<char32_t>(found.to_lower()) : code, out);
            p = after;
        }
        if (out > begin) {
            tokens.push_back({static_cast<std::uint32_t>(begin - base), static_cast<std::uint32_t>(out - base)});
            *out++ = ' ';
        }
        // What separates words.
        while (p < end && kAsciiWords[static_cast<unsigned char>(*p)] == 0) ++p;
        if (p < end && kAsciiWords[static_cast<unsigned char>(*p)] == kNotAscii) {
            const char* after = p;
            const char32_t code = next_character(after, end);
            if (code == kNotUtf8) return false;
            if (!character(code).is_word()) p = after;
        }
    }
    names.grow(static_cast<std::size_t>(out - base) - names.size());
    return true;
}

// The characters, with one space for any run of spaces and none at the ends. Returns false where the text is not UTF-8.
inline bool append_characters(std::string_view text, bool lowercase, Column<char>& names, std::vector<Token>& tokens) {
    names.ensure(most_token_bytes(text));
    const char *p = text.data(), *const end = p + text.size();
    char* const base = names.data();
    char* out = base + names.size();
    bool is_first = true, space_before = false;
    while (p < end) {
        const char32_t code = next_character(p, end);
        if (code == kNotUtf8) return false;
        const Character found = character(code);
        if (found.is_space()) {
            space_before = !is_first;
            continue;
        }
        auto add = [&](char32_t what) {
            char* const begin = out;
            out = write_utf8(what, out);
            tokens.push_back({static_cast<std::uint32_t>(begin - base), static_cast<std::uint32_t>(out - base)});
        };
        if (space_before) add(' ');
        add(lowercase ? code + static_cast<char32_t>(found.to_lower()) : code);
        is_first = space_before = false;
    }
    names.grow(static_cast<std::size_t>(out - base) - names.size());
    return true;
}

}  // namespace thresher
