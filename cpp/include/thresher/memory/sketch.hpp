// Sketch memory: members exactly, all other features in a table of fixed size. Any id below 2^63 - 1.
//
// Members have entries in a hash table, which holds B features and no more. An outsider has a slot of the table by the
// hash of its id, and shares it with the features of the same slot. With no collision everything equals dense memory,
// to the bit. The table says how a slot is shared:
//
//   SignedTable    ShadowSOFS: one row of slots {μ, E}. A feature reads its μ with a sign of its own, also by hash, so
//                  that in expectation others cancel; E is the sum of all. What a step adds to a feature is added to
//                  its slot. A feature that enters takes its share along, one that leaves brings it back.
//   CountMinTable  SOFS, whose outsiders have E only: two rows of slots. E is the lesser of a feature's two slots, and
//                  never below the true one. A step raises both slots to the new E only (conservative update). A
//                  feature that enters leaves its share, which the bound needs; one that leaves raises its slots.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/learners/second_order.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/selector/changes.hpp"
#include "thresher/simd.hpp"
#include "thresher/splitmix.hpp"

namespace thresher {

// 64 random bits of an id.
THRESHER_INLINE std::uint64_t scrambled(std::int64_t id) { return mix(static_cast<std::uint64_t>(id) + kPhi); }

// A number below n ≤ 2^32, from 32 random bits.
THRESHER_INLINE std::size_t below(std::uint32_t bits, std::size_t n) {
    return static_cast<std::size_t>((std::uint64_t{bits} * n) >> 32);
}

inline constexpr std::size_t kMostSlots = std::size_t{1} << 32;  // of a row

// Floats of a table, and a few behind them that are written to in vain, which saves a branch.
class Slots {
  public:
    Slots(std::size_t n, std::size_t n_in_vain) : n_(n) {
        pages_.grow((n + n_in_vain) * sizeof(float));
        pages_.use_huge_pages(n * sizeof(float));
    }
    std::size_t size() const { return n_; }
    float* data() const { return static_cast<float*>(pages_.data()); }

  private:
    std::size_t n_;
    ZeroPages pages_;
};

class SignedTable {
  public:
    using Cell = SecondOrder::Cell;
    static constexpr bool kKeepsBefore = true;  // a step needs to know what was gathered
    static constexpr bool kKeepsMeans = true;
    using Merging = SecondOrder;  // a slot merges as a feature does

    struct Slot {
        std::size_t at;      // in floats
        std::uint32_t sign;  // the sign bit, or 0
    };

    SignedTable(std::size_t bytes, std::size_t n_vectors)
        : n_vectors_(n_vectors),
          n_slots_(std::min(bytes / (n_vectors * sizeof(Cell)), kMostSlots)),
          slots_(n_slots_ * n_vectors * kWidth, n_vectors * kWidth) {}

    std::span<float> floats() const { return {slots_.data(), slots_.size()}; }

    THRESHER_INLINE Slot slot_of(std::int64_t id) const {
        const std::uint64_t bits = scrambled(id);
        return {below(static_cast<std::uint32_t>(bits >> 32), n_slots_) * n_vectors_ * kWidth,
                static_cast<std::uint32_t>(bits) << 31};
    }
    THRESHER_INLINE Slot in_vain() const { return {slots_.size(), 0}; }

    // Whether this can be the content: a precision has no sign, which is the mark of a member.
    static bool is_valid(std::span<const float> floats) {
        for (std::size_t i = 0; i < floats.size(); ++i)
            if (!std::isfinite(floats[i]) || (i % kWidth == 1 && std::signbit(floats[i]))) return false;
        return true;
    }

    THRESHER_INLINE void prefetch(const Slot& slot) const { __builtin_prefetch(slots_.data() + slot.at, 1); }

    THRESHER_INLINE Cell read(const Slot& slot, std::size_t c) const {
        const float* from = slots_.data() + slot.at + c * kWidth;
        return {turned(from[0], slot.sign), from[1]};
    }

