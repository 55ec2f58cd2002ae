// Text in and out.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "check.hpp"
#include "exact.hpp"
#include "parsed_rows.hpp"
#include "rows.hpp"
#include "thresher/readers/line_range.hpp"
#include "thresher/readers/number_columns.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/readers/text.hpp"
#include "thresher/readers/vw.hpp"
#include "thresher/writers/svmlight.hpp"

using namespace thresher;
using thresher::tests::check_rows;
using thresher::tests::Exact;
using thresher::tests::Rows;

namespace {

// Text of every kind, most of it nearly right, in a buffer that ends right behind it.
TEST(readers_stay_within_their_bounds) {
    std::mt19937 random(5);
    const char* const parts[] = {"1",    "-1",      "+1.5e-3", " ",   " ",  " ", ":",   "12:3",
                                 " 3:4", " 5:0.25", "\n",      "\n",  "\r", "#", "|",   "|f",
                                 "x",    "9",       "qid:7",   "1e9", "'t", ".", "nan", "\t"};
    for (int round = 0; round < 20000; ++round) {
        std::string text;
        const std::size_t n_parts = random() % 40;
        for (std::size_t k = 0; k < n_parts; ++k) text += parts[random() % std::size(parts)];
        for (std::size_t k = random() % 4; k == 1 && !text.empty(); k = 0)
            text[random() % text.size()] = static_cast<char>(random());
        const Exact exact(text);
        for (const bool skip : {false, true}) {
            const auto svmlight = read_svmlight<std::int32_t>(exact.view(), skip);
            const auto vw = read_vw<std::int64_t>(exact.view(), skip);
            if (!svmlight.ids_too_wide) check_rows(svmlight);
            check_rows(vw);
        }
    }
}

// A file with this content that is closed with the object.
class ContentFile {
  public:
    explicit ContentFile(const std::string& content) : file_(std::tmpfile()) {
        CHECK(file_ != nullptr && std::fwrite(content.data(), 1, content.size(), file_) == content.size());
        std::fflush(file_);
    }
    ContentFile(const ContentFile&) = delete;
    ~ContentFile() { std::fclose(file_); }
    int number() const { return fileno(file_); }

