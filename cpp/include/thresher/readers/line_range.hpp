// The lines of a byte range of a file. Ranges can be read in any order, by any thread, and share out the lines.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "thresher/readers/recycled_buffer.hpp"
#include "thresher/readers/text.hpp"

namespace thresher {

// Reads up to `wanted` bytes at `from`; fewer only where the file ends.
inline std::size_t read_at(int file, std::int64_t from, char* into, std::size_t wanted) {
    std::size_t size = 0;
    while (size < wanted) {
        const ssize_t n = pread(file, into + size, wanted - size, from + static_cast<std::int64_t>(size));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw std::system_error(errno, std::generic_category(), "read");
        if (n == 0) break;
        size += static_cast<std::size_t>(n);
    }
    return size;
}

struct LineRange {
    RecycledBuffer buffer;
    std::size_t begin = 0, end = 0;
    char* bytes() const { return static_cast<char*>(buffer.data()); }
    std::string_view text() const { return {bytes() + begin, end - begin}; }
};

// A line belongs to the range that its first byte lies in: bytes before the first newline are left to the range before,
// and the last line is read to its end. A byte order mark at the start of the file is left out. A byte '\0' follows the
// text.
inline LineRange read_line_range(int file, std::int64_t begin, std::int64_t end) {
    // The byte before shows whether a line starts at `begin`.
    const std::int64_t from = begin > 0 ? begin - 1 : 0;
    std::size_t capacity = static_cast<std::size_t>(end - from) + 4096, size = 0;
    LineRange range;
    range.buffer = RecycledBuffer(capacity + 1);
    auto fill = [&](std::size_t wanted) {
        size += read_at(file, from + static_cast<std::int64_t>(size), range.bytes() + size, wanted - size);
        return size == wanted;
    };
    auto newline = [&](std::size_t start) {
        const void* at = start < size ? std::memchr(range.bytes() + start, '\n', size - start) : nullptr;
        return at != nullptr ? static_cast<std::size_t>(static_cast<const char*>(at) - range.bytes()) + 1 : size;
    };

    bool more = fill(capacity);
    range.begin = begin > 0 ? newline(0) : 0;
    const auto last = static_cast<std::size_t>(end - from);
    // A line that starts within the range may end anywhere behind it.
    std::size_t stop = range.begin >= last ? range.begin : last == 0 ? 0 : newline(last - 1);
    while (more && stop == size && range.begin < last && (size == 0 || range.bytes()[size - 1] != '\n')) {
        capacity *= 2;
        RecycledBuffer larger(capacity + 1);
        std::memcpy(larger.data(), range.bytes(), size);
        range.buffer = std::move(larger);
        const std::size_t known = size;
        more = fill(capacity);
        stop = newline(known);
    }
    range.end = std::max(std::min(stop, size), range.begin);
    if (begin == 0) range.begin += range.text().size() - without_byte_order_mark(range.text()).size();
    range.bytes()[range.end] = '\0';
    return range;
}

}  // namespace thresher