    // The same after a merge; `merged(number, cell)` is what becomes of a cell of the table.
    template <class Merged>
    Cell read(const Slot& slot, std::size_t c, Merged merged) const {
        const std::size_t number = slot.at / kWidth + c;
        const Cell cell = merged(number, cell_at(floats(), number));
        return {turned(cell[0], slot.sign), cell[1]};
    }
    static Cell cell_at(std::span<const float> floats, std::size_t number) {
        return {floats[number * kWidth], floats[number * kWidth + 1]};
    }

    // A step has changed a feature from `before`, which was read from its slot. If another feature of the row has
    // changed the slot since, only the difference is added.
    THRESHER_INLINE void step(const Slot& slot, std::size_t c, const Cell& before, const Cell& after) {
        const Cell now = read(slot, c);
        if (std::memcmp(&now, &before, sizeof(Cell)) == 0)
            write(slot, c, after);
        else
            write(slot, c, {now[0] + (after[0] - before[0]), now[1] + (after[1] - before[1])});
    }

    void take_out(const Slot& slot, std::size_t c, const Cell& share) { add(slot, c, share, -1.0f); }
    void bring_back(const Slot& slot, std::size_t c, const Cell& share) { add(slot, c, share, 1.0f); }

    template <class Change>
    void update(Change change) {
        for (std::size_t i = 0; i < slots_.size(); i += kWidth) {
            Cell cell;
            std::memcpy(&cell, slots_.data() + i, sizeof(Cell));
            cell = change(cell);
            std::memcpy(slots_.data() + i, &cell, sizeof(Cell));
        }
    }

  private:
    static constexpr std::size_t kWidth = 2;

    THRESHER_INLINE static float turned(float value, std::uint32_t sign) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign);
    }
    // A zero is always +0, whatever the sign: it is the start state.
    THRESHER_INLINE void write(const Slot& slot, std::size_t c, const Cell& cell) {
        float* to = slots_.data() + slot.at + c * kWidth;
        to[0] = turned(cell[0], slot.sign) + 0.0f;
        to[1] = std::min(std::max(cell[1], 0.0f), std::numeric_limits<float>::max());
    }
    void add(const Slot& slot, std::size_t c, const Cell& share, float sign) {
        const Cell now = read(slot, c);
        write(slot, c, {now[0] + sign * share[0], now[1] + sign * std::fabs(share[1])});
    }

    std::size_t n_vectors_, n_slots_;
    Slots slots_;
};

class CountMinTable {
  public:
    using Cell = SecondOrder::Cell;
    static constexpr bool kKeepsBefore = false;
    static constexpr bool kKeepsMeans = false;

    // Precisions add up.
    struct Merging {
        using Cell = std::array<float, 1>;
        using Change = std::array<float, 1>;
        using Sum = std::array<double, 1>;
        static Change change(const Cell& from, const Cell& to) { return {std::max(to[0] - from[0], 0.0f)}; }
        static Sum weighed(const Change& change) { return {static_cast<double>(change[0])}; }
        static Cell moved(const Cell& from, const Sum& sum, double) {
            constexpr auto limit = static_cast<double>(std::numeric_limits<float>::max());
            return {static_cast<float>(std::min(static_cast<double>(from[0]) + sum[0], limit))};
        }
    };

    struct Slot {
        std::array<std::size_t, 2> at;  // in floats
    };

    CountMinTable(std::size_t bytes, std::size_t n_vectors)
        : n_vectors_(n_vectors),
          n_slots_(std::min(bytes / (2 * n_vectors * sizeof(float)), kMostSlots)),
          slots_(2 * n_slots_ * n_vectors, n_vectors) {}

    std::span<float> floats() const { return {slots_.data(), slots_.size()}; }

