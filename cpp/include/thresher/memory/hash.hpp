// Hash memory: only features that are not in their start state have an entry, found by their id. Any id below 2^63 - 1,
// and up to 2^31 features.
//
// Entries, the id and then the cells of its classes, lie in the order in which features came. Frequent features come
// early, so what is used most lies close together, whatever the ids are, and growing moves nothing. An IdIndex finds
// them. Entry 0 belongs to no feature and holds a start state: all features without an entry are read from there.
//
// `locate` finds the features of a row once; `gather` and `scatter` then work on their entries. A feature gets its
// entry when something else than a start state is first scattered to it, and loses it when `store` puts it back.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/id_index.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <std::size_t Width, std::size_t kVectors = 1>
class HashMemory {
  public:
    using Cell = std::array<float, Width>;
    using Planes = std::array<float*, Width>;

    explicit HashMemory(std::size_t n_vectors = 1, const MemoryOptions& = {}) {
        entries_.n = n_vectors;
        entry_pages_.grow(std::max(kHuge, 2 * entries_.stride()));
        entries_.bytes = static_cast<char*>(entry_pages_.data());
        rebuild_index(IdIndex::kFewest);
    }

    // Features 0 … n_features() - 1 can be gathered: all possible ids.
    static constexpr std::int64_t n_features() { return std::numeric_limits<std::int64_t>::max(); }
    static constexpr void reserve(std::int64_t) {}
    static constexpr void admit(std::int64_t) {}
    static constexpr void make_room(std::span<const std::int64_t>) {}

    Cell load(std::int64_t id, std::size_t c) const { return entries_.read(find(id), c); }

    void store(std::int64_t id, std::size_t c, const Cell& cell) {
        if (const std::size_t entry = find(id); entry != kNobody) {
            entries_.write(entry, c, cell);
            if (is_blank(cell) && is_blank_in_all(entry)) erase(id, entry);
        } else if (!is_blank(cell)) {
            entries_.write(insert(id), c, cell);
        }
    }

    // Fetches a feature that will be loaded soon.
    void prefetch(std::int64_t id) const { index_.prefetch(id); }

    // Finds the features of the row at work. Here and below, what a loop reads is copied first: the compiler can't know
    // that the loop does not change it.
    template <class Id>
    [[gnu::noinline]] void locate(const Id* __restrict ids, std::size_t n) {
        if (found_.size() < n) found_.resize(n);
        std::size_t* __restrict found = found_.data();
        const IdIndex index = index_;
        const Entries entries = entries_;
        const auto id_at = id_of();
        const auto find_all = [&] {
            for (std::size_t i = 0; i < n; ++i)
                found[i] = entries.place(index.find(static_cast<std::int64_t>(ids[i]), id_at));
        };
        if (index.bytes() <= kCached) return find_all();
        // First by the tags alone: when an entry is looked at, it has had the time to arrive.
        for (std::size_t i = 0; i < n; ++i) {
            if (i + kAhead < n) index.prefetch(static_cast<std::int64_t>(ids[i + kAhead]));
            found[i] = entries.place(index.first_with_tag(static_cast<std::int64_t>(ids[i])));
            __builtin_prefetch(entries.bytes + found[i]);
        }
        bool is_other = false;
        for (std::size_t i = 0; i < n; ++i)
            is_other |= (found[i] != kNobody) & (entries.id_at(found[i]) != static_cast<std::int64_t>(ids[i]));
        if (is_other) [[unlikely]]
            find_all();
    }

    template <class Id>
    void gather(const Id*, std::size_t n, std::size_t c, Planes planes) const {
        read_cells(n, c, planes);
    }

    template <class Id>
    void scatter(const Id* ids, std::size_t n, std::size_t c, Planes planes) {
        if (write_cells(n, c, planes)) add_newcomers(ids, n, c, planes);
    }

    // Whether the i-th feature that was located has an entry; its cell.
    THRESHER_INLINE bool has(std::size_t i) const { return found_[i] != kNobody; }
    THRESHER_INLINE Cell get(std::size_t i, std::size_t c) const { return entries_.read_at(found_[i], c); }
    THRESHER_INLINE void put(std::size_t i, std::size_t c, const Cell& cell) { entries_.write_at(found_[i], c, cell); }

    // How many features have an entry.
    std::size_t n_touched() const { return size_; }

