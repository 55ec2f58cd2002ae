// JSON lines: each line is an object. The keys that are asked for are read, the others are skipped over.
//
// A key that is not there, and null, are missing values. A category can also be a number, true or false, text or a
// category can be a list, and for a number there can be an object or a list of them. The label is a number, a string,
// true (1) or false (0).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thresher/names/naming.hpp"
#include "thresher/readers/text.hpp"

namespace thresher {

struct JsonRoles {
    std::string label, weight;  // keys; empty: none
    Labels labels = Labels::required;
};

class JsonLines {
  public:
    JsonLines(const Naming& naming, const JsonRoles& roles) : naming_(naming), roles_(roles) {
        if (!roles.label.empty()) keys_[roles.label] = kLabel;
        if (!roles.weight.empty()) keys_[roles.weight] = kWeight;
        for (std::size_t k = 0; k < naming.columns().size(); ++k) keys_[naming.columns()[k].name] = static_cast<int>(k);
    }

    // A byte '\0' must follow the text.
    ParsedText<std::int64_t> read(std::string_view text, bool skip_bad) {
        std::optional<RowNamer> namer;
        return read_lines<std::int64_t>(
            text, skip_bad, kNamed, [&](const char*& p, ParsedText<std::int64_t>& rows, std::string& why) {
                if (!namer) namer.emplace(naming_, *rows.names);
                start_ = p;
                skip_spaces(p);
                if (ends_line(*p)) return true;
                namer->start_row();
                seen_.assign(naming_.columns().size() + 2, 0);
                label_ = std::numeric_limits<double>::quiet_NaN(), weight_ = 1.0, word_.clear();
                has_weight_ = false;
                if (!read_object(p, *namer, why)) return false;
                if (std::isnan(label_) && word_.empty() && roles_.labels == Labels::required)
                    return why = "the label, '" + roles_.label + "', is missing", false;
                if (!has_weight_ && !roles_.weight.empty() && roles_.labels == Labels::required)
                    return why = "the weight, '" + roles_.weight + "', is missing", false;
                if (!namer->finish_row(why)) return false;
                if (!namer->row.move_to(rows.ids, rows.values, *rows.names)) return why = kSumTooLarge, false;
                return rows.end_row(label_, weight_, word_);
            });
    }

  private:
    static constexpr int kLabel = -1, kWeight = -2, kUnknown = -3;
    static constexpr int kDeepest = 200;

    bool read_object(const char*& p, RowNamer& namer, std::string& why) {
        if (*p != '{')
            return why = "the line is not a JSON object, but starts with " + quoted(p, token_end(p)) +
                         ": write one object per line",
                   false;
        skip_spaces(++p);
        bool more = *p != '}';
        while (more) {
            std::string_view key;
            if (*p != '"') return invalid(p, "a key in quotes must come here; write one object per line", why);
            if (!read_string(p, key, key_scratch_, why)) return false;
            const auto found = keys_.find(std::string(key));
            const int role = found == keys_.end() ? kUnknown : found->second;
            skip_spaces(p);
            if (*p != ':') return invalid(p, "a ':' must follow a key", why);
            skip_spaces(++p);
            if (role == kUnknown ? !skip_value(p, 0, why) : !read_value(p, role, namer, why)) return false;
            skip_spaces(p);
            more = *p == ',';
            if (more) skip_spaces(++p);
        }
        if (*p != '}') return invalid(p, "a ',' or '}' must come here", why);
        skip_spaces(++p);
        if (!ends_line(*p)) return invalid(p, "there is more after the object: write one object per line", why);
        return true;
    }

    bool read_value(const char*& p, int role, RowNamer& namer, std::string& why) {
        // The two roles have the last places.
        const std::size_t place =
            role >= 0 ? static_cast<std::size_t>(role) : naming_.columns().size() + static_cast<std::size_t>(-1 - role);
        if (seen_[place]++) return why = "the key '" + key_of(role) + "' occurs twice", false;
        if (role >= 0 && naming_.columns()[place].kind == ColumnKind::number && (*p == '{' || *p == '['))
            return read_entries(p, role, namer, why);
        if (*p != '[' || role < 0) return read_one(p, role, namer, why);
        skip_spaces(++p);
        bool more = *p != ']';
        while (more) {
            if (!read_one(p, role, namer, why)) return false;
            skip_spaces(p);
            more = *p == ',';
            if (more) skip_spaces(++p);
        }
        if (*p != ']') return invalid(p, "a ',' or ']' must come here", why);
        ++p;
        return true;
    }

