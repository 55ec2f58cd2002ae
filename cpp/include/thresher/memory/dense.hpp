// Dense memory: the state of feature j lies at cell j.
//
// A cell is `Width` float32 side by side, so that one cache line brings all that a learner keeps of a feature. The
// learner itself never sees a cell: `gather` lays the cells of a row out in the planes of a RowBuffer, `scatter` puts
// them back. All-zero is the start state, so that untouched features cost no memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "thresher/memory/pages.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <std::size_t Width>
class DenseMemory {
  public:
    using Cell = std::array<float, Width>;

    // Features 0 … n_features() - 1 can be gathered.
    std::int64_t n_features() const { return static_cast<std::int64_t>(pages_.bytes() / sizeof(Cell)); }

    // Makes room for ids below n. A stream's ids arrive in no order, so room at least doubles.
    void reserve(std::int64_t n) {
        if (n <= n_features()) return;
        if (static_cast<std::uint64_t>(n) > SIZE_MAX / sizeof(Cell) / 2) throw std::bad_alloc();
        try {
            pages_.grow(static_cast<std::size_t>(std::max(n, 2 * n_features())) * sizeof(Cell));
        } catch (const std::bad_alloc&) {
            pages_.grow(static_cast<std::size_t>(n) * sizeof(Cell));
        }
    }

    // n features were touched since the last call.
    void touched(std::uint64_t n) { pages_.touched(n_touched_ += n); }

    Cell load(std::int64_t id) const {
        Cell cell;
        std::memcpy(&cell, cells() + static_cast<std::size_t>(id) * Width, sizeof(Cell));
        return cell;
    }

    void store(std::int64_t id, const Cell& cell) {
        std::memcpy(cells() + static_cast<std::size_t>(id) * Width, &cell, sizeof(Cell));
    }

    template <class Id>
    THRESHER_INLINE void gather(const Id* __restrict ids, std::size_t n, std::array<float*, Width> planes) const {
        const float* __restrict from = cells();
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < Width; ++k) planes[k][i] = from[static_cast<std::size_t>(ids[i]) * Width + k];
    }

    template <class Id>
    THRESHER_INLINE void scatter(const Id* __restrict ids, std::size_t n, std::array<float*, Width> planes) {
        float* __restrict to = cells();
        for (std::size_t i = 0; i < n; i += kLanes) {
            // The planes are interleaved first, a vector operation, so that each cell then takes a single store.
            Cell block[kLanes];
            for (std::size_t j = 0; j < kLanes; ++j)
                for (std::size_t k = 0; k < Width; ++k) block[j][k] = planes[k][i + j];
            const std::size_t count = std::min(kLanes, n - i);
            for (std::size_t j = 0; j < count; ++j)
                std::memcpy(to + static_cast<std::size_t>(ids[i + j]) * Width, &block[j], sizeof(Cell));
        }
    }

    // Calls visit(id, cell) for every cell that is not in its start state, in ascending order.
    template <class Visit>
    void for_each_touched(Visit visit) const {
        const Cell untouched{};
        for (std::int64_t id = 0, n = n_features(); id < n; ++id) {
            const Cell cell = load(id);
            if (std::memcmp(&cell, &untouched, sizeof(Cell)) != 0) visit(id, cell);
        }
    }

  private:
    float* cells() const { return static_cast<float*>(pages_.data()); }

    ZeroPages pages_;
    std::uint64_t n_touched_ = 0;
};

}  // namespace thresher
