// Rows as svmlight text: `label id:value …`, each value with the fewest digits that read back as the same float32.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "thresher/csr.hpp"
#include "thresher/platform.hpp"

namespace thresher {

// `label(r)` is the text of row r's label; `shift` is added to every id.
template <class Id, class Label>
std::string write_svmlight(const CsrBatch<Id>& batch, std::int64_t shift, Label label) {
    std::string text;
    const auto n = static_cast<std::size_t>(batch.starts[batch.n_rows] - batch.starts[0]);
    text.reserve(n * 16 + batch.n_rows * 8);
    for (std::size_t r = 0; r < batch.n_rows; ++r) {
        text += label(r);
        for (auto i = batch.starts[r]; i < batch.starts[r + 1]; ++i) {
            char token[64];
            char* p = token;
            *p++ = ' ';
            p = std::to_chars(p, token + sizeof(token), static_cast<std::int64_t>(batch.ids[i]) + shift).ptr;
            *p++ = ':';
            p = write_float(p, batch.values.narrow[i]);
            text.append(token, p);
        }
        text += '\n';
    }
    return text;
}

}  // namespace thresher