    // Calls visit(id) for every feature that is not in its start state, in ascending order.
    template <class Visit>
    void for_each_touched(Visit visit) const {
        std::vector<std::int64_t> ids;
        ids.reserve(size_);
        for (std::size_t entry = 1; entry <= size_; ++entry) ids.push_back(entries_.id(entry));
        std::sort(ids.begin(), ids.end());
        for (const std::int64_t id : ids) visit(id);
    }

    // Calls visit(id, c, cell) for all cells, in the order in which the features came, and expect(id) some time before;
    // gives all memory back on the way.
    template <class Visit, class Expect>
    void drain(Visit visit, Expect expect) {
        constexpr std::size_t kAtOnce = std::size_t{1} << 20;  // entries
        index_pages_ = {};
        for (std::size_t entry = 1; entry <= size_; ++entry) {
            expect(entries_.id(std::min(entry + kAhead, size_)));
            for (std::size_t c = 0; c < entries_.n_vectors(); ++c)
                visit(entries_.id(entry), c, entries_.read(entry, c));
            if (entry % kAtOnce == 0)
                entry_pages_.discard((entry - kAtOnce) * entries_.stride(), entry * entries_.stride());
        }
        clear();
    }

    // Replaces every cell by change(cell); a start state must stay one.
    template <class Change>
    void update(Change change) {
        for (std::size_t entry = 1; entry <= size_; ++entry)
            for (std::size_t c = 0; c < entries_.n_vectors(); ++c)
                entries_.write(entry, c, change(entries_.read(entry, c)));
    }

    // Bytes that n features take in entries and index, about.
    std::size_t bytes_for(std::size_t n) const { return n * (entries_.stride() + 3 * sizeof(Word)); }
    std::size_t n_pages() const { return (bytes_for(size_) + 4095) / 4096; }

    // Words of the index that are looked at to find a feature, at most.
    std::size_t longest_search() const { return index_.longest_search(id_of()); }

    // Gives all memory back; every feature is in its start state again.
    void clear() { *this = HashMemory(entries_.n_vectors()); }

  private:
    using Word = IdIndex::Word;
    using Bits = std::conditional_t<Width == 1, std::uint32_t, std::uint64_t>;  // of a cell
    static constexpr std::size_t kNobody = 0;
    static constexpr std::size_t kAhead = 16;                     // entries that are fetched while one is at work
    static constexpr std::size_t kCached = std::size_t{1} << 19;  // bytes of an index that need no prefetch
    static constexpr std::size_t kHuge = std::size_t{1} << 21;    // bytes from which huge pages pay

    // The id of each entry, then its cells.
    struct Entries {
        char* bytes = nullptr;
        std::size_t n = 1;

        std::size_t n_vectors() const { return kVectors == std::dynamic_extent ? n : kVectors; }
        std::size_t stride() const {
            constexpr std::size_t kId = sizeof(std::int64_t);
            return (kId + n_vectors() * sizeof(Cell) + kId - 1) / kId * kId;
        }

        // Where an entry begins, in bytes.
        THRESHER_INLINE std::size_t place(std::size_t entry) const { return entry * stride(); }

        THRESHER_INLINE std::int64_t id_at(std::size_t place) const {
            std::int64_t out;
            std::memcpy(&out, bytes + place, sizeof(out));
            return out;
        }
        THRESHER_INLINE Cell read_at(std::size_t place, std::size_t c) const {
            Cell out;
            std::memcpy(&out, cell_at(place, c), sizeof(Cell));
            return out;
        }
        THRESHER_INLINE void write_at(std::size_t place, std::size_t c, const Cell& from) const {
            std::memcpy(cell_at(place, c), &from, sizeof(Cell));
        }

        char* at(std::size_t entry) const { return bytes + place(entry); }
        THRESHER_INLINE std::int64_t id(std::size_t entry) const { return id_at(place(entry)); }
        Cell read(std::size_t entry, std::size_t c) const { return read_at(place(entry), c); }
        void write(std::size_t entry, std::size_t c, const Cell& from) const { write_at(place(entry), c, from); }

      private:
        THRESHER_INLINE char* cell_at(std::size_t place, std::size_t c) const {
            return bytes + place + sizeof(std::int64_t) + (kVectors == 1 ? 0 : c * sizeof(Cell));
        }
    };

    THRESHER_INLINE static bool is_blank(const Cell& cell) { return std::bit_cast<Bits>(cell) == 0; }
    bool is_blank_in_all(std::size_t entry) const {
        for (std::size_t c = 0; c < entries_.n_vectors(); ++c)
            if (!is_blank(entries_.read(entry, c))) return false;
        return true;
    }

