// What the text readers share: numbers, the rows they collect, and bad lines.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thresher/names/named_row.hpp"
#include "thresher/platform.hpp"
#include "thresher/readers/column.hpp"
#include "thresher/simd.hpp"

namespace thresher {

// Ids run from 0 to 2^63 − 2.
inline constexpr std::uint64_t kIdLimit = (std::uint64_t{1} << 63) - 1;

// Whether rows have labels. Those that can lack one, as rows to predict, have NaN.
enum class Labels { required, optional, none };

// float64 can't tell whole numbers from here on apart; labels.py has the same limit.
inline bool is_large_label(double number) { return std::fabs(number) >= 0x1p53; }

// The digits of such a label, if it is a whole number written in full; else nothing.
inline std::string large_digits(std::string_view written) {
    const std::string_view size = written.substr(written.find_first_not_of("+-0"));
    const std::size_t n_digits = std::min(size.find('.'), size.size());
    if (size.find_first_not_of("0123456789") < n_digits) return {};
    if (size.find_first_not_of('0', n_digits + 1) != size.npos) return {};
    return (written.starts_with('-') ? "-" : "") + std::string(size.substr(0, n_digits));
}

struct BadLine {
    std::int64_t line;  // counted from 0, from the start of the text
    std::string what;
};

// The rows of a piece of text, in canonical CSR.
template <class Id>
struct ParsedText {
    Column<Id> starts, ids;
    Column<float> values;
    Column<double> labels;
    Column<double> row_weights;
    Column<std::int32_t> lines;   // the line of each row, from 0
    bool weighted = false;        // some row has an importance other than 1
    std::string name_space;       // of VW text: the one whose names are numbers
    bool has_name_space = false;  // whether there was one
    // Rows whose label is not a number, and that label; or the digits of a whole number that `labels` has rounded.
    std::vector<std::pair<std::size_t, std::string>> words;
    std::vector<BadLine> bad;
    std::int64_t n_lines = 0;
    std::int64_t largest_id = -1;
    bool zero_seen = false;
    bool ids_too_wide = false;      // an id does not fit Id: read again with a wider one
    bool needs_names = false;       // a name is not a number: read again with names
    std::optional<RowNames> names;  // where features have names

    // Room for the most that the text can hold, so that nothing has to grow while reading. Memory that is not used is
    // never touched.
    ParsedText(std::size_t max_rows, std::size_t max_features)
        : starts(max_rows + 1),
          ids(max_features),
          values(max_features),
          labels(max_rows),
          row_weights(max_rows),
          lines(max_rows) {
        starts.push(0);
    }

    std::size_t n_rows() const { return labels.size(); }

    void add_feature(std::uint64_t id, double value) {
        if (id > static_cast<std::uint64_t>(std::numeric_limits<Id>::max())) ids_too_wide = true;
        ids.push(static_cast<Id>(id));
        values.push(static_cast<float>(value));
    }

    // `word` is the label as written, if it is not a number or a large one. Returns whether the row is valid: repeated
    // ids may add up to more than a float32 can hold.
    bool end_row(double label, double importance, std::string_view word) {
        if (!sort_row()) return false;
        before_ = {largest_id, zero_seen};
        const auto begin = static_cast<std::size_t>(starts.data()[starts.size() - 1]);
        if (ids.size() > begin) {
            zero_seen |= ids.data()[begin] == 0;
            largest_id = std::max(largest_id, static_cast<std::int64_t>(ids.data()[ids.size() - 1]));
        }
        if (!word.empty()) {
            std::string kept = is_large_label(label) ? large_digits(word) : std::string(word);
            if (!kept.empty()) words.emplace_back(n_rows(), std::move(kept));
        }
        starts.push(static_cast<Id>(ids.size()));
        labels.push(label);
        row_weights.push(importance);
        lines.push(static_cast<std::int32_t>(n_lines));
        weighted |= importance != 1.0;
        return true;
    }

    // Removes the last row.
    void undo_row() {
        starts.cut(starts.size() - 1);
        labels.cut(labels.size() - 1);
        row_weights.cut(labels.size());
        lines.cut(labels.size());
        if (!words.empty() && words.back().first == n_rows()) words.pop_back();
        largest_id = before_.largest_id;
        zero_seen = before_.zero_seen;
        drop_row();
    }

