// The lines of a byte range of a file. Ranges can be read in any order, by any thread, and share out the lines.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
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

// A file whose lines are read: its size when it was opened, and how long a line may be, without its newline.
struct TextFile {
    int number;
    std::int64_t size;
    std::size_t longest_line;
};

// The file ends before the place where it ended when it was opened.
struct FileShrank : std::runtime_error {
    FileShrank(std::int64_t before, std::int64_t now) : std::runtime_error(message(before, now)) {}

    static std::string message(std::int64_t before, std::int64_t now) {
        return "the file was " + std::to_string(before) + " bytes long when it was opened and ends at byte " +
               std::to_string(now) + " now: it changed while it was read.";
    }
};

struct LineRange {
    RecycledBuffer buffer;
    std::size_t begin = 0, end = 0;
    bool ends_too_long = false;  // the last line of the range is longer than allowed; the text ends before it
    char* bytes() const { return static_cast<char*>(buffer.data()); }
    std::string_view text() const { return {bytes() + begin, end - begin}; }
};

// A line belongs to the range that its first byte lies in: bytes before the first newline are left to the range before,
// and the last line is read to its end. A byte order mark at the start of the file is left out. A byte '\0' follows the
// text. Only the last line of a range may be too long: a range is no longer than a line may be.
inline LineRange read_line_range(const TextFile& file, std::int64_t begin, std::int64_t end) {
    // The byte before shows whether a line starts at `begin`.
    const std::int64_t from = begin > 0 ? begin - 1 : 0;
    std::size_t capacity = static_cast<std::size_t>(end - from) + 4096, size = 0;
    LineRange range;
    range.buffer = RecycledBuffer(capacity + 1);
    auto fill = [&](std::size_t wanted) {
        size += read_at(file.number, from + static_cast<std::int64_t>(size), range.bytes() + size, wanted - size);
        const std::int64_t at = from + static_cast<std::int64_t>(size);
        if (size < wanted && at < file.size) throw FileShrank(file.size, at);
        return size == wanted;
    };
    // The place behind the first newline from `start` on, or the end of what was read.
    auto behind_newline = [&](std::size_t start) {
        const void* at = start < size ? std::memchr(range.bytes() + start, '\n', size - start) : nullptr;
        return at != nullptr ? static_cast<std::size_t>(static_cast<const char*>(at) - range.bytes()) + 1 : size;
    };
    auto has_newline = [&](std::size_t stop) { return stop > 0 && range.bytes()[stop - 1] == '\n'; };

    bool more = fill(capacity);
    range.begin = begin > 0 ? behind_newline(0) : 0;
    const std::size_t last = std::min(static_cast<std::size_t>(end - from), size);
    range.end = range.begin;
    if (range.begin < last) {
        std::size_t last_line = last - 1;
        while (last_line > range.begin && range.bytes()[last_line - 1] != '\n') --last_line;
        // The last line may end anywhere behind the range. One byte more than is allowed shows that it is too long.
        const std::size_t most = last_line + file.longest_line + 1;
        std::size_t stop = behind_newline(last - 1);
        while (more && !has_newline(stop) && size < most) {
            capacity = std::min(2 * capacity, most);
            RecycledBuffer larger(capacity + 1);
            std::memcpy(larger.data(), range.bytes(), size);
            range.buffer = std::move(larger);
            const std::size_t known = size;
            more = fill(capacity);
            stop = behind_newline(known);
        }
        range.ends_too_long = stop - has_newline(stop) - last_line > file.longest_line;
        range.end = range.ends_too_long ? last_line : stop;
    }
    if (begin == 0) range.begin += range.text().size() - without_byte_order_mark(range.text()).size();
    range.bytes()[range.end] = '\0';
    return range;
}

}  // namespace thresher
