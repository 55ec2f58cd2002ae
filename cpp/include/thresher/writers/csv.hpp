// Rows as lines of a CSV file: what stands before the cells, then a cell for each column; 0 where a row has no value.
// Each value has the fewest digits that read back as the same float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "thresher/csr.hpp"
#include "thresher/platform.hpp"

namespace thresher {

// `before(r)` is the text of row r's first cells, without a comma at its end. Ids ascend and are below `n_columns`.
template <class Id, class Before>
std::string write_csv(const CsrBatch<Id>& batch, std::size_t n_columns, Before before) {
    std::string text;
    const auto n = static_cast<std::size_t>(batch.starts[batch.n_rows] - batch.starts[0]);
    text.reserve(n * 8 + batch.n_rows * (2 * n_columns + 8));
    for (std::size_t r = 0; r < batch.n_rows; ++r) {
        text += before(r);
        std::size_t column = 0;
        const auto skip_to = [&](std::size_t next) {
            for (; column < next; ++column) text += ",0";
        };
        for (auto i = batch.starts[r]; i < batch.starts[r + 1]; ++i) {
            const auto id = static_cast<std::size_t>(batch.ids[i]);
            if (id < column || id >= n_columns) throw std::invalid_argument("ids must ascend, below n_columns");
            skip_to(id);
            char cell[1 + kFloatBytes];
            cell[0] = ',';
            text.append(cell, write_float(cell + 1, batch.values.narrow[i]));
            ++column;
        }
        skip_to(n_columns);
        text += '\n';
    }
    return text;
}

}  // namespace thresher
