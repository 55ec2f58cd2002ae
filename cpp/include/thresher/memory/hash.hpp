// Hash memory: only features that are not in their start state have an entry, found by their id. Any id below 2^63 - 1,
// and up to 2^31 features.
//
// Entries, the id and then the cells of its classes, lie in the order in which features came. Frequent features come
// early, so what is used most lies close together, whatever the ids are, and growing moves nothing. They are found
// through an index with open addressing and linear probing. A word of it has 32 bits: the entry's number, and in the
// bits that the number does not need a tag of the id's hash, so that a wrong entry is hardly ever looked at. 0 is an
// empty word. Entry 0 is nobody's and holds a start state: all features without an entry are read from there.
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
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <std::size_t Width, std::size_t kVectors = 1>
class HashMemory {
  public:
    using Cell = std::array<float, Width>;

    explicit HashMemory(std::size_t n_vectors = 1, const MemoryOptions& = {}) {
        entries_.n = n_vectors;
        entry_pages_.grow(std::max(kHuge, 2 * entries_.stride()));
        entries_.bytes = static_cast<char*>(entry_pages_.data());
        rebuild_index(kFewest);
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
    THRESHER_INLINE void locate(const Id* __restrict ids, std::size_t n) {
        if (found_.size() < n) found_.resize(n);
        std::size_t* __restrict found = found_.data();
        const Index index = index_;
        const Entries entries = entries_;
        if (index.n_words() * sizeof(Word) <= kCached) {
            for (std::size_t i = 0; i < n; ++i)
                found[i] = entries.place(find(index, entries, static_cast<std::int64_t>(ids[i])));
            return;
        }
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
            for (std::size_t i = 0; i < n; ++i)
                found[i] = entries.place(find(index, entries, static_cast<std::int64_t>(ids[i])));
    }

    template <class Id>
    THRESHER_INLINE void gather(const Id*, std::size_t n, std::size_t c, std::array<float*, Width> planes) const {
        const Entries entries = entries_;
        const std::size_t* __restrict found = found_.data();
        for (std::size_t i = 0; i < n; ++i) {
            const Cell cell = entries.read_at(found[i], c);
            for (std::size_t k = 0; k < Width; ++k) planes[k][i] = cell[k];
        }
    }

    template <class Id>
    THRESHER_INLINE void scatter(const Id* __restrict ids, std::size_t n, std::size_t c,
                                 std::array<float*, Width> planes) {
        const Entries entries = entries_;
        const std::size_t* __restrict found = found_.data();
        std::uint32_t of_nobody = 0;  // bits that newcomers wrote to an entry that is not theirs
        for (std::size_t i = 0; i < n; ++i) {
            Cell cell;
            for (std::size_t k = 0; k < Width; ++k) {
                cell[k] = planes[k][i];
                of_nobody |= found[i] == kNobody ? std::bit_cast<std::uint32_t>(cell[k]) : 0;
            }
            entries.write_at(found[i], c, cell);
        }
        if (of_nobody != 0) add_newcomers(ids, n, c, planes);
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

    // Gives all memory back; every feature is in its start state again.
    void clear() { *this = HashMemory(entries_.n_vectors()); }

  private:
    using Word = std::uint32_t;
    static constexpr std::size_t kNobody = 0;
    static constexpr std::size_t kAhead = 16;                     // entries that are fetched while one is at work
    static constexpr std::size_t kFewest = 64;                    // words
    static constexpr std::size_t kRoomy = std::size_t{1} << 17;   // bytes of an index that stays nearly empty
    static constexpr std::size_t kCached = std::size_t{1} << 18;  // bytes of an index that need no prefetch
    static constexpr std::size_t kHuge = std::size_t{1} << 21;    // bytes from which huge pages pay

    // One multiplication, of which the middle and the overflow are combined. The middle alone would do for ids without
    // a pattern; with steps of a large Fibonacci number between ids it is nearly constant.
    static Word hash_of(std::int64_t id) {
        const auto product = static_cast<unsigned __int128>(static_cast<std::uint64_t>(id)) * 0x9e3779b97f4a7c15u;
        return static_cast<Word>(product >> 32) ^ static_cast<Word>(product >> 64);
    }

    // 2^bits words. Of a hash, the upper bits say where the search begins, and those after them are the tag.
    struct Index {
        Word* words = nullptr;
        int bits = 0, shift = 0;

        std::size_t n_words() const { return std::size_t{1} << bits; }
        std::size_t after(std::size_t place) const { return (place + 1) & (n_words() - 1); }
        std::size_t home(Word hash) const { return hash >> shift; }
        Word tag(Word hash) const { return static_cast<Word>(std::uint64_t{hash} << bits); }
        std::size_t entry(Word word) const { return word & (n_words() - 1); }
        void prefetch(std::int64_t id) const { __builtin_prefetch(words + home(hash_of(id))); }

        // The entry of the first word that has the id's tag, most likely its own; kNobody if it surely has none.
        THRESHER_INLINE std::size_t first_with_tag(std::int64_t id) const {
            const Word hash = hash_of(id), wanted = tag(hash);
            for (std::size_t place = home(hash);; place = after(place)) {
                const Word word = words[place];
                if ((word == 0) | (std::uint64_t{word ^ wanted} < n_words())) return entry(word);
            }
        }

        void enter(std::int64_t id, std::size_t entry) const {
            const Word hash = hash_of(id);
            std::size_t place = home(hash);
            while (words[place] != 0) place = after(place);
            words[place] = tag(hash) | static_cast<Word>(entry);
        }
    };

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

    THRESHER_INLINE static bool is_blank(const Cell& cell) {
        const Cell blank{};
        return std::memcmp(&cell, &blank, sizeof(Cell)) == 0;
    }
    bool is_blank_in_all(std::size_t entry) const {
        for (std::size_t c = 0; c < entries_.n_vectors(); ++c)
            if (!is_blank(entries_.read(entry, c))) return false;
        return true;
    }

    // Where the word of the feature is, or the empty one that ends the search.
    std::size_t place_of(std::int64_t id) const {
        std::size_t place = index_.home(hash_of(id));
        for (Word word; (word = index_.words[place]) != 0; place = index_.after(place))
            if (entries_.id(index_.entry(word)) == id) break;
        return place;
    }
    std::size_t find(std::int64_t id) const { return find(index_, entries_, id); }

    // The entry of a feature, or kNobody.
    THRESHER_INLINE static std::size_t find(const Index& index, const Entries& entries, std::int64_t id) {
        for (std::size_t place = index.home(hash_of(id));; place = index.after(place)) {
            const Word word = index.words[place];
            const std::size_t entry = index.entry(word);
            if ((word == 0) | (entries.id(entry) == id)) return entry;
        }
    }

    template <class Id>
    [[gnu::noinline]] void add_newcomers(const Id* ids, std::size_t n, std::size_t c,
                                         std::array<float*, Width> planes) {
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

    std::size_t insert(std::int64_t id) {
        const std::size_t n_words = index_.n_words();
        if (size_ + 1 > (n_words * sizeof(Word) < kRoomy ? n_words / 8 : n_words / 2)) rebuild_index(2 * n_words);
        const std::size_t entry = size_ + 1;
        if (const std::size_t bytes = (entry + 1) * entries_.stride(); bytes > entry_pages_.bytes()) {
            entry_pages_.grow(2 * bytes);
            entry_pages_.use_huge_pages();
            entries_.bytes = static_cast<char*>(entry_pages_.data());
        }
        std::memcpy(entries_.at(entry), &id, sizeof(id));
        index_.enter(id, entry);
        size_ = entry;
        return entry;
    }

    // The last entry takes the place of the one that goes.
    void erase(std::int64_t id, std::size_t entry) {
        remove_word(place_of(id));
        if (entry != size_) {
            const std::int64_t last = entries_.id(size_);
            index_.words[place_of(last)] = index_.tag(hash_of(last)) | static_cast<Word>(entry);
            std::memcpy(entries_.at(entry), entries_.at(size_), entries_.stride());
        }
        std::memset(entries_.at(size_), 0, entries_.stride());
        --size_;
    }

    // Words behind the hole that would no longer be found move up.
    void remove_word(std::size_t hole) {
        const std::size_t mask = index_.n_words() - 1;
        Word word;
        for (std::size_t next = index_.after(hole); (word = index_.words[next]) != 0; next = index_.after(next)) {
            const std::size_t home = index_.home(hash_of(entries_.id(index_.entry(word))));
            if (((next - home) & mask) < ((next - hole) & mask)) continue;
            index_.words[hole] = word;
            hole = next;
        }
        index_.words[hole] = 0;
    }

    void rebuild_index(std::size_t n) {
        if (n > std::size_t{1} << 32) throw std::bad_alloc();
        ZeroPages pages;
        pages.grow(n * sizeof(Word));
        if (n * sizeof(Word) > kHuge) pages.use_huge_pages();
        pages.swap(index_pages_);
        index_ = {static_cast<Word*>(index_pages_.data()), std::countr_zero(n), 32 - std::countr_zero(n)};
        for (std::size_t entry = 1; entry <= size_; ++entry) {
            index_.prefetch(entries_.id(std::min(entry + kAhead, size_)));
            index_.enter(entries_.id(entry), entry);
        }
    }

    ZeroPages entry_pages_, index_pages_;
    Entries entries_;
    Index index_;
    std::size_t size_ = 0;
    std::vector<std::size_t> found_;  // where the entries of the row at work begin, in bytes
};

static_assert(Memory<HashMemory<1>> && Memory<HashMemory<2>> && Memory<HashMemory<2, std::dynamic_extent>>);

}  // namespace thresher
