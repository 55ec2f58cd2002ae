// A text in a buffer that ends right behind it, so that the sanitizers see the first byte too many.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace thresher::tests {

struct Exact {
    explicit Exact(std::string_view text) : bytes(new char[text.size() + 1]), size(text.size()) {
        if (size > 0) std::memcpy(bytes.get(), text.data(), size);
        bytes[size] = '\0';
    }
    std::string_view view() const { return {bytes.get(), size}; }
    std::unique_ptr<char[]> bytes;
    std::size_t size;
};

}  // namespace thresher::tests
