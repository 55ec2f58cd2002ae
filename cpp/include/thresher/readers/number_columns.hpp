// Columns of numbers, as Arrow has them, to rows in CSR: the column's place is the id, and 0 is no feature.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "thresher/readers/column.hpp"

namespace thresher {

// A column's values from the first row on, and which of them exist: a bit for each row, from bit `offset` on.
struct NumberColumn {
    char format = 'g';  // as in Arrow's C data interface
    const void* values = nullptr;
    const std::uint8_t* valid = nullptr;
    std::size_t offset = 0;

    // The column of a format that is read; nothing for another.
    static std::optional<NumberColumn> of(std::string_view format, const void* values, const void* valid,
                                          std::size_t offset) {
        if (format.size() != 1 || std::string_view("bcCsSiIlLfg").find(format[0]) == std::string_view::npos) return {};
        return NumberColumn{format[0], values, static_cast<const std::uint8_t*>(valid), offset};
    }

    bool has_all(std::size_t n_rows) const {
        if (valid == nullptr) return true;
        const auto is_valid = [this](std::size_t i) { return (valid[i / 8] >> (i % 8) & 1) != 0; };
        std::size_t i = offset;
        const std::size_t end = offset + n_rows;
        for (; i < end && i % 8 != 0; ++i)
            if (!is_valid(i)) return false;
        for (; i + 8 <= end; i += 8)
            if (valid[i / 8] != 0xff) return false;
        for (; i < end; ++i)
            if (!is_valid(i)) return false;
        return true;
    }

    // Writes rows from `begin` up to `end`, `stride` apart. Too large a value becomes infinite.
    void write(std::size_t begin, std::size_t end, float* out, std::size_t stride) const {
        const auto copy = [&]<class T>(const T* from) {
            for (std::size_t row = begin; row < end; ++row, out += stride)
                *out = static_cast<float>(from[offset + row]);
        };
        switch (format) {
            case 'b':
                for (std::size_t i = offset + begin; i < offset + end; ++i, out += stride)
                    *out = static_cast<float>(static_cast<const std::uint8_t*>(values)[i / 8] >> (i % 8) & 1);
                return;
            case 'c':
                return copy(static_cast<const std::int8_t*>(values));
            case 'C':
                return copy(static_cast<const std::uint8_t*>(values));
            case 's':
                return copy(static_cast<const std::int16_t*>(values));
            case 'S':
                return copy(static_cast<const std::uint16_t*>(values));
            case 'i':
                return copy(static_cast<const std::int32_t*>(values));
            case 'I':
                return copy(static_cast<const std::uint32_t*>(values));
            case 'l':
                return copy(static_cast<const std::int64_t*>(values));
            case 'L':
                return copy(static_cast<const std::uint64_t*>(values));
            case 'f':
                return copy(static_cast<const float*>(values));
            default:
                return copy(static_cast<const double*>(values));
        }
    }
};

struct NumberRows {
    Column<std::int32_t> starts, ids;
    Column<float> values;  // some may not be finite
};

inline NumberRows read_numbers(std::span<const NumberColumn> columns, std::size_t n_rows) {
    const std::size_t width = columns.size();
    NumberRows rows{Column<std::int32_t>(n_rows + 1), Column<std::int32_t>(n_rows * width),
                    Column<float>(n_rows * width)};
    // Some rows at a time, so that they stay in the cache between the two loops.
    const std::size_t step = std::clamp<std::size_t>((1 << 17) / std::max<std::size_t>(width, 1), 32, 256);
    std::vector<float> dense(step * width);
    std::int32_t* const ids = rows.ids.data();
    float* const values = rows.values.data();
    std::size_t n = 0;
    rows.starts.push(0);
    for (std::size_t begin = 0; begin < n_rows; begin += step) {
        const std::size_t end = std::min(begin + step, n_rows);
        for (std::size_t k = 0; k < width; ++k) columns[k].write(begin, end, dense.data() + k, width);
        for (std::size_t row = 0; row < end - begin; ++row) {
            const float* const from = dense.data() + row * width;
            for (std::size_t k = 0; k < width; ++k) {
                ids[n] = static_cast<std::int32_t>(k);
                values[n] = from[k];
                n += from[k] != 0.0f;
            }
            rows.starts.push(static_cast<std::int32_t>(n));
        }
    }
    rows.ids.grow(n);
    rows.values.grow(n);
    return rows;
}

}  // namespace thresher