    // Removes the features of a row that was not ended.
    void drop_row() {
        ids.cut(static_cast<std::size_t>(starts.data()[starts.size() - 1]));
        values.cut(ids.size());
        if (names) names->marks.cut(ids.size());
    }

  private:
    // Real files have unsorted and repeated ids; repeated ones are summed.
    bool sort_row() {
        const auto begin = static_cast<std::size_t>(starts.data()[starts.size() - 1]);
        Id* first = ids.data() + begin;
        const std::size_t n = ids.size() - begin;
        Id n_falls = 0;  // as wide as the ids, so that the loop becomes vector code
        for (std::size_t i = 1; i < n; ++i) n_falls |= first[i - 1] >= first[i];
        if (n_falls == 0) return true;
        std::vector<std::pair<Id, float>> row(n);
        for (std::size_t i = 0; i < n; ++i) row[i] = {first[i], values.data()[begin + i]};
        std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        drop_row();
        bool finite = true;
        for (std::size_t i = 0; i < n;) {
            double sum = 0.0;
            const Id id = row[i].first;
            for (; i < n && row[i].first == id; ++i) sum += static_cast<double>(row[i].second);
            ids.push(id);
            values.push(static_cast<float>(sum));
            finite &= std::isfinite(static_cast<float>(sum));
        }
        return finite;
    }

    // As they were before the last row.
    struct {
        std::int64_t largest_id;
        bool zero_seen;
    } before_{-1, false};
};

inline constexpr const char* kSumTooLarge = "a repeated id adds up to more than a float32 can hold";

inline constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
inline constexpr bool ends_line(char c) { return c == '\n' || c == '\0'; }

inline const char* token_end(const char* p) {
    while (!is_space(*p) && !ends_line(*p)) ++p;
    return p;
}

// The text without a UTF-8 byte order mark, which some programs write at the start of a file.
inline std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    if (text.starts_with(mark)) text.remove_prefix(mark.size());
    return text;
}

inline std::string quoted(const char* begin, const char* end) {
    const std::size_t n = std::min<std::size_t>(static_cast<std::size_t>(end - begin), 40);
    std::string text(begin, n);
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ') c = '?';
    return "'" + text + (begin + n < end ? "…'" : "'");
}

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr double kSignedPowersOfTen[2][9] = {{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8},
                                                    {-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8}};