  private:
    std::FILE* file_;
};

constexpr const char* kTooLong = "(too long)\n";

// The text of a file that is read in ranges of `step` bytes, one after another.
std::string lines_of(const std::string& content, std::size_t step, std::size_t longest = std::size_t{1} << 28) {
    const ContentFile file(content);
    std::string together;
    for (std::size_t begin = 0; begin < content.size(); begin += step) {
        const auto end = std::min(begin + step, content.size());
        const LineRange range = read_line_range({file.number(), static_cast<std::int64_t>(content.size()), longest},
                                                static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
        CHECK(range.text().data()[range.text().size()] == '\0');
        together += range.text();
        if (range.ends_too_long) together += kTooLong;
    }
    return together;
}

// However a file is cut into ranges, each line is in exactly one of them.
TEST(ranges_share_out_the_lines) {
    std::mt19937 random(6);
    for (int round = 0; round < 300; ++round) {
        std::string content;
        const std::size_t n_lines = random() % 12;
        for (std::size_t k = 0; k < n_lines; ++k)
            content += std::string(random() % (round % 9 ? 30 : 9000), 'a') + "\n";
        if (random() % 2) content += "last line";
        CHECK(lines_of(content, 1 + random() % 50) == content);
    }
}

// A line is too long if it has more bytes than allowed, wherever ranges begin and end; all others are read.
TEST(long_lines_are_found_exactly) {
    std::mt19937 random(7);
    for (int round = 0; round < 400; ++round) {
        const std::size_t longest = 20 + random() % (round % 5 ? 100 : 20000);
        std::string content, expected;
        const std::size_t n_lines = random() % 12;
        for (std::size_t k = 0; k < n_lines; ++k) {
            const std::size_t lengths[] = {random() % longest, longest, longest + 1,
                                           longest + random() % (4 * longest)};
            const std::string line(lengths[random() % 4], 'a');
            const bool is_last = k + 1 == n_lines && random() % 2;
            content += is_last ? line : line + "\n";
            expected += line.size() > longest ? kTooLong : is_last ? line : line + "\n";
        }
        CHECK(lines_of(content, 1 + random() % longest, longest) == expected);
    }
}

// A file that ends before the place where it ended at first did not end there.
TEST(a_file_that_shrinks_is_noticed) {
    const std::string content(100'000, 'a');
    const ContentFile file(content + "\n");
    for (const std::int64_t now : {0, 1, 50'000, 100'000}) {
        CHECK(ftruncate(file.number(), now) == 0);
        std::string message;
        try {
            read_line_range({file.number(), 100'001, std::size_t{1} << 28}, 0, 10);
        } catch (const FileShrank& error) {
            message = error.what();
        }
        CHECK(message == "the file was 100001 bytes long when it was opened and ends at byte " + std::to_string(now) +
                             " now: it changed while it was read.");
        CHECK(ftruncate(file.number(), 100'001) == 0);
    }
}

TEST(a_read_error_has_its_number) {
    int number = 0;
    try {
        read_line_range({-1, 10, 100}, 0, 10);
    } catch (const std::system_error& error) {
        number = error.code().value();
    }
    CHECK(number == EBADF);
}

TEST(text_reads_back) {
    Rows rows;
    rows.add({0, 3}, {0.1f, -1e-30f}, 0);
    rows.add({}, {}, 1);
    rows.add({2147483647}, {16777217.0f}, 1);
    const std::string text = write_svmlight(rows.batch(), 1, [&](std::size_t r) { return r == 0 ? "-1" : "1"; });
    const auto back = read_svmlight<std::int64_t>(text, false);
    CHECK(back.n_rows() == 3 && back.bad.empty() && back.ids.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(back.ids.data()[i] == rows.ids[i] + std::int64_t{1} && back.values.data()[i] == rows.values[i]);
}

// A label is a finite number or a word; what is a number but not finite is a bad line, not a class.
TEST(labels_are_finite_numbers_or_words) {
    for (const char* label : {"nan", "NaN", "-nan", "inf", "-inf", "+Infinity", "1e999", "-1e999", ".1e400"}) {
        const std::string text = std::string(label) + " 1:1\n1 2:1\n";
        const auto rows = read_svmlight<std::int32_t>(text, true);
        CHECK(rows.n_rows() == 1 && rows.words.empty() && rows.bad.size() == 1 && rows.bad[0].line == 0);
        CHECK(rows.bad[0].what == "'" + std::string(label) + "': the label must be a finite number or a word");
        for (const char* bar : {" | 1:1\n", "| 1:1\n"}) {
            const auto vw = read_vw<std::int32_t>(label + std::string(bar) + "1 | 2:1\n", true);
            CHECK(vw.n_rows() == 1 && vw.bad.size() == 1);
            CHECK(vw.bad[0].what == "'" + std::string(label) + "': the label must be a finite number");
        }
    }
    for (const char* label : {"nancy", "info", "n", "i", "+", "1e", "inf1", "1x", "nan(", "in", "1e999x", "-1e999-"}) {
        const auto rows = read_svmlight<std::int32_t>(std::string(label) + " 1:1\n", false);
        check_rows(rows);
        CHECK(rows.bad.empty() && rows.n_rows() == 1 && rows.words.size() == 1 && rows.words[0].second == label);
    }
    const auto rows = read_svmlight<std::int32_t>("1e308 1:1\n1e-999 1:1\n", false);
    CHECK(rows.bad.empty() && rows.labels.data()[0] == 1e308 && rows.labels.data()[1] == 0.0);
}

// Whole numbers that float64 can't tell apart come with their digits, however they are written.
TEST(large_labels_keep_their_digits) {
    const auto digits_of = [](const std::string& label) {
        const auto rows = read_svmlight<std::int32_t>(label + " 1:1\n", false);
        const auto vw = read_vw<std::int32_t>(label + "| 1:1\n", false);
        const auto named = read_named_vw(label + " 2 | a\n", false, Labels::required, false);
        CHECK(rows.bad.empty() && vw.bad.empty() && named.bad.empty());
        CHECK(rows.words == vw.words && rows.words == named.words);
        CHECK(rows.labels.data()[0] == vw.labels.data()[0] && rows.labels.data()[0] == named.labels.data()[0]);
        return rows.words.empty() ? std::string() : rows.words[0].second;
    };
    for (const char* label : {"9007199254740992", "9007199254740993", "-9007199254740993", "18446744073709551615",
                              "-9223372036854775808", "100000000000000000000000000000000000001"})
        CHECK(digits_of(label) == label);
    for (const char* label : {"+9007199254740993", "009007199254740993", "9007199254740993.", "+09007199254740993.00"})
        CHECK(digits_of(label) == "9007199254740993");
    CHECK(digits_of("-0009007199254740993.0") == "-9007199254740993");
    for (const char* label : {"9007199254740991", "-9007199254740991", "0", "1e17", "9.1e15", ".9e17", "1.e300",
                              "9007199254740993e0", "90071992547409930.5"})
        CHECK(digits_of(label).empty());
}

// Only the first bytes of a file can be a byte order mark, however small the first range is.
TEST(byte_order_mark_is_skipped_at_the_start_of_a_file) {
    const std::string mark = "\xef\xbb\xbf", content = mark + "1 1:1\n" + mark + "2 2:1\n";
    for (std::size_t step = 1; step <= content.size(); ++step) CHECK(lines_of(content, step) == content.substr(3));
    for (const std::string& short_content : {mark, mark + "\n", std::string("\xef\xbb"), std::string("\xef")})
        for (std::size_t step = 1; step <= 4; ++step)
            CHECK(lines_of(short_content, step) == without_byte_order_mark(short_content));
    CHECK(without_byte_order_mark(content) == std::string_view(content).substr(3));
    CHECK(without_byte_order_mark("1 1:1") == "1 1:1" && without_byte_order_mark("").empty());
}

// Columns in vectors of their own size, so that the sanitizers see a value too many; rows before the first are not
// read.
TEST(columns_of_numbers_are_rows) {
    std::mt19937 random(10);
    for (const std::size_t width : {0, 1, 3, 700})
        for (const std::size_t n_rows : {0, 1, 31, 300}) {
            const std::size_t offset = random() % 20;
            std::vector<std::vector<double>> wide(width);
            std::vector<std::vector<std::int16_t>> narrow(width);
            std::vector<NumberColumn> columns;
            for (std::size_t k = 0; k < width; ++k) {
                for (std::size_t i = 0; i < offset + n_rows; ++i) {
                    wide[k].push_back(static_cast<double>(random() % 3));
                    narrow[k].push_back(static_cast<std::int16_t>(wide[k].back()));
                }
                columns.push_back(k % 2 == 0 ? *NumberColumn::of("g", wide[k].data(), nullptr, offset)
                                             : *NumberColumn::of("s", narrow[k].data(), nullptr, offset));
            }
            const NumberRows rows = read_numbers(columns, n_rows);
            CHECK(rows.starts.size() == n_rows + 1);
            std::size_t n = 0;
            for (std::size_t row = 0; row < n_rows; ++row) {
                CHECK(rows.starts.data()[row] == static_cast<std::int32_t>(n));
                for (std::size_t k = 0; k < width; ++k) {
                    if (wide[k][offset + row] == 0.0) continue;
                    CHECK(rows.ids.data()[n] == static_cast<std::int32_t>(k));
                    CHECK(static_cast<double>(rows.values.data()[n]) == wide[k][offset + row]);
                    ++n;
                }
            }
            CHECK(rows.ids.size() == n && rows.values.size() == n);
        }
    CHECK(!NumberColumn::of("u", nullptr, nullptr, 0) && !NumberColumn::of("tdD", nullptr, nullptr, 0));
    for (std::size_t missing = 0; missing < 40; ++missing)
        for (std::size_t first = 0; first < 20; ++first) {
            std::vector<std::uint8_t> valid(5, 0xff);
            valid[missing / 8] &= static_cast<std::uint8_t>(~(1u << missing % 8));
            const NumberColumn column{'g', nullptr, valid.data(), first};
            CHECK(column.has_all(20) == (missing < first || missing >= first + 20));
        }
}

}  // namespace
