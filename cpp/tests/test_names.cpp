// Names of features: text of every kind stays within its bounds, rows are sorted, and the book keeps to its members.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "exact.hpp"
#include "parsed_rows.hpp"
#include "thresher/names/hash.hpp"
#include "thresher/names/name_book.hpp"
#include "thresher/names/naming.hpp"
#include "thresher/readers/json_lines.hpp"
#include "thresher/readers/vw.hpp"

using namespace thresher;
using thresher::tests::check_rows;
using thresher::tests::Exact;

namespace {

std::string scrambled(std::mt19937& random, std::span<const char* const> parts) {
    std::string text;
    const std::size_t n_parts = random() % 40;
    for (std::size_t k = 0; k < n_parts; ++k) text += parts[random() % parts.size()];
    if (random() % 4 == 1 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
    return text;
}

TEST(json_lines_stay_within_their_bounds) {
    std::mt19937 random(7);
    const char* const parts[] = {"{",
                                 "}",
                                 "\"t\"",
                                 ":",
                                 ",",
                                 "\"",
                                 "\\n",
                                 "\\u00e9",
                                 "\\ud83d\\ude00",
                                 "\\u",
                                 "null",
                                 "true",
                                 "false",
                                 "1.5",
                                 "-3",
                                 "[",
                                 "]",
                                 "\n",
                                 "\xc3\xa9",
                                 "\xe5\xad\x97",
                                 "\xff",
                                 "Hello",
                                 "world",
                                 "{\"y\": 1, \"t\": \"a B c\"}\n",
                                 "\"c\": ",
                                 "\"n\": ",
                                 "{\"y\": 1, \"n\": {\"a\": 2, \"b\": [1]}}\n",
                                 "{\"a\": 1",
                                 "}",
                                 "\"y\": ",
                                 "\\",
                                 " ",
                                 "\r"};
    const Naming naming(
        {{"t", ColumnKind::text}, {"c", ColumnKind::category}, {"n", ColumnKind::number, 2.0, 0.5, true}}, {1, 3},
        {{0, 1}, {1, 2}});
    std::size_t n_rows = 0;
    for (int round = 0; round < 20000; ++round) {
        const Exact text(scrambled(random, parts));
        for (const bool skip : {false, true}) {
            JsonLines reader(naming, {"y", "w", random() % 2 == 0 ? Labels::required : Labels::optional});
            const auto rows = reader.read(text.view(), skip);
            check_rows(rows);
            n_rows += rows.n_rows();
        }
    }
    CHECK(n_rows > 1000);
}

TEST(numbers_are_scaled_and_columns_crossed) {
    const Naming naming(
        {{"t", ColumnKind::text}, {"c", ColumnKind::category}, {"n", ColumnKind::number, 2.0, 0.5, true}},
        {1, 1, false, true}, {{0, 1}, {2, 1}});
    auto found = [&](std::string_view line) {
        const Exact text(line);
        const auto rows = JsonLines(naming, {"", "", Labels::none}).read(text.view(), false);
        check_rows(rows);
        std::map<std::string, float> features;
        for (std::size_t i = 0; i < rows.ids.size(); ++i) {
            const std::string name = rows.names->name_of(rows.names->marks.data()[i]);
            CHECK(name_id(name) == rows.ids.data()[i]);
            features[name] = rows.values.data()[i];
        }
        return features;
    };
    using Features = std::map<std::string, float>;
    // A word occurs twice, so that its count is in the cross; a category in a list does not count.
    CHECK((found("{\"t\": \"a b a\", \"c\": [\"x\", \"x\"], \"n\": 3}\n") ==
           Features{{"a", 2}, {"b", 1}, {"c=x", 1}, {"n", 2}, {"a & c=x", 2}, {"b & c=x", 1}, {"n & c=x", 2}}));
    CHECK((found("{\"c\": \"x\"}\n") == Features{{"c=x", 1}, {"n=missing", 1}, {"n=missing & c=x", 1}}));
    CHECK((found("{\"n\": 2}\n") == Features{}));  // the mean
    CHECK((found("{\"n\": null}\n") == Features{{"n=missing", 1}}));
}

TEST(named_vw_stays_within_its_bounds) {
    std::mt19937 random(8);
    const char* const parts[] = {
        "1",  "-1",   " ",  " ",  "|",    "|a",  "|b:2",     "x",    "y:3",   "z:", ":4",
        "17", "17:2", "\n", "\n", "'tag", "nan", "\xc3\xa9", "\xff", "1e400", "\t", "|a x y:2 |b z\n"};
    std::size_t n_rows = 0;
    for (int round = 0; round < 20000; ++round) {
        const Exact text(scrambled(random, parts));
        for (const bool hash_numbers : {false, true}) {
            const auto rows = read_named_vw(text.view(), random() % 2 == 0, Labels::optional, hash_numbers);
            check_rows(rows);
            n_rows += rows.n_rows();
        }
    }
    CHECK(n_rows > 1000);
}

TEST(characters_beyond_the_tables) {
    CHECK(!character(0x10ffff).is_word() && !character(0x10ffff).is_space());
    CHECK(character(U'É').is_word() && U'É' + character(U'É').to_lower() == U'é');
    CHECK(is_utf8("\xf4\x8f\xbf\xbf") && !is_utf8("\xf4\x90\x80\x80") && !is_utf8("\xc0\x80") && !is_utf8("\xe2\x82"));
}

TEST(rows_are_sorted_whatever_their_ids) {
    std::mt19937_64 random(9);
    std::vector<NamedFeature> scratch;
    for (const int n_bits : {1, 8, 20, 62, 63})
        for (const std::size_t n : {0, 1, 24, 25, 300, 5000}) {
            std::vector<NamedFeature> row;
            for (std::size_t i = 0; i < n; ++i)
                row.push_back({static_cast<std::int64_t>(random() >> (64 - n_bits)), i, 1.0f, true});
            auto expected = row;
            std::stable_sort(expected.begin(), expected.end(),
                             [](const auto& a, const auto& b) { return a.id < b.id; });
            sort_by_id(row, scratch);
            for (std::size_t i = 0; i < n; ++i) CHECK(row[i].id == expected[i].id && row[i].mark == expected[i].mark);
        }
}

// Marks of a file can point anywhere.
TEST(marks_must_lie_within_text_and_prefixes) {
    auto fits = [](std::uint64_t mark) { return marks_fit(std::vector{kNoName, mark, name_mark(0, 1, 0)}, 10, 2); };
    CHECK(fits(kNoName) && fits(name_mark(0, 10, 1)) && fits(name_mark(10, 0, 0)) && fits(name_mark(3, 7, 1)));
    CHECK(!fits(name_mark(3, 8, 1)) && !fits(name_mark(11, 0, 0)) && !fits(name_mark(0, 1, 2)));
    CHECK(!fits(name_mark(0xffffffff, 0xffff, 0)) && !fits(kNoName - 1));
    CHECK(marks_fit({}, 0, 0) && !marks_fit(std::vector{name_mark(0, 0, 0)}, 0, 0));
}

TEST(a_book_forgets_who_leaves) {
    NameBook book;
    const std::vector<std::string> prefixes = {"a^", ""};
    const std::vector<std::int64_t> ids = {3, 5, 7, 3};
    const std::uint64_t marks[] = {name_mark(0, 3, 0), name_mark(3, 3, 1), kNoName, name_mark(3, 3, 1)};
    auto read = [&] { book.read(std::span<const std::int64_t>(ids), {marks, nullptr, "onetwo", prefixes}, false); };
    read();
    book.keep(std::vector<std::int64_t>{3, 7});
    read();
    std::vector<std::string> names;
    book.for_each([&](std::int64_t id, const std::string& name) { names.push_back(std::to_string(id) + name); });
    CHECK(names == std::vector<std::string>{"3a^one"});
    CHECK(book.clashes().n == 1 && book.clashes().one == "a^one" && book.clashes().other == "two");
    book.keep(std::vector<std::int64_t>{5});
    book.for_each([&](std::int64_t, const std::string&) { CHECK(false); });
}

// At prediction the model compares the names themselves.
TEST(a_book_knows_strangers) {
    NameBook book;
    const std::vector<std::string> prefixes = {"a^", ""};
    const std::vector<std::int64_t> ids = {3, 5, 7, 9};
    const std::uint64_t own[] = {name_mark(0, 3, 0), name_mark(3, 3, 1), kNoName, name_mark(0, 3, 1)};
    const std::uint64_t others[] = {name_mark(3, 3, 0), kNoName, name_mark(0, 3, 0), name_mark(3, 3, 1)};
    book.keep(std::vector<std::int64_t>{3, 5, 7});  // and 9 is not selected
    book.read(std::span<const std::int64_t>(ids), {own, nullptr, "onetwo", prefixes}, false);
    auto strangers = [&](const std::uint64_t* marks) {
        return book.strangers(std::span<const std::int64_t>(ids), {marks, nullptr, "onetwo", prefixes});
    };
    CHECK(strangers(own).empty());
    CHECK((strangers(others) == std::vector<std::int64_t>{0, 1, 2}));
    CHECK(book.clashes().n == 0);
}

TEST(categories_by_value) {
    std::string scratch;
    auto value = [&](std::string_view written) { return std::string(category_value(written, scratch)); };
    CHECK(value("35.0") == "35" && value("-0.0") == "0" && value("007.0") == "007.0" && value("-") == "-");
    CHECK(value("2024-02-29T23:30:00-01:00") == "2024-03-01 00:30:00Z" && value("2024-02-29 00:00:00") == "2024-02-29");
    CHECK(category_value(35.0, "3.5e1", scratch) == "35" && category_value(0.5, "0.50", scratch) == "0.5");
}

// Ids that a multiplication without a secret puts into one slot, and the order of a book, which saved models have.
TEST(a_book_finds_any_ids_at_once_and_lists_them_in_order) {
    std::vector<std::int64_t> ids;
    for (std::uint64_t k = 0; ids.size() < 20'000; ++k)
        if (const std::uint64_t id = k * 0xf1de83e19937733du; id >> 63 == 0)
            ids.push_back(static_cast<std::int64_t>(id));
    CHECK(static_cast<std::uint64_t>(ids[1]) * 0x9e3779b97f4a7c15u < 100);
    NameBook book;
    book.keep(ids);
    CHECK(book.longest_search() < 150);
    for (const std::int64_t id : ids) book.set(id, std::to_string(id));
    std::vector<std::int64_t> seen;
    book.for_each([&](std::int64_t id, const std::string& name) {
        CHECK(name == std::to_string(id));
        seen.push_back(id);
    });
    std::sort(ids.begin(), ids.end());
    CHECK(seen == ids);
}

// Ids that are in no row of a batch need not be valid.
TEST(a_book_has_no_names_of_negative_ids) {
    const std::vector<std::int64_t> ids = {-1, 3, -5};
    const std::vector<std::uint64_t> marks(3, name_mark(0, 3, 0));
    const std::vector<std::string> prefixes = {""};
    for (const bool add : {false, true}) {
        NameBook book;
        book.keep(std::vector<std::int64_t>{3});
        book.read(std::span<const std::int64_t>(ids), {marks.data(), nullptr, "one", prefixes}, add);
        book.for_each([](std::int64_t id, const std::string& name) { CHECK(id == 3 && name == "one"); });
        CHECK(book.find(std::span<const std::int64_t>(ids)) == std::vector<std::int64_t>{1});
    }
}

}  // namespace
