// How the values of columns become named features: text to n-grams of words or characters, `column^n-gram`; a category
// to `column=value`; a number to `column`, and each of a dictionary of numbers to `column=key` (spelling.hpp). The only
// text column has no prefix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/names/named_row.hpp"
#include "thresher/names/spelling.hpp"
#include "thresher/names/tokens.hpp"
#include "thresher/names/unicode.hpp"

namespace thresher {

enum class ColumnKind { text, category, number };

struct NamedColumn {
    std::string name;
    ColumnKind kind;
};

struct TextOptions {
    std::size_t least = 1, most = 1;  // the lengths of n-grams
    bool characters = false;          // instead of words
    bool counts = false;              // how often an n-gram occurs, instead of 1
    bool lowercase = true;
};

class Naming {
  public:
    Naming(std::vector<NamedColumn> columns, TextOptions options) : columns_(std::move(columns)), options_(options) {
        const auto n_texts = std::count_if(columns_.begin(), columns_.end(),
                                           [](const NamedColumn& each) { return each.kind == ColumnKind::text; });
        // Characters can spell `column=value`, words can't.
        const bool is_alone = n_texts == 1 && !(options_.characters && columns_.size() > 1);
        for (const NamedColumn& each : columns_) {
            switch (each.kind) {
                case ColumnKind::text:
                    prefixes_.push_back(is_alone ? "" : escaped(each.name) + "^");
                    break;
                case ColumnKind::category:
                    prefixes_.push_back(escaped(each.name) + "=");
                    break;
                case ColumnKind::number:
                    prefixes_.push_back(escaped(each.name));
                    numbers_.push_back(name_id(prefixes_.back()));
                    break;
            }
        }
        // A word that is also the name of a column of numbers keeps the prefix, or the two would be one feature.
        for (const NamedColumn& each : columns_)
            if (each.kind == ColumnKind::text && is_alone) prefixes_.push_back(escaped(each.name) + "^");
        std::sort(numbers_.begin(), numbers_.end());
    }

    const std::vector<NamedColumn>& columns() const { return columns_; }
    const TextOptions& options() const { return options_; }
    const std::vector<std::string>& prefixes() const { return prefixes_; }
    bool is_number_column(std::int64_t id) const {
        return !numbers_.empty() && std::binary_search(numbers_.begin(), numbers_.end(), id);
    }

  private:
    std::vector<NamedColumn> columns_;
    TextOptions options_;
    std::vector<std::string> prefixes_;  // of the columns; the last one is for words that need it
    std::vector<std::int64_t> numbers_;  // ids of columns of numbers, ascending
};

// Adds the values of a row. Each method returns whether the value is good; if not, `why` has the reason.
class RowNamer {
  public:
    RowNamer(const Naming& naming, RowNames& names)
        : naming_(naming), names_(names), entry_prefixes_(naming.columns().size()) {
        names_.prefixes = naming.prefixes();
    }

    bool add_text(std::size_t column, std::string_view value, std::string& why) {
        if (!fits_in_marks(value, why)) return false;
        const TextOptions& options = naming_.options();
        tokens_.clear();
        const bool good = options.characters ? append_characters(value, options.lowercase, names_.text, tokens_)
                                             : append_words(value, options.lowercase, names_.text, tokens_);
        if (!good) return why = not_utf8(column), false;
        const std::string_view prefix = naming_.prefixes()[column];
        const char* const text = names_.text.data();
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const std::uint32_t begin = tokens_[i].begin;
            const std::size_t last = std::min(i + options.most, tokens_.size());
            for (std::size_t k = i + options.least - 1; k < last; ++k) {
                const std::size_t length = tokens_[k].end - begin;
                if (length + prefix.size() > kLongestName) return why = too_long(column, length), false;
                const std::string_view ngram(text + begin, length);
                std::int64_t id = row.id_of(prefix, ngram);
                std::size_t number = column;
                if (naming_.is_number_column(id) && prefix.empty()) {
                    number = naming_.prefixes().size() - 1;
                    id = row.id_of(naming_.prefixes().back(), ngram);
                }
                row.add(id, name_mark(begin, length, number), 1.0f, options.counts);
            }
        }
        return true;
    }

    // An empty value is a missing one.
    bool add_category(std::size_t column, std::string_view written, std::string& why) {
        return add_value(column, category_value(written, spelled_), why);
    }

    // A category that is a number.
    bool add_category(std::size_t column, double number, std::string_view written, std::string& why) {
        return add_value(column, category_value(number, written, spelled_), why);
    }

    // 0 and NaN, a missing value, are no feature.
    bool add_number(std::size_t column, double value, std::string& why) {
        if (value == 0.0 || std::isnan(value)) return true;
        if (!fits_float(column, value, why)) return false;
        row.add(name_id(naming_.prefixes()[column]), name_mark(0, 0, column), static_cast<float>(value), true);
        return true;
    }

    // A number of a column that is a dictionary of them, by its key; those of a key that occurs twice add up.
    bool add_entry(std::size_t column, std::string_view key, double value, std::string& why) {
        if (value == 0.0 || std::isnan(value) || key.empty()) return true;
        if (!fits_float(column, value, why)) return false;
        std::size_t& prefix = entry_prefixes_[column];  // 0, the first column's own, says that there is none yet
        if (prefix == 0) {
            if (names_.prefixes.size() == kMostPrefixes) return why = "more than 65,535 columns in all", false;
            prefix = names_.prefixes.size();
            names_.prefixes.push_back(escaped(naming_.columns()[column].name) + "=");
        }
        return add_named(column, prefix, category_value(key, spelled_), static_cast<float>(value), true, why);
    }

    NamedRow row;

  private:
    bool add_value(std::size_t column, std::string_view value, std::string& why) {
        return value.empty() || add_named(column, column, value, 1.0f, false, why);
    }

    bool add_named(std::size_t column, std::size_t number, std::string_view rest, float value, bool sums,
                   std::string& why) {
        const std::string_view prefix = names_.prefixes[number];
        if (rest.size() + prefix.size() > kLongestName) return why = too_long(column, rest.size()), false;
        if (!is_utf8(rest)) return why = not_utf8(column), false;
        if (!fits_in_marks(rest, why)) return false;
        const std::size_t begin = names_.text.append(rest.data(), rest.size());
        row.add(row.id_of(prefix, rest), name_mark(begin, rest.size(), number), value, sums);
        return true;
    }

    bool fits_float(std::size_t column, double value, std::string& why) const {
        if (std::isfinite(static_cast<float>(value))) return true;
        why = "column '" + naming_.columns()[column].name + "' is " + shown(value) +
              "; it must be finite and fit a float32: scale it";
        return false;
    }

    // Marks have 32 bits for the offset in the text.
    bool fits_in_marks(std::string_view value, std::string& why) const {
        if (names_.text.size() + most_token_bytes(value) <= std::numeric_limits<std::uint32_t>::max()) return true;
        why = "the text is too long: 4 GiB at most";
        return false;
    }

    std::string not_utf8(std::size_t column) const {
        return "column '" + naming_.columns()[column].name + "' is not UTF-8 text";
    }

    std::string too_long(std::size_t column, std::size_t length) const {
        return "column '" + naming_.columns()[column].name + "': " + name_too_long(length);
    }

    static std::string shown(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%g", value);
        return text;
    }

    const Naming& naming_;
    RowNames& names_;
    std::vector<Token> tokens_;
    std::vector<std::size_t> entry_prefixes_;  // of columns that were dictionaries in some row: behind all others
    std::string spelled_;                      // the value of a category
};

}  // namespace thresher
