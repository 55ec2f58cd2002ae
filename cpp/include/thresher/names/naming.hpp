// How the values of columns become named features: text to n-grams of words or characters, `column^n-gram`; a category
// to `column=value`; a number to `column`, or `column=missing` if it is missing, and each of a dictionary of numbers to
// `column=key` (spelling.hpp). The only text column has no prefix. A cross of two columns has a feature `a & b` for
// each feature of the one and each of the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
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
    double mean = 0.0, deviation = 1.0;  // of numbers, which become (number - mean) / deviation
    bool tells_missing = false;          // whether a row without a number has the feature `column=missing`
};

using Cross = std::pair<std::size_t, std::size_t>;  // two columns

struct TextOptions {
    std::size_t least = 1, most = 1;  // the lengths of n-grams
    bool characters = false;          // instead of words
    bool counts = false;              // how often an n-gram occurs, instead of 1
    bool lowercase = true;
};

class Naming {
  public:
    Naming(std::vector<NamedColumn> columns, TextOptions options, std::vector<Cross> crosses = {})
        : columns_(std::move(columns)), options_(options), crosses_(std::move(crosses)) {
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
        for (std::size_t k = 0; k < columns_.size(); ++k) {
            if (columns_[k].kind == ColumnKind::text && is_alone) {
                prefixes_.push_back(escaped(columns_[k].name) + "^");
                only_text_ = k;
            }
            if (columns_[k].tells_missing) telling_.push_back(k);
        }
        if (!crosses_.empty()) prefixes_.push_back("");
        std::sort(numbers_.begin(), numbers_.end());
    }

    const std::vector<NamedColumn>& columns() const { return columns_; }
    const TextOptions& options() const { return options_; }
    const std::vector<Cross>& crosses() const { return crosses_; }
    const std::vector<std::size_t>& telling() const { return telling_; }  // columns that tell that they are missing
    const std::vector<std::string>& prefixes() const { return prefixes_; }
    // The prefixes behind those of the columns: of words that need one, and of crosses, "".
    std::size_t prefix_of_words() const { return columns_.size(); }
    std::size_t prefix_of_crosses() const { return prefixes_.size() - 1; }
    // The column whose features have a prefix.
    std::size_t column_of(std::size_t prefix) const {
        return prefix == prefix_of_words() && only_text_ < columns_.size() ? only_text_ : prefix;
    }
    bool is_number_column(std::int64_t id) const {
        return !numbers_.empty() && std::binary_search(numbers_.begin(), numbers_.end(), id);
    }

  private:
    std::vector<NamedColumn> columns_;
    TextOptions options_;
    std::vector<Cross> crosses_;
    std::vector<std::size_t> telling_;
    std::size_t only_text_ = std::numeric_limits<std::size_t>::max();
    std::vector<std::string> prefixes_;  // of the columns, and behind them two that are of none
    std::vector<std::int64_t> numbers_;  // ids of columns of numbers, ascending
};

// Adds the values of a row. Each method returns whether the value is good; if not, `why` has the reason.
class RowNamer {
  public:
    RowNamer(const Naming& naming, RowNames& names)
        : naming_(naming), names_(names), entry_prefixes_(naming.columns().size()) {
        names_.prefixes = naming.prefixes();
    }

    void start_row() {
        row.clear();
        if (!naming_.telling().empty()) has_number_.assign(naming_.columns().size(), 0);
    }

    // Adds what is known once all columns of the row were added: which numbers are missing, and crosses.
    bool finish_row(std::string& why) {
        for (const std::size_t column : naming_.telling()) {
            constexpr std::string_view missing = "=missing";
            if (has_number_[column]) continue;
            if (!fits_in_marks(missing, why)) return false;
            const std::size_t begin = names_.text.append(missing.data(), missing.size());
            row.add(row.id_of(naming_.prefixes()[column], missing), name_mark(begin, missing.size(), column), 1.0f,
                    false);
        }
        for (const auto& [one, other] : naming_.crosses()) {
            take_features_of(one, ones_);
            take_features_of(other, others_);
            for (const NamedFeature& a : ones_)
                for (const NamedFeature& b : others_)
                    if (!add_cross(a, b, why)) return false;
        }
        return true;
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
                    number = naming_.prefix_of_words();
                    id = row.id_of(naming_.prefixes()[number], ngram);
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

    // 0, once it is scaled, and NaN, a missing value, are no feature.
    bool add_number(std::size_t column, double number, std::string& why) {
        if (std::isnan(number)) return true;
        const NamedColumn& about = naming_.columns()[column];
        if (!has_number_.empty()) has_number_[column] = 1;
        const double value = (number - about.mean) / about.deviation;
        if (value == 0.0) return true;
        if (!fits_float(column, value, number, why)) return false;
        row.add(name_id(naming_.prefixes()[column]), name_mark(0, 0, column), static_cast<float>(value), true);
        return true;
    }

    // A number of a column that is a dictionary of them, by its key; those of a key that occurs twice add up.
    bool add_entry(std::size_t column, std::string_view key, double value, std::string& why) {
        if (value == 0.0 || std::isnan(value) || key.empty()) return true;
        if (!fits_float(column, value, value, why)) return false;
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

    // `number` is how the value was written.
    bool fits_float(std::size_t column, double value, double number, std::string& why) const {
        if (std::isfinite(static_cast<float>(value))) return true;
        why = "column '" + naming_.columns()[column].name + "' is " + shown(number) +
              "; it must be finite and fit a float32: scale it";
        return false;
    }

    bool is_of(std::size_t prefix, std::size_t column) const {
        return naming_.column_of(prefix) == column || (prefix > 0 && entry_prefixes_[column] == prefix);
    }

    // Copies the features that a column has added to the row, each once.
    void take_features_of(std::size_t column, std::vector<NamedFeature>& taken) {
        taken.clear();
        for (const NamedFeature& each : row.features())
            if (is_of(each.mark & 0xffff, column)) taken.push_back(each);
        sort_by_id(taken, scratch_);
        std::size_t n = 0;
        for (const NamedFeature& each : taken) {
            if (n == 0 || taken[n - 1].id != each.id)
                taken[n++] = each;
            else if (each.sums)
                taken[n - 1].value += each.value;
        }
        taken.resize(n);
    }

    bool add_cross(const NamedFeature& a, const NamedFeature& b, std::string& why) {
        std::string& name = spelled_;
        name = names_.name_of(a.mark).append(" & ").append(names_.name_of(b.mark));
        if (name.size() > kLongestName) return why = "a cross: " + name_too_long(name.size()), false;
        if (!fits_in_marks(name, why)) return false;
        const std::size_t begin = names_.text.append(name.data(), name.size());
        row.add(name_id(name), name_mark(begin, name.size(), naming_.prefix_of_crosses()), a.value * b.value, true);
        return true;
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
    std::string spelled_;                      // the value of a category, or a cross
    std::vector<char> has_number_;
    std::vector<NamedFeature> ones_, others_, scratch_;
};

}  // namespace thresher
