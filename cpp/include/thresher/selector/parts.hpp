// What the members of a row add to a score: the products that it is the sum of. Which sum, docs/explaining.md says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher {

// Of several rows: entries starts[r] … starts[r + 1] - 1 are those of row r, in ascending order of id.
struct Parts {
    std::vector<std::int64_t> starts = {0};
    std::vector<std::int64_t> ids;
    std::vector<double> parts;

    // Of the row at work.
    void add(std::int64_t id, double part) {
        ids.push_back(id);
        parts.push_back(part);
    }
    void end_row() { starts.push_back(static_cast<std::int64_t>(ids.size())); }
};

}  // namespace thresher
