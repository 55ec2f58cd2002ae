// Vowpal Wabbit text: a row is `[label [importance]] ['tag]|namespace[:weight] name[:value] … |namespace …`.
//
// A label is a finite number. A feature without a value has the value 1, and repeated ones add up. A namespace's weight
// multiplies its values. A name that is a whole number is an id; any other name is hashed, with the prefix `namespace^`
// unless the namespace has no name (names/spelling.hpp). Numbers of two namespaces would collide, so they must all be
// hashed then.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thresher/names/named_row.hpp"
#include "thresher/names/spelling.hpp"
#include "thresher/names/unicode.hpp"
#include "thresher/readers/text.hpp"
#include "thresher/secret_hash.hpp"

namespace thresher {

// What a character means to a name: it ends it, or is to be escaped in some.
enum VwCharacter : unsigned char { kEndsName = 1, kSpecial = 2 };
inline constexpr std::array<unsigned char, 256> kVwCharacters = [] {
    std::array<unsigned char, 256> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
        const char c = static_cast<char>(i);
        if (is_space(c) || ends_line(c) || c == ':' || c == '|') table[i] = kEndsName;
        if (needs_backslash(c)) table[i] = kSpecial;
    }
    return table;
}();
inline unsigned char vw_character(char c) { return kVwCharacters[static_cast<unsigned char>(c)]; }
inline bool ends_vw_name(char c) { return vw_character(c) == kEndsName; }

struct VwHead {
    double label = 0.0, importance = 1.0;
    std::string_view large_label;  // as written
};

// Reads what comes before the first bar: a label, an importance, an initial value, a tag that touches the bar.
inline bool read_vw_head(const char*& p, Labels labels, VwHead& head, std::string& why) {
    const char* const start = p;
    bool has_label = labels != Labels::none;
    if (has_label && (!read_number(p, head.label) || !(is_space(*p) || *p == '|' || ends_line(*p)))) {
        const char* end = start;
        while (!is_space(*end) && !ends_line(*end) && *end != '|') ++end;
        const bool is_tag = end == start || *end == '|' || *start == '\'';
        if (labels == Labels::optional && is_tag) {
            has_label = false;
            head.label = std::numeric_limits<double>::quiet_NaN();
            p = start;
        } else if (is_number_not_finite({start, static_cast<std::size_t>(end - start)})) {
            return why = quoted(start, end) + ": the label must be a finite number", false;
        } else {
            return why = "the line starts with " + quoted(start, token_end(start)) + ": a label must come first", false;
        }
    }
    if (is_large_label(head.label)) head.large_label = {start, static_cast<std::size_t>(p - start)};
    for (int place = 0; *p != '|'; ++place) {
        while (is_space(*p)) ++p;
        if (ends_line(*p)) return why = "there is no '|' before the features", false;
        if (*p == '|') break;
        const char* const token = p;
        double number;
        if (place == 0 && read_number(p, number) && is_space(*p)) {
            if (!has_label) return why = quoted(token, p) + ": the rows of this file start without a label", false;
            if (number < 0.0) return why = quoted(token, p) + ": an importance must not be negative", false;
            head.importance = number;
            continue;
        }
        while (!is_space(*p) && !ends_line(*p) && *p != '|') ++p;
    }
    return true;
}

// Reads the value behind a name, if there is one.
inline bool read_vw_value(const char*& p, const char* token, double weight, double& value, std::string& why) {
    value = 1.0;
    if (*p == ':' && (++p, !read_number(p, value)))
        return why = quoted(token, token_end(token)) + ": the value must be a finite number", false;
    value *= weight;
    if (!(is_space(*p) || ends_line(*p) || *p == '|') || !std::isfinite(static_cast<float>(value)))
        return why = quoted(token, token_end(token)) + ": the value must be a finite number", false;
    return true;
}

// The namespace that p is in, behind its bar.
struct VwNamespace {
    std::string_view name;
    double weight = 1.0;

    bool read(const char*& p, std::string& why) {
        const char* const begin = p;
        while (!ends_vw_name(*p)) ++p;
        name = {begin, static_cast<std::size_t>(p - begin)};
        weight = 1.0;
        if (*p == ':' && (++p, !read_number(p, weight) || !(is_space(*p) || ends_line(*p) || *p == '|')))
            return why = quoted(begin, token_end(begin)) + ": the namespace's weight must be a number", false;
        return true;
    }

    // Notes that it has names that are numbers, and so ids.
    template <class Id>
    bool has_numbers(ParsedText<Id>& rows, std::string& why) const {
        if (!rows.has_name_space) {
            rows.name_space = name, rows.has_name_space = true;
            return true;
        }
        if (name == rows.name_space) return true;
        why = "numbers in a second namespace, " + quoted(name.data(), name.data() + name.size()) + " after '" +
              rows.name_space + "', would be the same features: use hash='all'";
        return false;
    }
};

