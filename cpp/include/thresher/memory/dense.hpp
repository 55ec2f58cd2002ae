// Dense memory: the state of feature j lies at cell j; with C > 2 classes, that of class c at cell j·C + c.
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
#include <span>

#include "thresher/concepts.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/simd.hpp"

namespace thresher {

// kVectors is 1, or std::dynamic_extent where only the data tell how many classes there are.
template <std::size_t Width, std::size_t kVectors = 1>
class DenseMemory {
  public:
    using Cell = std::array<float, Width>;
    using Planes = std::array<float*, Width>;

    // Cells that a page of 4 KiB has.
    static constexpr std::int64_t kGroup = 4096 / sizeof(Cell);

    explicit DenseMemory(std::size_t n_vectors = 1, const MemoryOptions& = {}) : n_vectors_(n_vectors) {}

    // Features 0 … n_features() - 1 can be gathered.
    std::int64_t n_features() const { return n_features_; }

    // Makes room for ids below n. A stream's ids come in any order, so the room at least doubles.
    void reserve(std::int64_t n) {
        if (n <= n_features_) return;
        if (static_cast<std::uint64_t>(n) > SIZE_MAX / 2 / stride()) throw std::bad_alloc();
        try {
            grow(static_cast<std::size_t>(std::max(n, 2 * n_features_)));
        } catch (const std::bad_alloc&) {
            grow(static_cast<std::size_t>(n));
        }
    }

    void admit(std::int64_t n) { reserve(n); }
    void make_room(std::span<const std::int64_t> ids) {
        if (!ids.empty()) reserve(ids.back() + 1);
    }

    Cell load(std::int64_t id, std::size_t c) const {
        Cell cell;
        std::memcpy(&cell, cells() + place(id, c), sizeof(Cell));
        return cell;
    }

    // Fetches a cell that will be loaded soon.
    void prefetch(std::int64_t id) const { __builtin_prefetch(cells() + place(id, 0)); }

    void store(std::int64_t id, std::size_t c, const Cell& cell) {
        std::memcpy(cells() + place(id, c), &cell, sizeof(Cell));
        if (large_) mark(&id, 1);
    }

    // There is nothing to look for.
    template <class Id>
    void locate(const Id*, std::size_t) {}

    // Loads and stores go one by one in every instruction set, so one copy is enough.
    template <class Id>
    THRESHER_KERNEL void gather(const Id* __restrict ids, std::size_t n, std::size_t c, Planes planes) const {
        const float* __restrict from = cells();
        by_fours(n, [=, this](std::size_t i) __attribute__((always_inline)) {
            for (std::size_t k = 0; k < Width; ++k) planes[k][i] = from[place(ids[i], c) + k];
        });
    }

    template <class Id>
    THRESHER_KERNEL void scatter(const Id* __restrict ids, std::size_t n, std::size_t c, Planes planes) {
        float* __restrict to = cells();
        for (std::size_t i = 0; i < n; i += kLanes) {
            // The planes are interleaved first, a vector operation, so that each cell then takes a single store.
            Cell block[kLanes];
            for (std::size_t j = 0; j < kLanes; ++j)
                for (std::size_t k = 0; k < Width; ++k) block[j][k] = planes[k][i + j];
            const std::size_t count = std::min(kLanes, n - i);
            for (std::size_t j = 0; j < count; ++j) std::memcpy(to + place(ids[i + j], c), &block[j], sizeof(Cell));
        }
        if (large_) mark(ids, n);
    }

    // How many features are not in their start state.
    std::size_t n_touched() const {
        std::size_t n = 0;
        for_each_touched([&](std::int64_t) { ++n; });
        return n;
    }