inline constexpr std::int64_t kWholePowersOfTen[] = {1,       10,        100,        1'000,      10'000,
                                                     100'000, 1'000'000, 10'000'000, 100'000'000};

// How far read_plain_pair may look.
inline constexpr std::ptrdiff_t kPlainPairBytes = 34;

#if defined(__SSE2__)

// The n digits at p, 0 < n ≤ 8, as values 0 … 9, filled up with leading zeros to eight. A byte that is not a digit
// becomes more than 9.
THRESHER_INLINE std::uint64_t digits_at(const char* p, unsigned n) {
    std::uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    return (bytes ^ 0x3030303030303030u) << (64 - 8 * n);
}

struct TwoNumbers {
    std::int64_t first, second;
    bool are_numbers;
};

// Two numbers of eight digits at once: pairs of digits, then fours, then the whole.
THRESHER_INLINE TwoNumbers as_numbers(std::uint64_t first, std::uint64_t second) {
    const __m128i digits = _mm_unpacklo_epi64(_mm_cvtsi64_si128(std::bit_cast<std::int64_t>(first)),
                                              _mm_cvtsi64_si128(std::bit_cast<std::int64_t>(second)));
    const __m128i above_nine = _mm_subs_epu8(digits, _mm_set1_epi8(9));
    // Two digits a and b are a + 256·b here; times 10·256 + 1, modulo 2^16, that is 256·(10·a + b) + a.
    const __m128i pairs = _mm_srli_epi16(_mm_mullo_epi16(digits, _mm_set1_epi16(10 * 256 + 1)), 8);
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(100 | 1 << 16));
    const __m128i wholes = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(10'000 | 1 << 16));
    const std::int64_t both = _mm_cvtsi128_si64(wholes);
    return {both & 0xffffffff, both >> 32,
            _mm_movemask_epi8(_mm_cmpeq_epi8(above_nine, _mm_setzero_si128())) == 0xffff};
}

// Reads a plain pair, which nearly every feature is: id:value, the value with or without a sign and decimals, no part
// longer than 8 digits (7 before the point), followed by a space or a newline. Returns its length, or 0 for anything
// else.
//
// Files mix lengths and signs at random, so a loop over digits is mispredicted twice per feature. Here a comparison of
// all bytes finds the end, which is all that the next feature waits for, and no branch depends on a length.
THRESHER_INLINE unsigned read_plain_pair(const char* p, std::uint32_t& id, float& value) {
    auto is_end = [](__m128i bytes)
                      __attribute__((always_inline)) { return _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ' + 1)); };
    auto is_colon = [](__m128i bytes)
                        __attribute__((always_inline)) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')); };
    auto is_dot = [](__m128i bytes)
                      __attribute__((always_inline)) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8('.')); };
    auto places = [](__m128i found)
                      __attribute__((always_inline)) { return static_cast<unsigned>(_mm_movemask_epi8(found)); };
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    unsigned ends = places(is_end(first)), colons = places(is_colon(first)), dots = places(is_dot(first));
    if (ends == 0) {  // longer than 16 bytes: true for few pairs of a file, or for nearly all of them
        const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16));
        ends = places(is_end(second)) << 16;
        colons |= places(is_colon(second)) << 16;
        dots |= places(is_dot(second)) << 16;
    }
    const auto end = static_cast<unsigned>(std::countr_zero(ends)),
               colon = static_cast<unsigned>(std::countr_zero(colons));
    const unsigned dot = std::min(static_cast<unsigned>(std::countr_zero(dots)), end);
    const bool negative = p[colon + 1] == '-';
    const unsigned whole = colon + 1 + negative;
    const unsigned n_decimals = end - dot - (dot < end);
    // Unsigned, so that a part that is missing or misplaced counts as far too long.
    const unsigned n_whole = dot - whole;
    if ((colon - 1 > 7) | (n_whole - 1 > 6) | (n_decimals > 8) | ((p[end] != ' ') & (p[end] != '\n'))) return 0;
    const std::uint64_t name = digits_at(p, colon);
    TwoNumbers both;
    std::int64_t size;
    if (n_decimals == 0) {
        both = as_numbers(name, digits_at(p + whole, n_whole));
        size = both.second;
    } else {
        both = as_numbers(name, digits_at(p + dot + 1, n_decimals));
        size = static_cast<unsigned char>(p[whole]) - std::int64_t{'0'};
        if (n_whole == 1) {  // most values are below 10
            both.are_numbers &= static_cast<std::uint64_t>(size) <= 9;
        } else {
            const TwoNumbers again = as_numbers(name, digits_at(p + whole, n_whole));
            both.are_numbers &= again.are_numbers;
            size = again.second;
        }
        size = size * kWholePowersOfTen[n_decimals] + both.second;
    }
    if (!both.are_numbers) return 0;
    id = static_cast<std::uint32_t>(both.first);
    // As in `read_number`: digits and power are exact, so one division rounds once. The divisor carries the sign: half
    // of all values may be negative, at random, and a branch on the sign would be mispredicted.
    value = static_cast<float>(static_cast<double>(size) / kSignedPowersOfTen[negative][n_decimals]);
    return end;
}

// Reads all plain pairs at p, separated by single spaces, and moves p behind them.
template <class Id>
THRESHER_INLINE void read_plain_pairs(const char*& p, const char* end_of_text, ParsedText<Id>& rows) {
    Id* ids = rows.ids.data() + rows.ids.size();
    float* values = rows.values.data() + rows.values.size();
    const char* at = p;
    std::size_t n = 0;
    while (end_of_text - at >= kPlainPairBytes) {
        std::uint32_t id;
        const unsigned length = read_plain_pair(at, id, values[n]);
        if (length == 0) break;
        ids[n++] = static_cast<Id>(id);  // of eight digits at most, so that it fits
        at += length;
        if (*at != ' ') break;
        ++at;
    }
    rows.ids.grow(n);
    rows.values.grow(n);
    p = at;
}

#else

template <class Id>
void read_plain_pairs(const char*&, const char*, ParsedText<Id>&) {}

#endif

