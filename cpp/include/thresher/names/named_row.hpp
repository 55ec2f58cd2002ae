// The features of a row that have names: hashed as they are read, with a mark each that says where the name is written,
// so that a string is made only for a feature that was selected.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/names/hash.hpp"
#include "thresher/readers/column.hpp"

namespace thresher {

inline constexpr std::size_t kLongestName = 65'535, kMostPrefixes = 65'535;

// Where a name is written: a prefix, and bytes of the text behind it. A feature without a name, which is known by its
// number alone, has kNoName.
inline constexpr std::uint64_t kNoName = ~std::uint64_t{0};
inline std::uint64_t name_mark(std::size_t begin, std::size_t length, std::size_t prefix) {
    return std::uint64_t{begin} << 32 | length << 16 | prefix;
}

inline std::string name_too_long(std::size_t length) {
    return "a name of " + std::to_string(length) + " bytes: names must not be longer than 64 KB";
}

// Whether every mark lies within a text and among prefixes, as those of a file need not.
inline bool marks_fit(std::span<const std::uint64_t> marks, std::uint64_t n_text, std::uint64_t n_prefixes) {
    bool fit = true;
    for (const std::uint64_t mark : marks)
        fit &= (mark == kNoName) | (((mark & 0xffff) < n_prefixes) & ((mark >> 32) + (mark >> 16 & 0xffff) <= n_text));
    return fit;
}

// What the marks of a batch refer to.
struct RowNames {
    Column<std::uint64_t> marks{0};
    Column<char> text{0};
    std::vector<std::string> prefixes;

    std::string_view text_of(std::uint64_t mark) const {
        return {text.data() + (mark >> 32), static_cast<std::size_t>(mark >> 16 & 0xffff)};
    }
    // Whether two marks are of the same name.
    bool is_same(std::uint64_t one, std::uint64_t other) const {
        if (one == other || one == kNoName || other == kNoName) return one == other;
        return (one & 0xffff) == (other & 0xffff) && text_of(one) == text_of(other);
    }
    std::string name_of(std::uint64_t mark) const {
        return std::string(prefixes[static_cast<std::size_t>(mark & 0xffff)]).append(text_of(mark));
    }
};

struct NamedFeature {
    std::int64_t id;
    std::uint64_t mark;
    float value;
    bool sums;  // whether a repeated feature adds up; else it counts once
};

// Sorts by id, in the order of appearance where ids are equal. Ids of names are spread evenly over 62 bits, so one
// pass puts nearly all of them where they belong.
inline void sort_by_id(std::vector<NamedFeature>& row, std::vector<NamedFeature>& scratch) {
    const auto by_id = [](const NamedFeature& a, const NamedFeature& b) { return a.id < b.id; };
    const std::size_t n = row.size();
    constexpr std::size_t few = 24, most_in_bucket = 64;
    auto insertion_sort = [&](NamedFeature* first, std::size_t size) {
        for (std::size_t i = 1; i < size; ++i) {
            const NamedFeature moving = first[i];
            std::size_t j = i;
            for (; j > 0 && moving.id < first[j - 1].id; --j) first[j] = first[j - 1];
            first[j] = moving;
        }
    };
    if (n <= few) return insertion_sort(row.data(), n);
    const int bits = std::min(static_cast<int>(std::bit_width(n)) - 1, 20);
    std::vector<std::uint32_t> ends((std::size_t{1} << bits) + 1);
    auto bucket = [bits](const NamedFeature& feature) {
        // Ids that are numbers can be larger than any hash.
        return std::min<std::size_t>(static_cast<std::uint64_t>(feature.id) >> (kNameBits - bits),
                                     (std::size_t{1} << bits) - 1);
    };
    for (const NamedFeature& feature : row) ++ends[bucket(feature) + 1];
    for (std::size_t b = 1; b < ends.size(); ++b) ends[b] += ends[b - 1];
    scratch.resize(n);
    for (const NamedFeature& feature : row) scratch[ends[bucket(feature)]++] = feature;
    row.swap(scratch);
    // Each entry of `ends` is now the end of its bucket.
    for (std::size_t b = 0, begin = 0; b + 1 < ends.size(); begin = ends[b++]) {
        const std::size_t size = ends[b] - begin;
        if (size <= most_in_bucket)
            insertion_sort(row.data() + begin, size);
        else  // numbers, or one name many times
            std::stable_sort(row.begin() + static_cast<std::ptrdiff_t>(begin),
                             row.begin() + static_cast<std::ptrdiff_t>(ends[b]), by_id);
    }
}

// The row at work, and the memory that rows share.
class NamedRow {
  public:
    void add(std::int64_t id, std::uint64_t mark, float value, bool sums) {
        features_.push_back({id, mark, value, sums});
    }
    void clear() { features_.clear(); }
    const std::vector<NamedFeature>& features() const { return features_; }

    // The id of a prefix and what follows it.
    std::int64_t id_of(std::string_view prefix, std::string_view rest) {
        if (prefix.empty()) return name_id(rest);
        whole_.resize(std::max(whole_.size(), prefix.size() + rest.size()));
        std::memcpy(whole_.data(), prefix.data(), prefix.size());
        if (!rest.empty()) std::memcpy(whole_.data() + prefix.size(), rest.data(), rest.size());
        return name_id({whole_.data(), prefix.size() + rest.size()});
    }

    // Moves the features behind those of earlier rows, in ascending order of id, each once. Of two names with the same
    // id, the first one counts. Returns whether all sums of repeated features are finite.
    bool move_to(Column<std::int64_t>& ids, Column<float>& values, RowNames& names) {
        sort_by_id(features_, scratch_);
        ids.ensure(features_.size());
        values.ensure(features_.size());
        names.marks.ensure(features_.size());
        bool finite = true;
        for (std::size_t i = 0; i < features_.size();) {
            const NamedFeature& first = features_[i];
            double sum = static_cast<double>(first.value);
            std::size_t end = i + 1;
            for (; end < features_.size() && features_[end].id == first.id; ++end)
                if (first.sums && names.is_same(first.mark, features_[end].mark))
                    sum += static_cast<double>(features_[end].value);
            const float value = first.sums ? static_cast<float>(sum) : first.value;
            finite &= std::isfinite(value);
            ids.push(first.id);
            values.push(value);
            names.marks.push(first.mark);
            i = end;
        }
        features_.clear();
        return finite;
    }

  private:
    std::vector<NamedFeature> features_, scratch_;
    std::vector<char> whole_;
};

}  // namespace thresher
