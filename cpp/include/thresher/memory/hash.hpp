// Hash memory: only features that are not in their start state have a place, found by their id.
//
// It is for learners that keep nothing of an outsider (PET, FOFS): the table holds the B members and no more, so
// neither time nor memory depends on the number of columns. The table uses open addressing with linear probing and is
// mostly empty, so that nearly every look-up ends at its first place. An empty place holds a cell in its start state:
// reading it, or writing a start state back to it, needs no branch.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <std::size_t Width>
class HashMemory {
  public:
    using Cell = std::array<float, Width>;

    HashMemory() { rebuild(kSmallest); }

    // Features 0 … n_features() - 1 can be gathered: all possible ids.
    static constexpr std::int64_t n_features() { return std::numeric_limits<std::int64_t>::max(); }
    static constexpr void reserve(std::int64_t) {}

    Cell load(std::int64_t id) const { return cells_[place_of(id)]; }

    void store(std::int64_t id, const Cell& cell) {
        const std::size_t place = place_of(id);
        const bool blank = is_blank(cell);
        if (keys_[place] == id) {
            if (blank) return erase(place);
            cells_[place] = cell;
        } else if (!blank) {
            keys_[place] = id;
            cells_[place] = cell;
            ++size_;
            if (size_ * (keys_.size() <= kRoomy ? 8 : 2) > keys_.size()) rebuild(2 * keys_.size());
        }
    }

    // Fetches a cell that will be loaded soon.
    void prefetch(std::int64_t id) const {
        __builtin_prefetch(keys_.data() + home_of(id));
        __builtin_prefetch(cells_.data() + home_of(id));
    }

    template <class Id>
    THRESHER_INLINE void gather(const Id* __restrict ids, std::size_t n, std::array<float*, Width> planes) const {
        for (std::size_t i = 0; i < n; ++i) {
            const Cell& cell = cells_[place_of(static_cast<std::int64_t>(ids[i]))];
            for (std::size_t k = 0; k < Width; ++k) planes[k][i] = cell[k];
        }
    }

    // Writes to features that have a place. All others must still be in their start state: `store` adds a new one.
    template <class Id>
    THRESHER_INLINE void scatter(const Id* __restrict ids, std::size_t n, std::array<float*, Width> planes) {
        for (std::size_t i = 0; i < n; ++i) {
            Cell& cell = cells_[place_of(static_cast<std::int64_t>(ids[i]))];
            for (std::size_t k = 0; k < Width; ++k) cell[k] = planes[k][i];
        }
    }

    // How many cells are not in their start state.
    std::size_t n_touched() const { return size_; }

    // Calls visit(id, cell) for every cell that is not in its start state, in ascending order.
    template <class Visit>
    void for_each_touched(Visit visit) const {
        std::vector<std::int64_t> ids;
        for (const std::int64_t key : keys_)
            if (key != kEmpty) ids.push_back(key);
        std::sort(ids.begin(), ids.end());
        for (const std::int64_t id : ids) visit(id, load(id));
    }

  private:
    static constexpr std::int64_t kEmpty = -1;
    static constexpr std::size_t kSmallest = 64;
    static constexpr std::size_t kRoomy = std::size_t{1} << 17;  // up to this size the table fits into the caches

    static bool is_blank(const Cell& cell) {
        const Cell blank{};
        return std::memcmp(&cell, &blank, sizeof(Cell)) == 0;
    }

    std::size_t home_of(std::int64_t id) const {
        return static_cast<std::size_t>((static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15u) >> shift_);
    }

    // The place of the feature, or the one it would get.
    THRESHER_INLINE std::size_t place_of(std::int64_t id) const {
        std::size_t place = home_of(id);
        for (;;) {
            const std::int64_t key = keys_[place];
            if ((key == id) | (key == kEmpty)) return place;
            place = (place + 1) & mask_;
        }
    }

    // Removes a feature, and moves up those behind it that would no longer be found.
    void erase(std::size_t hole) {
        --size_;
        for (std::size_t next = (hole + 1) & mask_; keys_[next] != kEmpty; next = (next + 1) & mask_) {
            const std::size_t home = home_of(keys_[next]);
            if (((next - home) & mask_) < ((next - hole) & mask_)) continue;
            keys_[hole] = keys_[next];
            cells_[hole] = cells_[next];
            hole = next;
        }
        keys_[hole] = kEmpty;
        cells_[hole] = Cell{};
    }

    void rebuild(std::size_t n_places) {
        std::vector<std::int64_t> keys(n_places, kEmpty);
        std::vector<Cell> cells(n_places, Cell{});
        keys.swap(keys_);
        cells.swap(cells_);
        mask_ = n_places - 1;
        shift_ = 64 - std::countr_zero(n_places);
        for (std::size_t k = 0; k < keys.size(); ++k) {
            if (keys[k] == kEmpty) continue;
            const std::size_t place = place_of(keys[k]);
            keys_[place] = keys[k];
            cells_[place] = cells[k];
        }
    }

    std::vector<std::int64_t> keys_;
    std::vector<Cell> cells_;
    std::size_t size_ = 0, mask_ = 0;
    int shift_ = 0;
};

static_assert(Memory<HashMemory<1>> && Memory<HashMemory<2>>);

}  // namespace thresher