// Reads a decimal number at p, rounded as Python's float() does, and moves p behind it. The text must end in a byte
// that no number contains. Returns false, with p and value as they were, if there is no number, or one that is not
// finite.
inline bool read_number(const char*& p, double& value) {
    const char* q = p;
    const bool negative = *q == '-';
    if (*q == '-' || *q == '+') ++q;
    const char* const digits = q;
    std::uint64_t mantissa = 0;
    unsigned digit;
    while ((digit = static_cast<unsigned char>(*q) - unsigned{'0'}) < 10) mantissa = mantissa * 10 + digit, ++q;
    std::ptrdiff_t n_digits = q - digits, n_decimals = 0;
    if (*q == '.') {
        const char* const point = ++q;
        while ((digit = static_cast<unsigned char>(*q) - unsigned{'0'}) < 10) mantissa = mantissa * 10 + digit, ++q;
        n_decimals = q - point;
        n_digits += n_decimals;
    }
    if (n_digits == 0) return false;
    std::ptrdiff_t exponent = -n_decimals;
    if (*q == 'e' || *q == 'E') {
        const char* e = q + 1;
        const bool down = *e == '-';
        if (*e == '-' || *e == '+') ++e;
        const char* const first = e;
        std::ptrdiff_t written = 0;
        while ((digit = static_cast<unsigned char>(*e) - unsigned{'0'}) < 10)
            written = std::min<std::ptrdiff_t>(written * 10 + digit, 100000), ++e;
        if (e == first) return false;
        exponent += down ? -written : written;
        q = e;
    }
    // Both the digits and the power of ten are exact in float64, so one operation rounds once (Clinger 1990).
    if (n_digits <= 19 && mantissa <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
        const double size = exponent < 0 ? static_cast<double>(mantissa) / kPowersOfTen[-exponent]
                                         : static_cast<double>(mantissa) * kPowersOfTen[exponent];
        value = negative ? -size : size;
        p = q;
        return true;
    }
    const double size = decimal_value({digits, static_cast<std::size_t>(q - digits)});
    if (!std::isfinite(size)) return false;
    value = negative ? -size : size;
    p = q;
    return true;
}

// Whether a word is a number that is not finite: nan, inf, infinity, or one beyond float64, such as 1e999.
inline bool is_number_not_finite(std::string_view word) {
    // Few words start like a number, and only those are worth a copy.
    const std::size_t first = word.find_first_not_of("+-");
    if (first == word.npos || first > 1 || std::string_view("0123456789.nNiI").find(word[first]) == word.npos)
        return false;
    const auto [number, n_bytes] = starting_number(word);
    return n_bytes == word.size() && !std::isfinite(number);
}

// Reads an id's digits. Returns false if there are none, or if the number is too large for an id.
inline bool read_id(const char*& p, std::uint64_t& id) {
    const char* q = p;
    std::uint64_t number = 0;
    unsigned digit;
    while ((digit = static_cast<unsigned char>(*q) - unsigned{'0'}) < 10) {
        if (number > kIdLimit / 10) return false;
        number = number * 10 + digit;
        ++q;
    }
    if (q == p || number >= kIdLimit) return false;
    id = number;
    p = q;
    return true;
}

// Reads `text`, which a byte '\0' must follow, by calling read_line(p, rows, why) for each line: it moves p to the end
// of the line and returns whether the line is good; if not, `why` has the reason. Stops at the first bad line unless
// `skip_bad`. No feature takes fewer than `feature_bytes`, counting the space before it; with kNamed they have names,
// and read_line makes room for them.
inline constexpr std::size_t kNamed = 0;
template <class Id, class ReadLine>
ParsedText<Id> read_lines(std::string_view text, bool skip_bad, std::size_t feature_bytes, ReadLine read_line) {
    const char* p = text.data();
    const char* const end = p + text.size();
    auto next_line = [end](const char* at) {
        at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        return at != nullptr ? at + 1 : end;
    };
    std::size_t n_lines = 0;
    for (const char* line = p; line < end; line = next_line(line)) ++n_lines;
    ParsedText<Id> rows(n_lines + 1, feature_bytes == kNamed ? 0 : text.size() / feature_bytes + 1);
    if (feature_bytes == kNamed) rows.names.emplace();
    std::string why;
    while (p < end) {
        const std::size_t n_rows = rows.n_rows();
        bool good = read_line(p, rows, why);
        if (!good) rows.drop_row();
        if (good && *p == '\0' && p < end) {
            good = false;
            why = "a zero byte: this is not text";
            if (rows.n_rows() > n_rows) rows.undo_row();
        }
        if (!good) {
            rows.bad.push_back({rows.n_lines, std::exchange(why, {})});
            if (!skip_bad) break;
        }
        if (rows.ids_too_wide || rows.needs_names) break;
        p = next_line(p);
        ++rows.n_lines;
    }
    return rows;
}

}  // namespace thresher
