// What the fuzz targets share. A CHECK that fails ends the run, as a sanitizer's finding does.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.hpp"
#include "exact.hpp"
#include "parsed_rows.hpp"
#include "thresher/csr.hpp"
#include "thresher/names/name_book.hpp"
#include "thresher/readers/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace thresher::fuzz {

using tests::check_rows;
using tests::Exact;

inline constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// Options follow from the size of an input, so that inputs are plain files and a mutation can still change them.
inline Labels labels_for(std::size_t number) {
    constexpr Labels kinds[] = {Labels::required, Labels::optional, Labels::none};
    return kinds[number % 3];
}

template <class Id>
CsrBatch<Id> batch_of(const ParsedText<Id>& rows) {
    return {rows.starts.data(), rows.ids.data(), {rows.values.data(), nullptr}, rows.n_rows()};
}

// Which of the checks that take longer than reading an input gets: one of them, by its hash, so that more inputs are
// tried in the same time; all, when inputs are run again.
class Turn {
  public:
    explicit Turn(std::string_view text) : turn_(static_cast<std::uint64_t>(name_id(text)) >> 40) {}
    bool is(std::uint64_t k, std::uint64_t n) const { return std::getenv("THRESHER_FUZZ_ALL") || turn_ % n == k; }

  private:
    std::uint64_t turn_;
};

// Rows that pass the check can be learned, in any batches with the same result; those of readers always pass it.
// Returns the members.
template <class Id>
std::vector<std::int64_t> check_learning(const CsrBatch<Id>& batch, std::int64_t largest_id,
                                         const double* row_weights = nullptr);

template <class Id>
void check_learning(const ParsedText<Id>& rows) {
    const auto members = check_learning(batch_of(rows), rows.largest_id, rows.row_weights.data());
    if (!rows.names) return;
    NameBook book;
    book.keep(members);
    book.read(
        std::span<const Id>(rows.ids.data(), rows.ids.size()),
        {rows.names->marks.data(), nullptr, {rows.names->text.data(), rows.names->text.size()}, rows.names->prefixes},
        false);
    book.for_each([](std::int64_t id, const std::string& name) { CHECK(name_id(name) == id); });
    CHECK(book.clashes().n == 0);
}

// A line that has a row, or is bad, and a hash of all that was read from it: what does not depend on how a text was
// cut.
using LineHashes = std::vector<std::pair<std::int64_t, std::uint64_t>>;

template <class Id>
void add_lines(const ParsedText<Id>& rows, std::int64_t first_line, LineHashes& list) {
    const std::size_t begin = list.size();
    auto mix = [](std::uint64_t& hash, auto number) { hash = fold(hash ^ static_cast<std::uint64_t>(number), kOdd); };
    auto mix_bits = [&](std::uint64_t& hash, double number) { mix(hash, std::bit_cast<std::uint64_t>(number)); };
    auto word = rows.words.begin();
    for (std::size_t r = 0; r < rows.n_rows(); ++r) {
        std::uint64_t hash = kOdd;
        mix_bits(hash, rows.labels.data()[r]);
        mix_bits(hash, rows.row_weights.data()[r]);
        for (auto i = rows.starts.data()[r]; i < rows.starts.data()[r + 1]; ++i) {
            mix(hash, rows.ids.data()[i]);
            mix_bits(hash, static_cast<double>(rows.values.data()[i]));
            const std::uint64_t mark = rows.names ? rows.names->marks.data()[i] : kNoName;
            if (mark == kNoName) continue;
            mix(hash, name_id(rows.names->prefixes[mark & 0xffff]));
            mix(hash, name_id(rows.names->text_of(mark)));
        }
        if (word != rows.words.end() && word->first == r) mix(hash, name_id((word++)->second));
        list.emplace_back(first_line + rows.lines.data()[r], hash);
    }
    CHECK(word == rows.words.end());
    for (const BadLine& bad : rows.bad) list.emplace_back(first_line + bad.line, name_id(bad.what));
    std::sort(list.begin() + static_cast<std::ptrdiff_t>(begin), list.end());
}

template <class Id>
LineHashes lines_of(const ParsedText<Id>& rows) {
    LineHashes list;
    add_lines(rows, 0, list);
    return list;
}

// Where a text can be cut in two: behind the newline that is nearest to its middle, from there on.
inline std::size_t cut_of(std::string_view text) {
    const std::size_t newline = text.find('\n', text.size() / 2);
    return newline == text.npos ? text.size() : newline + 1;
}

// A text in two pieces has the rows of the whole, and the same bad lines. `read` must go on after a bad line.
template <class Id, class Read>
void check_pieces(std::string_view text, const ParsedText<Id>& whole, Read read) {
    const std::size_t cut = cut_of(text);
    const Exact first(text.substr(0, cut)), second(text.substr(cut));
    const auto one = read(first.view()), two = read(second.view());
    if (one.needs_names || two.needs_names) return;
    // Whoever puts pieces together compares their namespaces; here they must agree.
    if (one.has_name_space && two.has_name_space && one.name_space != two.name_space) return;
    LineHashes found;
    add_lines(one, 0, found);
    add_lines(two, one.n_lines, found);
    CHECK(found == lines_of(whole) && one.n_lines + two.n_lines == whole.n_lines);
}

// Without `skip_bad` a reader stops at the first bad line, and has the rows before it.
template <class Id>
void check_stops(const ParsedText<Id>& stopped, const ParsedText<Id>& all) {
    LineHashes expected = lines_of(all);
    if (!all.bad.empty()) std::erase_if(expected, [&](const auto& line) { return line.first > all.bad.front().line; });
    CHECK(lines_of(stopped) == expected);
}

}  // namespace thresher::fuzz
