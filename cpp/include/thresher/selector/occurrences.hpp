// In how many rows each member occurs, counted while a refit reads all rows and the members stay who they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "thresher/columns.hpp"

namespace thresher {

class Occurrences {
  public:
    explicit Occurrences(std::vector<std::int64_t> members)
        : ids(std::move(members)), n_rows(ids.size()), index_(ids.data(), ids.size()) {}

    // Counts a row that has these members.
    void add(std::span<const std::int64_t> members) {
        for (const std::int64_t id : members) ++n_rows[static_cast<std::size_t>(index_.find(id))];
    }

    std::vector<std::int64_t> ids, n_rows;

  private:
    ColumnIndex index_;
};

}  // namespace thresher