    // Numbers in an object by their keys, those in a list by their places.
    bool read_entries(const char*& p, int role, RowNamer& namer, std::string& why) {
        const bool is_object = *p == '{';
        const char close = is_object ? '}' : ']';
        skip_spaces(++p);
        bool more = *p != close;
        for (std::size_t place = 0; more; ++place) {
            std::string_view key;
            if (is_object) {
                if (*p != '"') return invalid(p, "a key in quotes must come here", why);
                if (!read_string(p, key, key_scratch_, why)) return false;
                skip_spaces(p);
                if (*p != ':') return invalid(p, "a ':' must follow a key", why);
                skip_spaces(++p);
            }
            entry_ = is_object ? std::string(key) : std::to_string(place);
            const bool is_good = read_one(p, role, namer, why);
            entry_.reset();
            if (!is_good) return false;
            skip_spaces(p);
            more = *p == ',';
            if (more) skip_spaces(++p);
        }
        if (*p != close) return invalid(p, "a list or an object does not end", why);
        ++p;
        return true;
    }

    bool read_one(const char*& p, int role, RowNamer& namer, std::string& why) {
        const char* const begin = p;
        if (*p == '{' || *p == '[')
            return why = "'" + key_of(role) + "' is " + (*p == '{' ? "an object" : "a list") + "; it must be " +
                         expected(role),
                   false;
        if (*p == '"') {
            std::string_view value;
            return read_string(p, value, value_scratch_, why) && take_string(value, role, namer, why);
        }
        double number = 0.0;
        if (starts_with(p, "null")) return p += 4, true;
        if (starts_with(p, "NaN")) return p += 3, true;  // not JSON, but Python writes it for a missing number
        const bool is_true = starts_with(p, "true"), is_word = is_true || starts_with(p, "false");
        if (is_word) {
            p += is_true ? 4 : 5;
            number = is_true ? 1.0 : 0.0;
        } else if (!read_json_number(p, number)) {
            const char* const end = value_end(p);
            if (is_number_not_finite({p, static_cast<std::size_t>(end - p)}))
                return why = "'" + key_of(role) + "' is " + quoted(p, end) + "; it must be finite", false;
            return no_value(p, why);
        }
        if (!(is_space(*p) || ends_line(*p) || *p == ',' || *p == '}' || *p == ']')) return p = begin, no_value(p, why);
        return take_number(number, {begin, static_cast<std::size_t>(p - begin)}, role, namer, why);
    }

    bool take_string(std::string_view value, int role, RowNamer& namer, std::string& why) {
        if (role >= 0) {
            const auto k = static_cast<std::size_t>(role);
            const ColumnKind kind = naming_.columns()[k].kind;
            if (kind == ColumnKind::text) return namer.add_text(k, value, why);
            if (kind == ColumnKind::category) return namer.add_category(k, value, why);
        } else if (role == kLabel) {
            if (!is_utf8(value)) return why = "the label is not UTF-8 text", false;
            word_ = value.find_first_not_of(" \t\r\n") == value.npos ? std::string_view() : value;
            return true;
        }
        return why = "'" + key_of(role) + "' is " + quoted(value.data(), value.data() + value.size()) +
                     "; it must be " + expected(role),
               false;
    }

    bool take_number(double number, std::string_view written, int role, RowNamer& namer, std::string& why) {
        if (role == kLabel) {
            label_ = number;
            if (is_large_label(number)) word_ = written;
            return true;
        }
        if (role == kWeight) {
            weight_ = number, has_weight_ = true;
            if (number < 0.0) return why = "the weight is " + std::string(written) + "; it must not be negative", false;
            return true;
        }
        const auto k = static_cast<std::size_t>(role);
        if (naming_.columns()[k].kind == ColumnKind::number)
            return entry_ ? namer.add_entry(k, *entry_, number, why) : namer.add_number(k, number, why);
        if (naming_.columns()[k].kind == ColumnKind::category)
            return written == "true" || written == "false" ? namer.add_category(k, written, why)
                                                           : namer.add_category(k, number, written, why);
        return why = "'" + key_of(role) + "' is " + std::string(written) + "; it must be " + expected(role), false;
    }

    // Reads the string whose opening quote is at p. The view is of the line itself, or of `scratch` where there are
    // escapes.
    bool read_string(const char*& p, std::string_view& value, std::string& scratch, std::string& why) {
        const char* part = ++p;
        scratch.clear();
        for (;;) {
            while (*p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= ' ') ++p;
            if (*p == '"') break;
            if (*p != '\\') return invalid(p, ends_line(*p) ? "the string does not end" : "a control character", why);
            scratch.append(part, p);
            if (!read_escape(++p, scratch)) return invalid(p, "an escape that is unknown or half a character", why);
            part = p;
        }
        if (scratch.empty()) {
            value = {part, static_cast<std::size_t>(p - part)};
        } else {
            scratch.append(part, p);
            value = scratch;
        }
        ++p;
        return true;
    }