    auto id_of() const {
        return [entries = entries_](std::size_t entry) { return entries.id(entry); };
    }
    // The entry of a feature, or kNobody.
    std::size_t find(std::int64_t id) const { return index_.find(id, id_of()); }

    THRESHER_KERNEL void read_cells(std::size_t n, std::size_t c, Planes planes) const {
        const Entries entries = entries_;
        const std::size_t* __restrict found = found_.data();
        by_fours(n, [=](std::size_t i) __attribute__((always_inline)) {
            const Cell cell = entries.read_at(found[i], c);
            for (std::size_t k = 0; k < Width; ++k) planes[k][i] = cell[k];
        });
    }

    // Returns whether newcomers wrote something to the entry that belongs to no feature.
    THRESHER_KERNEL bool write_cells(std::size_t n, std::size_t c, Planes planes) {
        const Entries entries = entries_;
        const std::size_t* __restrict found = found_.data();
        Bits of_nobody = 0;
        for (std::size_t i = 0; i < n; i += kLanes) {
            // Interleaved first, as in dense memory.
            Cell block[kLanes];
            for (std::size_t j = 0; j < kLanes; ++j)
                for (std::size_t k = 0; k < Width; ++k) block[j][k] = planes[k][i + j];
            const std::size_t count = std::min(kLanes, n - i);
            for (std::size_t j = 0; j < count; ++j) {
                entries.write_at(found[i + j], c, block[j]);
                of_nobody |= found[i + j] == kNobody ? std::bit_cast<Bits>(block[j]) : 0;
            }
        }
        return of_nobody != 0;
    }

    template <class Id>
    [[gnu::noinline]] void add_newcomers(const Id* ids, std::size_t n, std::size_t c, Planes planes) {
        entries_.write(kNobody, c, Cell{});
        for (std::size_t i = 0; i < n; ++i) {
            if (found_[i] != kNobody) continue;
            Cell cell;
            for (std::size_t k = 0; k < Width; ++k) cell[k] = planes[k][i];
            if (is_blank(cell)) continue;
            // With many classes the row is scattered again.
            found_[i] = entries_.place(insert(static_cast<std::int64_t>(ids[i])));
            entries_.write_at(found_[i], c, cell);
        }
    }

    [[gnu::noinline]] std::size_t insert(std::int64_t id) {
        if (size_ >= index_.capacity()) rebuild_index(2 * index_.n_words());
        const std::size_t entry = size_ + 1;
        if (const std::size_t bytes = (entry + 1) * entries_.stride(); bytes > entry_pages_.bytes()) {
            entry_pages_.grow(2 * bytes);
            entry_pages_.use_huge_pages(2 * bytes);
            entries_.bytes = static_cast<char*>(entry_pages_.data());
        }
        std::memcpy(entries_.at(entry), &id, sizeof(id));
        index_.enter(id, entry);
        size_ = entry;
        return entry;
    }

    // The last entry takes the place of the one that goes.
    void erase(std::int64_t id, std::size_t entry) {
        index_.remove(id, id_of());
        if (entry != size_) {
            index_.renumber(entries_.id(size_), entry, id_of());
            std::memcpy(entries_.at(entry), entries_.at(size_), entries_.stride());
        }
        std::memset(entries_.at(size_), 0, entries_.stride());
        --size_;
    }

    void rebuild_index(std::size_t n) {
        ZeroPages pages;
        pages.grow(n * sizeof(Word));
        const IdIndex larger(static_cast<Word*>(pages.data()), n);
        if (n * sizeof(Word) > kHuge) pages.use_huge_pages(n * sizeof(Word));
        pages.swap(index_pages_);
        index_ = larger;
        for (std::size_t entry = 1; entry <= size_; ++entry) {
            if (index_.bytes() > kCached) index_.prefetch(entries_.id(std::min(entry + kAhead, size_)));
            index_.enter(entries_.id(entry), entry);
        }
    }

    ZeroPages entry_pages_, index_pages_;
    Entries entries_;
    IdIndex index_;
    std::size_t size_ = 0;
    std::vector<std::size_t> found_;  // where the entries of the row at work begin, in bytes
};

static_assert(Memory<HashMemory<1>> && Memory<HashMemory<2>> && Memory<HashMemory<2, std::dynamic_extent>>);

}  // namespace thresher
