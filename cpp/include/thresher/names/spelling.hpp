// How names are spelled, so that two features never have the same name, and one value never has two.
//
//   number    column              category  column=value              text  column^n-gram, or just the n-gram
//
// In a column, and in a namespace of VW text, a backslash stands before each `=`, `^` and `\`. So the first `=` or `^`
// without one ends the column, and what follows is the value as it is.
//
// A category is named by its value: 35.0, as one missing value makes pandas write 35, is 35; a time is the same in
// every unit and zone.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace thresher {

inline constexpr bool needs_backslash(char c) { return c == '=' || c == '^' || c == '\\'; }

inline std::string escaped(std::string_view column) {
    std::string out;
    for (const char c : column) {
        if (needs_backslash(c)) out += '\\';
        out += c;
    }
    return out;
}

// A name without a namespace: `column=value` or `column`.
inline std::string escaped_before_value(std::string_view name) {
    const std::size_t end = std::min(name.find('='), name.size());
    return escaped(name.substr(0, end)).append(name.substr(end));
}

namespace spelling {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads digits at the front of a text and removes them; nothing if there are fewer.
inline std::optional<int> take_digits(std::string_view& text, std::size_t n) {
    if (text.size() < n) return {};
    int number = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (!is_digit(text[i])) return {};
        number = 10 * number + (text[i] - '0');
    }
    text.remove_prefix(n);
    return number;
}

inline bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

// Reads a fraction of a second behind its point; zeros at the end say nothing.
inline std::optional<std::string_view> take_fraction(std::string_view& text) {
    std::size_t n = 0;
    while (n < text.size() && is_digit(text[n])) ++n;
    if (n == 0) return {};
    const std::string_view digits = text.substr(0, n);
    text.remove_prefix(n);
    return digits.substr(0, digits.find_last_not_of('0') + 1);
}

// The zone behind a time, in minutes ahead of UTC; nothing if it is no zone.
inline std::optional<int> zone(std::string_view text) {
    take(text, ' ');
    if (text == "Z" || text == "z" || text == "UTC" || text == "GMT") return 0;
    const bool is_behind = take(text, '-');
    if (!is_behind && !take(text, '+')) return {};
    const std::optional<int> hours = take_digits(text, 2);
    if (!hours || *hours > 23) return {};
    int minutes = 60 * *hours;
    if (!text.empty()) {
        take(text, ':');
        const std::optional<int> rest = take_digits(text, 2);
        if (!rest || *rest > 59 || !text.empty()) return {};
        minutes += *rest;
    }
    return is_behind ? -minutes : minutes;
}

// A date and time, `2024-02-29 03:04:05.5` or, with a zone, in UTC with a Z behind it. At midnight, where no zone is
// given, the date alone: a table of days has no more. False if the text is none.
inline bool spell_time(std::string_view text, std::string& out) {
    namespace time = std::chrono;
    std::optional<int> year, month, day;
    if (!(year = take_digits(text, 4)) || !take(text, '-') || !(month = take_digits(text, 2)) || !take(text, '-') ||
        !(day = take_digits(text, 2)))
        return false;
    const time::year_month_day date{time::year{*year}, time::month{static_cast<unsigned>(*month)},
                                    time::day{static_cast<unsigned>(*day)}};
    if (!date.ok() || !(take(text, ' ') || take(text, 'T'))) return false;
    const std::optional<int> hour = take_digits(text, 2);
    if (!hour || *hour > 23 || !take(text, ':')) return false;
    const std::optional<int> minute = take_digits(text, 2);
    if (!minute || *minute > 59) return false;
    std::optional<int> second = 0;
    std::optional<std::string_view> fraction = std::string_view();
    if (take(text, ':')) {
        if (!(second = take_digits(text, 2)) || *second > 59) return false;
        if (take(text, '.') && !(fraction = take_fraction(text))) return false;
    }
    const std::optional<int> ahead = zone(text);
    if (!ahead && !text.empty()) return false;
    const time::sys_seconds moment =
        time::sys_days{date} + time::hours{*hour} + time::minutes{*minute - ahead.value_or(0)} + time::seconds{*second};
    const time::sys_days midnight = time::floor<time::days>(moment);
    const time::year_month_day in_utc{midnight};
    const time::hh_mm_ss clock{moment - midnight};
    if (in_utc.year() < time::year{0} || in_utc.year() > time::year{9999}) return false;
    std::array<char, 32> digits;
    std::snprintf(digits.data(), digits.size(), "%04d-%02u-%02u", static_cast<int>(in_utc.year()),
                  static_cast<unsigned>(in_utc.month()), static_cast<unsigned>(in_utc.day()));
    out = digits.data();
    if (!ahead && moment == midnight && fraction->empty()) return true;
    std::snprintf(digits.data(), digits.size(), " %02d:%02d:%02d", static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    out += digits.data();
    if (!fraction->empty()) out.append(".").append(*fraction);
    if (ahead) out += 'Z';
    return true;
}

// `03:04:05.5` without zeros at the end; other texts are as they are.
inline std::string_view without_zeros(std::string_view clock) {
    std::string_view rest = clock;
    if (!take_digits(rest, 2) || !take(rest, ':') || !take_digits(rest, 2) || !take(rest, ':') ||
        !take_digits(rest, 2) || !take(rest, '.'))
        return clock;
    const std::optional<std::string_view> fraction = take_fraction(rest);
    if (!fraction || !rest.empty()) return clock;
    return clock.substr(0, fraction->empty() ? 8 : 9 + fraction->size());
}

// A whole number without the zeros behind its point. Others are as they are, and so is 007.0, a code.
inline std::string_view as_whole(std::string_view text) {
    const std::size_t begin = text.front() == '-' ? 1 : 0, point = text.find('.');
    if (point == text.npos || point == begin || point + 1 == text.size()) return text;
    if (text[begin] == '0' && point > begin + 1) return text;
    for (std::size_t i = begin; i < point; ++i)
        if (!is_digit(text[i])) return text;
    if (text.find_first_not_of('0', point + 1) != text.npos) return text;
    return text[begin] == '0' ? text.substr(begin, 1) : text.substr(0, point);  // -0 is 0
}

}  // namespace spelling

// The value of a category that is written like this: a view of it, or of `out`.
inline std::string_view category_value(std::string_view written, std::string& out) {
    const char first = written.empty() ? 'x' : written.front();
    if (!spelling::is_digit(first) && first != '-') return written;
    if (written.size() > 15 && written[4] == '-') return spelling::spell_time(written, out) ? out : written;
    return written.size() > 8 && written[2] == ':' ? spelling::without_zeros(written) : spelling::as_whole(written);
}

// The same for a value that is known to be a number: also 3.5e1 is 35, and 0.50 is 0.5.
inline std::string_view category_value(double number, std::string_view written, std::string& out) {
    constexpr double exact = 9007199254740992.0;  // whole numbers below 2^53
    if (std::fabs(number) < exact && number == std::trunc(number))
        return out = std::to_string(static_cast<std::int64_t>(number));
    if (written.find('.') == written.npos || written.find_first_of("eE") != written.npos) return written;
    const std::string_view whole = spelling::as_whole(written);
    return whole.size() < written.size() ? whole : written.substr(0, written.find_last_not_of('0') + 1);
}

}  // namespace thresher