    static bool read_escape(const char*& p, std::string& scratch) {
        constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        if (*p != 'u') {
            const std::size_t k = *p == '\0' ? letters.npos : letters.find(*p);
            if (k == letters.npos) return false;
            scratch += meanings[k];
            ++p;
            return true;
        }
        char32_t code;
        if (!read_hex(++p, code)) return false;
        if (code >= 0xd800 && code < 0xdc00) {
            char32_t second;
            if (p[0] != '\\' || p[1] != 'u') return false;
            if (!read_hex(p += 2, second) || second < 0xdc00 || second > 0xdfff) return false;
            code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
        } else if (code >= 0xdc00 && code < 0xe000) {
            return false;
        }
        char bytes[4];
        scratch.append(bytes, write_utf8(code, bytes));
        return true;
    }

    static bool read_hex(const char*& p, char32_t& code) {
        code = 0;
        for (int i = 0; i < 4; ++i, ++p) {
            const char c = *p;
            const int digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) return false;
            code = code << 4 | static_cast<char32_t>(digit);
        }
        return true;
    }

    // Skips a value that nobody asked for; it must still be valid.
    bool skip_value(const char*& p, int depth, std::string& why) {
        if (depth > kDeepest) return invalid(p, "it is nested too deeply", why);
        std::string_view unused;
        if (*p == '"') return read_string(p, unused, value_scratch_, why);
        if (*p == '{' || *p == '[') {
            const bool is_object = *p == '{';
            const char close = is_object ? '}' : ']';
            skip_spaces(++p);
            bool more = *p != close;
            while (more) {
                if (is_object) {
                    if (*p != '"') return invalid(p, "a key in quotes must come here", why);
                    if (!read_string(p, unused, value_scratch_, why)) return false;
                    skip_spaces(p);
                    if (*p != ':') return invalid(p, "a ':' must follow a key", why);
                    skip_spaces(++p);
                }
                if (!skip_value(p, depth + 1, why)) return false;
                skip_spaces(p);
                more = *p == ',';
                if (more) skip_spaces(++p);
            }
            if (*p != close) return invalid(p, "a list or an object does not end", why);
            ++p;
            return true;
        }
        // The last three are not JSON, but Python writes them.
        for (const std::string_view word : {"null", "true", "false", "NaN", "Infinity", "-Infinity"})
            if (starts_with(p, word)) return p += word.size(), true;
        double number;
        return read_json_number(p, number) || no_value(p, why);
    }

    // JSON has fewer ways to write a number than other text: no plus sign, no zeros in front, digits around a point.
    static bool read_json_number(const char*& p, double& number) {
        const char* q = *p == '-' ? p + 1 : p;
        if (!is_digit(*q) || (*q == '0' && is_digit(q[1]))) return false;
        while (is_digit(*q)) ++q;
        if (*q == '.' && !is_digit(q[1])) return false;
        return read_number(p, number);
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    static const char* value_end(const char* p) {
        while (!is_space(*p) && !ends_line(*p) && *p != ',' && *p != '}' && *p != ']') ++p;
        return p;
    }

    bool no_value(const char* p, std::string& why) const {
        const char *q = p, *const end = value_end(p);
        double number;
        if (!read_number(q, number) || q != end) return invalid(p, "a value must come here", why);
        invalid(p, "", why);
        return why += quoted(p, end) + " is no JSON number: write 1 for 01, +1 or 1., and 0.5 for .5", false;
    }

    bool invalid(const char* p, const char* what, std::string& why) const {
        return why = "not valid JSON at byte " + std::to_string(p - start_ + 1) + ": " + what, false;
    }

    std::string key_of(int role) const {
        return role == kLabel    ? roles_.label
               : role == kWeight ? roles_.weight
                                 : naming_.columns()[static_cast<std::size_t>(role)].name;
    }

    std::string expected(int role) const {
        if (role == kLabel) return "a number or a string";
        if (role == kWeight) return "a number";
        switch (naming_.columns()[static_cast<std::size_t>(role)].kind) {
            case ColumnKind::text:
                return "a string; numbers are numeric= or categorical=";
            case ColumnKind::category:
                return "a string, a number, true or false";
            case ColumnKind::number:
                return entry_ ? "a number" : "a number; strings are text= or categorical=";
        }
        return {};
    }

    static void skip_spaces(const char*& p) {
        while (*p == ' ' || *p == '\t' || *p == '\r') ++p;
    }
    static bool starts_with(const char* p, std::string_view word) {
        return std::strncmp(p, word.data(), word.size()) == 0;
    }

    const Naming& naming_;
    const JsonRoles roles_;
    std::unordered_map<std::string, int> keys_;
    std::vector<char> seen_;
    std::string key_scratch_, value_scratch_;
    std::optional<std::string> entry_;  // the key of a number in an object
    const char* start_ = nullptr;
    double label_ = 0.0, weight_ = 1.0;
    bool has_weight_ = false;
    std::string word_;
};

}  // namespace thresher
