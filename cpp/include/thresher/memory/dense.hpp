// Dense memory: the state of feature j lies at cell j.
//
// A cell is `Width` float32 side by side, so that one cache line holds all that a learner keeps of a feature. `gather`
// lays the cells of a row out in the planes of a RowBuffer, where the learner works; `scatter` puts them back. All
// zeros is the start state, so that untouched features cost no memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "thresher/concepts.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <std::size_t Width>
class DenseMemory {
  public:
    using Cell = std::array<float, Width>;

    // Features 0 … n_features() - 1 can be gathered.
    std::int64_t n_features() const { return static_cast<std::int64_t>(pages_.bytes() / sizeof(Cell)); }

    // Makes room for ids below n. A stream's ids come in any order, so the room at least doubles.
    void reserve(std::int64_t n) {
        if (n <= n_features()) return;
        if (static_cast<std::uint64_t>(n) > SIZE_MAX / sizeof(Cell) / 2) throw std::bad_alloc();
        try {
            grow(static_cast<std::size_t>(std::max(n, 2 * n_features())));
        } catch (const std::bad_alloc&) {
            grow(static_cast<std::size_t>(n));
        }
    }

    Cell load(std::int64_t id) const {
        Cell cell;
        std::memcpy(&cell, cells() + static_cast<std::size_t>(id) * Width, sizeof(Cell));
        return cell;
    }

    // Fetches a cell that will be loaded soon.
    void prefetch(std::int64_t id) const { __builtin_prefetch(cells() + static_cast<std::size_t>(id) * Width); }

    void store(std::int64_t id, const Cell& cell) {
        std::memcpy(cells() + static_cast<std::size_t>(id) * Width, &cell, sizeof(Cell));
        if (large_) mark(&id, 1);
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
        if (large_) mark(ids, n);
    }

    // How many cells are not in their start state.
    std::size_t n_touched() const {
        std::size_t n = 0;
        for_each_touched([&](std::int64_t, const Cell&) { ++n; });
        return n;
    }

    // Calls visit(id, cell) for every cell that is not in its start state, in ascending order.
    template <class Visit>
    void for_each_touched(Visit visit) const {
        const Cell untouched{};
        auto look = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t id = begin; id < end; ++id) {
                const Cell cell = load(id);
                if (std::memcmp(&cell, &untouched, sizeof(Cell)) != 0) visit(id, cell);
            }
        };
        if (!large_) return look(0, n_features());
        const std::size_t n_words = n_groups() / 64;
        for (std::size_t word = 0; word < n_words; ++word)
            for (std::uint64_t bits = marks()[word]; bits != 0; bits &= bits - 1) {
                const auto group = static_cast<std::int64_t>(word * 64) + std::countr_zero(bits);
                look(group * kGroup, (group + 1) * kGroup);
            }
    }

  private:
    // From 64 MiB on, reading through all cells, or giving all of them huge pages, would cost too much. Then groups of
    // cells, a small page of 4 KiB each, are marked when they are written to.
    static constexpr std::int64_t kGroup = 4096 / sizeof(Cell);
    static constexpr std::size_t kLargeBytes = std::size_t{1} << 26;
    // Few cells need few small pages. Clearing a huge page takes 0.1 ms, a fifth of the time to learn a thousand rows
    // of text, and a race for γ has nine states.
    static constexpr std::size_t kFewBytes = std::size_t{1} << 17;

    float* cells() const { return static_cast<float*>(pages_.data()); }
    std::uint64_t* marks() const { return static_cast<std::uint64_t*>(marks_.data()); }
    std::size_t n_groups() const { return static_cast<std::size_t>(n_features() / kGroup); }

    void grow(std::size_t n) {
        const bool was_large = large_;
        const std::int64_t n_before = n_features();
        pages_.grow(n * sizeof(Cell));
        large_ = pages_.bytes() > kLargeBytes;
        if (!large_) {
            if (n * sizeof(Cell) > kFewBytes) pages_.use_huge_pages();
            return;
        }
        marks_.grow(n_groups() / 8);
        if (!was_large)
            for (std::int64_t id = 0; id < n_before; id += kGroup) mark(&id, 1);
    }

    // A region that is a quarter full is likely to fill up. Before that, huge pages would waste memory.
    template <class Id>
    [[gnu::noinline]] void mark(const Id* ids, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const auto group = static_cast<std::size_t>(ids[i]) / static_cast<std::size_t>(kGroup);
            const std::uint64_t bit = std::uint64_t{1} << (group % 64);
            n_marked_ += (marks()[group / 64] & bit) == 0;
            marks()[group / 64] |= bit;
        }
        if (n_marked_ > n_groups() / 4 && !pages_.uses_huge_pages()) pages_.use_huge_pages();
    }

    ZeroPages pages_;
    ZeroPages marks_;  // one bit per group of cells: was it written to?
    std::size_t n_marked_ = 0;
    bool large_ = false;
};

static_assert(Memory<DenseMemory<1>> && Memory<DenseMemory<2>>);

}  // namespace thresher