    // Calls visit(id) for every feature that is not in its start state, in ascending order.
    template <class Visit>
    void for_each_touched(Visit visit) const {
        std::int64_t last = -1;  // the cells of a feature can lie on two pages
        auto visit_touched = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t id = std::max(begin, last + 1); id < std::min(end, n_features_); ++id) {
                if (is_untouched(id)) continue;
                visit(id);
                last = id;
            }
        };
        if (!large_) return visit_touched(0, n_features_);
        const auto n = static_cast<std::int64_t>(n_vectors());
        const std::size_t n_words = n_groups() / 64;
        for (std::size_t word = 0; word < n_words; ++word)
            for (std::uint64_t bits = marks()[word]; bits != 0; bits &= bits - 1) {
                const auto group = static_cast<std::int64_t>(word * 64) + std::countr_zero(bits);
                visit_touched(group * kGroup / n, ((group + 1) * kGroup + n - 1) / n);
            }
    }

    // Replaces every cell by change(cell); a start state must stay one.
    template <class Change>
    void update(Change change) {
        for_each_touched([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors(); ++c) store(id, c, change(load(id, c)));
        });
    }

    // Counts the pages of 4 KiB that features take, given in ascending order; or, once they are a fifth of all up to
    // the last one, those: huge pages are about to be used.
    struct PageCount {
        std::size_t n_vectors = 1;
        std::int64_t n = 0, last = -1;

        void add(std::int64_t id) {
            const auto n_cells = static_cast<std::int64_t>(n_vectors);
            const std::int64_t first = id * n_cells / kGroup, end = (id * n_cells + n_cells - 1) / kGroup;
            n += end - std::max(first - 1, last);
            last = end;
        }
        std::size_t total() const { return static_cast<std::size_t>(5 * n > last + 1 ? last + 1 : n); }
    };

    // It depends on the rows alone, not on what was reserved.
    std::size_t n_pages() const {
        PageCount count{n_vectors()};
        for_each_touched([&](std::int64_t id) { count.add(id); });
        return count.total();
    }

    // All of the room is about to be used.
    void use_huge_pages() { pages_.use_huge_pages(pages_.bytes()); }

    // Gives all memory back; every feature is in its start state again.
    void clear() { *this = DenseMemory(n_vectors_); }

  private:
    // From 64 MiB on, reading through all cells, or giving all of them huge pages, would cost too much. Then groups of
    // cells, a small page of 4 KiB each, are marked when they are written to.
    static constexpr std::size_t kLargeBytes = std::size_t{1} << 26;

    float* cells() const { return static_cast<float*>(pages_.data()); }
    std::uint64_t* marks() const { return static_cast<std::uint64_t*>(marks_.data()); }
    std::size_t n_vectors() const { return kVectors == std::dynamic_extent ? n_vectors_ : kVectors; }
    std::size_t stride() const { return n_vectors() * sizeof(Cell); }
    std::size_t n_groups() const { return pages_.bytes() / 4096; }

    // Where the cell of a feature begins, in floats.
    template <class Id>
    THRESHER_INLINE std::size_t place(Id id, std::size_t c) const {
        if constexpr (kVectors == 1) return static_cast<std::size_t>(id) * Width;
        return (static_cast<std::size_t>(id) * n_vectors_ + c) * Width;
    }

    bool is_untouched(std::int64_t id) const {
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell cell = load(id, c), untouched{};
            if (std::memcmp(&cell, &untouched, sizeof(Cell)) != 0) return false;
        }
        return true;
    }

    void grow(std::size_t n) {
        const bool was_large = large_;
        const std::size_t bytes_before = pages_.bytes(), bytes = ZeroPages::whole_pages(n * stride());
        // Marks first: if memory is short for one of the two, there are more marks than cells, never fewer.
        if (bytes > kLargeBytes) marks_.grow(bytes / 4096 / 8);
        pages_.grow(bytes);
        n_features_ = static_cast<std::int64_t>(pages_.bytes() / stride());
        large_ = pages_.bytes() > kLargeBytes;
        if (!large_) {
            pages_.use_huge_pages(n * stride());
            return;
        }
        if (!was_large)
            for (std::size_t group = 0; group < bytes_before / 4096; ++group) mark_group(group);
    }

    void mark_group(std::size_t group) {
        const std::uint64_t bit = std::uint64_t{1} << (group % 64);
        n_marked_ += (marks()[group / 64] & bit) == 0;
        marks()[group / 64] |= bit;
    }

    // A region that is a quarter full is likely to fill up. Before that, huge pages would waste memory.
    template <class Id>
    [[gnu::noinline]] void mark(const Id* ids, std::size_t n) {
        constexpr auto kCells = static_cast<std::size_t>(kGroup);
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t group = place(ids[i], 0) / Width / kCells;
            mark_group(group);
            if constexpr (kVectors != 1)
                while (group < place(ids[i], n_vectors() - 1) / Width / kCells) mark_group(++group);
        }
        if (n_marked_ > n_groups() / 4 && !pages_.uses_huge_pages()) use_huge_pages();
    }

    std::size_t n_vectors_;
    std::int64_t n_features_ = 0;
    ZeroPages pages_;
    ZeroPages marks_;  // one bit per group of cells: was it written to?
    std::size_t n_marked_ = 0;
    bool large_ = false;
};

static_assert(Memory<DenseMemory<1>> && Memory<DenseMemory<2>> && Memory<DenseMemory<2, std::dynamic_extent>>);

}  // namespace thresher