// Rows whose names are all numbers. Stops, with `needs_names`, at any other name.
template <class Id>
ParsedText<Id> read_vw(std::string_view text, bool skip_bad, Labels labels = Labels::required) {
    const char* const end_of_text = text.data() + text.size();
    return read_lines<Id>(text, skip_bad, 2, [=](const char*& p, ParsedText<Id>& rows, std::string& why) {
        while (is_space(*p)) ++p;
        if (ends_line(*p)) return true;
        VwHead head;
        if (!read_vw_head(p, labels, head, why)) return false;
        VwNamespace space;
        bool noted = false;  // whether the namespace is known to have numbers
        while (!ends_line(*p)) {
            if (*p == '|') {
                if (!space.read(++p, why)) return false;
                noted = false;
                continue;
            }
            const std::size_t n = rows.ids.size();
            const bool at_space = is_space(*p);
            if (at_space) {
                ++p;
                if (space.weight == 1.0) read_plain_pairs(p, end_of_text, rows);
            } else {
                const char* const token = p;
                std::uint64_t id;
                double value;
                if (!read_id(p, id) || !ends_vw_name(*p)) {
                    rows.needs_names = true;
                    return false;
                }
                if (!read_vw_value(p, token, space.weight, value, why)) return false;
                rows.add_feature(id, value);
            }
            if (!noted && rows.ids.size() > n) {
                if (!space.has_numbers(rows, why)) return false;
                noted = true;
            }
        }
        if (!rows.end_row(head.label, head.importance, head.large_label)) return why = kSumTooLarge, false;
        return true;
    });
}

// Rows with names. With `hash_numbers`, names that are numbers are hashed like all others.
inline ParsedText<std::int64_t> read_named_vw(std::string_view text, bool skip_bad, Labels labels, bool hash_numbers) {
    NamedRow row;
    std::string spelled;                                                   // a name in which characters were escaped
    std::unordered_map<std::string_view, std::size_t, TextHash> prefixes;  // by namespace
    if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
        ParsedText<std::int64_t> none(1, 0);
        none.names.emplace();
        none.bad.push_back({0, "the line is too long: 4 GiB at most"});
        return none;
    }
    auto find_prefix = [&prefixes](std::string_view space, RowNames& names, std::string& why) {
        const auto [found, is_new] = prefixes.try_emplace(space, names.prefixes.size());
        if (is_new && names.prefixes.size() == kMostPrefixes) {
            prefixes.erase(found);
            why = "more than 65,535 namespaces: a namespace groups features, and values belong behind its name";
            return kMostPrefixes;
        }
        if (is_new) names.prefixes.push_back(space.empty() ? std::string() : escaped(space) + "^");
        return found->second;
    };
    return read_lines<std::int64_t>(
        text, skip_bad, kNamed, [&](const char*& p, ParsedText<std::int64_t>& rows, std::string& why) {
            RowNames& names = *rows.names;
            // Names are pieces of the text itself.
            if (names.text.size() == 0) names.text.append(text.data(), text.size());
            while (is_space(*p)) ++p;
            if (ends_line(*p)) return true;
            VwHead head;
            if (!read_vw_head(p, labels, head, why)) return false;
            row.clear();
            VwNamespace space;
            std::size_t prefix = kMostPrefixes;
            while (!ends_line(*p)) {
                if (is_space(*p)) {
                    ++p;
                    continue;
                }
                if (*p == '|') {
                    if (!space.read(++p, why)) return false;
                    if (!is_utf8(space.name)) return why = "a namespace is not UTF-8 text", false;
                    prefix = kMostPrefixes;
                    continue;
                }
                const char* const token = p;
                unsigned char kinds = 0;
                for (; !ends_vw_name(*p); ++p) kinds |= vw_character(*p);
                std::string_view name(token, static_cast<std::size_t>(p - token));
                std::int64_t id;
                std::uint64_t number, mark = kNoName;
                const char* digits = token;
                // Beside the hashes of names only numbers of so many bits fit.
                if (!hash_numbers && read_id(digits, number) && digits == p && number >> kNameBits == 0) {
                    if (!space.has_numbers(rows, why)) return false;
                    id = static_cast<std::int64_t>(number);
                } else {
                    if (name.empty())
                        return why = quoted(token, token_end(token)) + ": a name must come before the value", false;
                    if (prefix == kMostPrefixes && (prefix = find_prefix(space.name, names, why)) == kMostPrefixes)
                        return false;
                    auto begin = static_cast<std::size_t>(token - text.data());
                    if (kinds == kSpecial && space.name.empty() && (spelled = escaped_before_value(name)) != name) {
                        name = spelled;
                        begin = names.text.append(name.data(), name.size());
                    }
                    if (name.size() + names.prefixes[prefix].size() > kLongestName)
                        return why = name_too_long(name.size()), false;
                    if (!is_utf8(name)) return why = quoted(token, p) + ": the name is not UTF-8 text", false;
                    if (begin > std::numeric_limits<std::uint32_t>::max())
                        return why = "the text is too long: 4 GiB at most", false;
                    id = row.id_of(names.prefixes[prefix], name);
                    mark = name_mark(begin, name.size(), prefix);
                }
                double value;
                if (!read_vw_value(p, token, space.weight, value, why)) return false;
                row.add(id, mark, static_cast<float>(value), true);
            }
            if (!row.move_to(rows.ids, rows.values, names)) return why = kSumTooLarge, false;
            return rows.end_row(head.label, head.importance, head.large_label);
        });
}

}  // namespace thresher
