// What is used where a standard library has no decimal numbers gives what the others give.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "check.hpp"
#include "thresher/platform.hpp"

using namespace thresher;

namespace {

std::string random_digits(std::mt19937& random, std::size_t n) {
    std::string digits;
    for (std::size_t i = 0; i < n; ++i) digits += static_cast<char>('0' + random() % 10);
    return digits;
}

TEST(decimals_have_one_value) {
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
        std::string number = random_digits(random, 1 + random() % 30);
        if (random() % 2 == 0) number += "." + random_digits(random, random() % 30);
        if (random() % 2 == 0) number += "e" + std::to_string(static_cast<int>(random() % 800) - 400);
        const auto [value, n_bytes] = starting_number(number);
        CHECK(n_bytes == number.size());
        CHECK(decimal_value(number) == value);
    }
    CHECK(decimal_value("4.9e-324") == 0x1p-1074 && decimal_value("1e-400") == 0.0);
    CHECK(decimal_value("1.7976931348623157e308") == 0x1.fffffffffffffp1023 && std::isinf(decimal_value("1e309")));
}

std::string_view written(char* (*write)(char*, float), float value, char* text) {
    return {text, static_cast<std::size_t>(write(text, value) - text)};
}

TEST(floats_are_written_with_the_fewest_digits) {
    std::mt19937 random(4);
    char with_printf[kFloatBytes], as_usual[kFloatBytes];
    auto check = [&](float value, bool may_have_another_digit) {
        const std::string_view one = written(write_float_with_printf, value, with_printf);
        const std::string_view two = written(write_float, value, as_usual);
        CHECK(one.size() <= kFloatBytes && std::strtof(std::string(one).c_str(), nullptr) == value);
        CHECK(std::strtof(std::string(two).c_str(), nullptr) == value);
        CHECK(one == two || may_have_another_digit);
    };
    for (int round = 0; round < 20000; ++round) {
        const auto bits = static_cast<std::uint32_t>(random());
        const float value = std::bit_cast<float>(bits);
        if (std::isfinite(value)) check(value, (bits & 0x7fffff) == 0);
    }
    for (const float value : {0.0f, -0.0f, 0.1f, 100.0f, 1e5f, 1e-4f, 123456792.0f, 33554440.0f, 3.4028235e38f, 1e-45f})
        check(value, false);
    for (int power = -149; power < 128; ++power) check(std::ldexp(1.0f, power), true);
    for (int thousandths = 1; thousandths < 5000; ++thousandths)
        check(static_cast<float>(thousandths) / 1000.0f, std::has_single_bit(static_cast<unsigned>(thousandths)));
}

}  // namespace