    THRESHER_INLINE Slot slot_of(std::int64_t id) const {
        const std::uint64_t bits = scrambled(id);
        return {{below(static_cast<std::uint32_t>(bits >> 32), n_slots_) * n_vectors_,
                 (n_slots_ + below(static_cast<std::uint32_t>(bits), n_slots_)) * n_vectors_}};
    }
    THRESHER_INLINE Slot in_vain() const { return {{slots_.size(), slots_.size()}}; }

    static bool is_valid(std::span<const float> floats) {
        return std::all_of(floats.begin(), floats.end(), [](float x) { return std::isfinite(x) && !std::signbit(x); });
    }
    THRESHER_INLINE void prefetch(const Slot& slot) const {
        for (const std::size_t at : slot.at) __builtin_prefetch(slots_.data() + at, 1);
    }

    THRESHER_INLINE Cell read(const Slot& slot, std::size_t c) const {
        return {0.0f, std::min(slots_.data()[slot.at[0] + c], slots_.data()[slot.at[1] + c])};
    }
    template <class Merged>
    Cell read(const Slot& slot, std::size_t c, Merged merged) const {
        const auto excess = [&](std::size_t at) { return merged(at + c, cell_at(floats(), at + c))[0]; };
        return {0.0f, std::min(excess(slot.at[0]), excess(slot.at[1]))};
    }
    static Merging::Cell cell_at(std::span<const float> floats, std::size_t number) { return {floats[number]}; }
    THRESHER_INLINE void step(const Slot& slot, std::size_t c, const Cell&, const Cell& after) {
        raise(slot, c, after);
    }
    void take_out(const Slot&, std::size_t, const Cell&) {}
    void bring_back(const Slot& slot, std::size_t c, const Cell& share) { raise(slot, c, share); }

    // Precisions have no sign.
    template <class Change>
    void update(Change) {}

  private:
    THRESHER_INLINE void raise(const Slot& slot, std::size_t c, const Cell& to) {
        for (const std::size_t at : slot.at) {
            float& excess = slots_.data()[at + c];
            excess = std::max(excess, std::fabs(to[1]));
        }
    }

    std::size_t n_vectors_, n_slots_;
    Slots slots_;
};

template <class Table, std::size_t kVectors = 1>
class SketchMemory {
  public:
    using Cell = SecondOrder::Cell;
    using Planes = SecondOrder::Planes;

    explicit SketchMemory(std::size_t n_vectors, const MemoryOptions& options)
        : members_(n_vectors), table_(options.bytes, n_vectors), n_vectors_(n_vectors) {}

    static constexpr std::int64_t n_features() { return std::numeric_limits<std::int64_t>::max(); }
    static constexpr void reserve(std::int64_t) {}
    static constexpr void admit(std::int64_t) {}
    static constexpr void make_room(std::span<const std::int64_t>) {}

    Cell load(std::int64_t id, std::size_t c) const {
        const Cell cell = members_.load(id, c);
        return is_member(cell) ? cell : table_.read(table_.slot_of(id), c);
    }

    void store(std::int64_t id, std::size_t c, const Cell& cell) {
        const bool was_member = is_member(members_.load(id, c));
        if (is_member(cell)) {
            if (!was_member) table_.take_out(table_.slot_of(id), c, cell);
            members_.store(id, c, cell);
        } else {
            if (was_member) members_.store(id, c, Cell{});
            table_.bring_back(table_.slot_of(id), c, cell);
        }
    }

    void prefetch(std::int64_t id) const { members_.prefetch(id); }

    template <class Id>
    THRESHER_KERNEL void locate(const Id* ids, std::size_t n) {
        members_.locate(ids, n);
        if (slots_.size() < n) slots_.resize(n);
        if (Table::kKeepsBefore && before_.size() < n * n_vectors_) before_.resize(n * n_vectors_);
        run([=, this]() __attribute__((always_inline)) { find_slots(ids, n); });
    }

    template <class Id>
    void gather(const Id*, std::size_t n, std::size_t c, Planes planes) {
        read_cells(n, c, planes);
    }

