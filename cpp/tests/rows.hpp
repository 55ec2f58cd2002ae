// Rows for tests, one after another.
#pragma once

#include <cstdint>
#include <vector>

#include "thresher/csr.hpp"

namespace thresher::tests {

struct Rows {
    std::vector<std::int32_t> starts{0}, ids;
    std::vector<float> values;
    std::vector<std::int32_t> classes;

    void add(std::vector<std::int32_t> row_ids, std::vector<float> row_values, std::int32_t label) {
        ids.insert(ids.end(), row_ids.begin(), row_ids.end());
        values.insert(values.end(), row_values.begin(), row_values.end());
        starts.push_back(static_cast<std::int32_t>(ids.size()));
        classes.push_back(label);
    }
    CsrBatch<std::int32_t> batch() const {
        return {starts.data(), ids.data(), {values.data(), nullptr}, classes.size()};
    }
};

}  // namespace thresher::tests
