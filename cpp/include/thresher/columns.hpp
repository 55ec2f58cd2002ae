// Picks columns out of a CSR batch; the work depends on the batch and on how many are picked, not on its width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "thresher/csr.hpp"
#include "thresher/secret_hash.hpp"

namespace thresher {

// Where an id stands in a list of distinct ids: a hash table, open, with linear probing, at most half full.
class ColumnIndex {
  public:
    static constexpr std::int32_t kAbsent = -1;

    ColumnIndex(const std::int64_t* ids, std::size_t n) {
        std::size_t slots = 16;
        while (slots < 2 * n) slots *= 2;
        slots_.assign(slots, {kFree, 0});
        for (std::size_t k = 0; k < n; ++k) {
            std::size_t at = slot(ids[k]);
            while (slots_[at].id != kFree) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = {ids[k], static_cast<std::int32_t>(k)};
        }
    }

    // The id's place in the list, or kAbsent.
    std::int32_t find(std::int64_t id) const {
        for (std::size_t at = slot(id);; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].id == kFree) return kAbsent;
            if (slots_[at].id == id) return slots_[at].place;
        }
    }

  private:
    static constexpr std::int64_t kFree = -1;
    struct Slot {
        std::int64_t id;
        std::int32_t place;
    };

    std::size_t slot(std::int64_t id) const { return hash_of_(id) & (slots_.size() - 1); }

    std::vector<Slot> slots_;
    IdHash hash_of_;
};

// Column ids[k] becomes column k; the ids are distinct and ascending. Fills `starts` (n_rows + 1 of them) and appends
// the picked entries: their new columns, and their places in the batch.
template <class Id>
void pick_columns(const CsrBatch<Id>& batch, const ColumnIndex& index, std::int64_t* starts,
                  std::vector<std::int32_t>& columns, std::vector<std::int64_t>& places) {
    for (std::size_t r = 0; r < batch.n_rows; ++r) {
        starts[r] = static_cast<std::int64_t>(columns.size());
        for (auto i = batch.starts[r]; i < batch.starts[r + 1]; ++i) {
            const std::int32_t column = index.find(static_cast<std::int64_t>(batch.ids[i]));
            if (column == ColumnIndex::kAbsent) continue;
            columns.push_back(column);
            places.push_back(static_cast<std::int64_t>(i));
        }
    }
    starts[batch.n_rows] = static_cast<std::int64_t>(columns.size());
}

// How many rows have a column of the index.
template <class Id>
std::size_t count_rows_with(const CsrBatch<Id>& batch, const ColumnIndex& index) {
    std::size_t n_rows = 0;
    for (std::size_t r = 0; r < batch.n_rows; ++r) {
        auto i = batch.starts[r];
        const auto end = batch.starts[r + 1];
        while (i < end && index.find(static_cast<std::int64_t>(batch.ids[i])) == ColumnIndex::kAbsent) ++i;
        n_rows += i < end;
    }
    return n_rows;
}

}  // namespace thresher