    template <class Id>
    void scatter(const Id* ids, std::size_t n, std::size_t c, Planes planes) {
        newcomers_.clear();
        write_cells(n, c, planes);
        for (const std::size_t i : newcomers_)
            members_.store(static_cast<std::int64_t>(ids[i]), c, {planes[0][i], planes[1][i]});
        if (!newcomers_.empty()) members_.locate(ids, n);
    }

    // Of outsiders no ids are known.
    std::size_t n_touched() const { return members_.n_touched(); }
    template <class Visit>
    void for_each_touched(Visit visit) const {
        members_.for_each_touched(visit);
    }

    template <class Change>
    void update(Change change) {
        members_.update(change);
        table_.update(change);
    }

    std::size_t n_pages() const { return members_.n_pages() + (table_.floats().size_bytes() + 4095) / 4096; }

    // Merging. What of the table has changed since `start`, as if the members were still those: who has entered brings
    // its share back, and the share that a leaver had at the start is taken out. Nothing can be learned afterwards.
    void note_slots(const SketchMemory& start, SlotChanges& out) {
        members_.for_each_touched([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors_; ++c)
                if (!is_member(start.members_.load(id, c)))
                    table_.bring_back(table_.slot_of(id), c, members_.load(id, c));
        });
        start.members_.for_each_touched([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors_; ++c)
                if (!is_member(members_.load(id, c)))
                    table_.take_out(table_.slot_of(id), c, start.members_.load(id, c));
        });
        out.n_slots = n_slots();
        std::vector<float> all;
        for (std::size_t number = 0; number < n_slots(); ++number) {
            const auto before = Table::cell_at(start.table(), number), now = Table::cell_at(table(), number);
            const auto change = Merging::change(before, now);
            all.insert(all.end(), change.begin(), change.end());
            if (std::all_of(change.begin(), change.end(), [](float x) { return x == 0.0f; })) continue;
            out.slots.push_back(static_cast<std::uint32_t>(number));
            out.slot_changes.insert(out.slot_changes.end(), change.begin(), change.end());
        }
        // If most have changed, all of them take fewer bytes than some with their numbers.
        const std::size_t n_bytes = out.slots.size() * (sizeof(std::uint32_t) + kSlotChange * sizeof(float));
        if (n_bytes >= all.size() * sizeof(float) || n_slots() > std::numeric_limits<std::uint32_t>::max()) {
            out.slots.clear();
            out.slot_changes = std::move(all);
        }
    }

    // A feature's cell as the table will have it after a merge.
    Cell load_merged(std::int64_t id, std::size_t c, const SlotChanges& changes, std::uint64_t n_shards,
                     double size) const {
        return table_.read(table_.slot_of(id), c, [&](std::size_t number, const typename Merging::Cell& cell) {
            if (changes.has_all_slots()) return Merging::moved(cell, slot_sum(changes, n_shards, number), size);
            const auto found = std::lower_bound(changes.slots.begin(), changes.slots.end(), number);
            if (found == changes.slots.end() || *found != number) return cell;
            const auto i = static_cast<std::size_t>(found - changes.slots.begin());
            return Merging::moved(cell, slot_sum(changes, n_shards, i), size);
        });
    }

    void merge_slots(const SlotChanges& changes, std::uint64_t n_shards, double size) {
        constexpr std::size_t width = std::tuple_size_v<typename Merging::Cell>;
        const bool has_all = changes.has_all_slots();
        for (std::size_t i = 0; i < (has_all ? n_slots() : changes.slots.size()); ++i) {
            const std::size_t number = has_all ? i : changes.slots[i];
            const auto cell = Merging::moved(Table::cell_at(table(), number), slot_sum(changes, n_shards, i), size);
            std::copy(cell.begin(), cell.end(), table().begin() + static_cast<std::ptrdiff_t>(number * width));
        }
    }

    // The sums of one shard's slots.
    static std::vector<float> slot_sums(const std::vector<float>& changes) {
        return sums_of<typename Merging::Sum, typename Merging::Change, float>(changes, &Merging::weighed);
    }

    static bool is_valid(std::span<const float> floats) { return Table::is_valid(floats); }
    std::span<float> table() { return table_.floats(); }
    std::span<const float> table() const { return table_.floats(); }

    std::size_t n_slots() const { return table().size() / std::tuple_size_v<typename Table::Merging::Cell>; }

    // How many numbers a slot has in one shard's changes, and in sums.
    static constexpr std::size_t kSlotChange = std::tuple_size_v<typename Table::Merging::Change>;
    static constexpr std::size_t kSlotSum = std::tuple_size_v<typename Table::Merging::Sum>;
    static constexpr bool kKeepsMeans = Table::kKeepsMeans;

  private:
    using Merging = typename Table::Merging;

    static typename Merging::Sum slot_sum(const SlotChanges& changes, std::uint64_t n_shards, std::size_t i) {
        if (n_shards == 1) {
            typename Merging::Change change;
            std::copy_n(changes.slot_changes.begin() + static_cast<std::ptrdiff_t>(i * kSlotChange), kSlotChange,
                        change.begin());
            return Merging::weighed(change);
        }
        typename Merging::Sum sum;
        for (std::size_t k = 0; k < kSlotSum; ++k) sum[k] = static_cast<double>(changes.slot_sums[i * kSlotSum + k]);
        return sum;
    }

    template <class Id>
    THRESHER_INLINE void find_slots(const Id* __restrict ids, std::size_t n) {
        typename Table::Slot* __restrict slots = slots_.data();
        by_fours(n, [=, this](std::size_t i) __attribute__((always_inline)) {
            slots[i] = table_.slot_of(static_cast<std::int64_t>(ids[i]));
            table_.prefetch(slots[i]);
        });
    }

    // Members and outsiders are mixed at random, so both cells are read and no branch decides.
    THRESHER_KERNEL void read_cells(std::size_t n, std::size_t c, Planes planes) {
        run([=, this]() __attribute__((always_inline)) {
            const typename Table::Slot* slots = slots_.data();
            by_fours(n, [=, this](std::size_t i) __attribute__((always_inline)) {
                const Cell member = members_.get(i, c), outsider = table_.read(slots[i], c);
                if constexpr (Table::kKeepsBefore) before_[c * n + i] = outsider;
                for (std::size_t k = 0; k < 2; ++k) planes[k][i] = is_member(member) ? member[k] : outsider[k];
            });
        });
    }

    THRESHER_KERNEL void write_cells(std::size_t n, std::size_t c, Planes planes) {
        run([=, this]() __attribute__((always_inline)) {
            const typename Table::Slot* slots = slots_.data();
            for (std::size_t i = 0; i < n; ++i) {
                const Cell cell{planes[0][i], planes[1][i]};
                const bool enters = is_member(cell), has_entry = members_.has(i);
                // Features that take open places with this row: their cells are in the start state.
                if (enters & !has_entry) [[unlikely]]
                    newcomers_.push_back(i);
                members_.put(i, c, has_entry ? cell : Cell{});
                table_.step(enters ? table_.in_vain() : slots[i], c, before(i, c, n), cell);
            }
        });
    }

    static bool is_member(const Cell& cell) { return SecondOrder::is_member(cell); }
    THRESHER_INLINE Cell before(std::size_t i, std::size_t c, std::size_t n) const {
        if constexpr (Table::kKeepsBefore) return before_[c * n + i];
        return {};
    }

    HashMemory<2, kVectors> members_;
    Table table_;
    std::size_t n_vectors_;
    std::vector<typename Table::Slot> slots_;  // of the row at work
    std::vector<Cell> before_;                 // what was gathered of it, class after class
    std::vector<std::size_t> newcomers_;
};

static_assert(Memory<SketchMemory<SignedTable>> && Memory<SketchMemory<CountMinTable, std::dynamic_extent>>);

}  // namespace thresher
