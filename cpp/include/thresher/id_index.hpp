// An index of ids, with open addressing and linear probing: finds the number that an id was entered with.
//
// The ids themselves are with the owner, who also has the words: `id_of(number)` returns them. A word has 32 bits: the
// number, and in the bits that the number does not need a tag of the id's hash, so that a wrong number is hardly ever
// looked at. 0 is an empty word and no number; id_of(0) may return anything.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "thresher/secret_hash.hpp"
#include "thresher/simd.hpp"

namespace thresher {

struct IdIndex {
    using Word = std::uint32_t;
    static constexpr std::size_t kFewest = 64;  // words

    Word* words = nullptr;
    int bits = 0;  // there are 2^bits words
    IdHash hash_of = {};

    IdIndex() = default;
    // Over n words, a power of two; all of them must be 0.
    IdIndex(Word* empty, std::size_t n) : words(empty), bits(std::countr_zero(n)) {
        if (n > std::size_t{1} << 32) throw std::bad_alloc();
    }

    std::size_t n_words() const { return std::size_t{1} << bits; }
    std::size_t bytes() const { return n_words() * sizeof(Word); }
    // How many ids it may have before it needs more words. The emptier an index is, the fewer searches go on behind
    // their first word, but the less of it stays in the caches.
    std::size_t capacity() const {
        if (bytes() < std::size_t{1} << 17) return n_words() / 8;
        return bytes() < std::size_t{1} << 20 ? n_words() / 4 : n_words() / 2;
    }

    // Of a hash, the lower bits say where the search begins; the tag is of the upper ones.
    std::size_t home(std::uint64_t hash) const { return hash & (n_words() - 1); }
    Word tag(std::uint64_t hash) const { return static_cast<Word>(hash >> 32 << bits); }
    std::size_t number(Word word) const { return word & (n_words() - 1); }
    std::size_t after(std::size_t place) const { return (place + 1) & (n_words() - 1); }

    void prefetch(std::int64_t id) const { __builtin_prefetch(words + home(hash_of(id))); }

    // The number of an id, or 0.
    template <class IdOf>
    THRESHER_INLINE std::size_t find(std::int64_t id, IdOf id_of) const {
        return number(words[place_of(id, id_of)]);
    }

    // The number of the first word that has the id's tag, most likely its own; 0 if it surely has none.
    THRESHER_INLINE std::size_t first_with_tag(std::int64_t id) const {
        const std::uint64_t hash = hash_of(id);
        const Word wanted = tag(hash);
        for (std::size_t place = home(hash);; place = after(place)) {
            const Word word = words[place];
            if ((word == 0) | (std::uint64_t{word ^ wanted} < n_words())) return number(word);
        }
    }

    // The id must be new.
    void enter(std::int64_t id, std::size_t number) const {
        const std::uint64_t hash = hash_of(id);
        std::size_t place = home(hash);
        while (words[place] != 0) place = after(place);
        words[place] = tag(hash) | static_cast<Word>(number);
    }

    // An id that was entered gets another number.
    template <class IdOf>
    void renumber(std::int64_t id, std::size_t number, IdOf id_of) const {
        words[place_of(id, id_of)] = tag(hash_of(id)) | static_cast<Word>(number);
    }

    // Takes an id out that was entered; returns its number. Words behind the hole that would no longer be found move
    // up.
    template <class IdOf>
    std::size_t remove(std::int64_t id, IdOf id_of) const {
        const std::size_t mask = n_words() - 1;
        std::size_t hole = place_of(id, id_of);
        const std::size_t removed = number(words[hole]);
        Word word;
        for (std::size_t next = after(hole); (word = words[next]) != 0; next = after(next)) {
            if (((next - home(hash_of(id_of(number(word))))) & mask) < ((next - hole) & mask)) continue;
            words[hole] = word;
            hole = next;
        }
        words[hole] = 0;
        return removed;
    }

    // How many words are looked at to find an id, at most.
    template <class IdOf>
    std::size_t longest_search(IdOf id_of) const {
        std::size_t longest = 0;
        for (std::size_t place = 0; place < n_words(); ++place)
            if (words[place] != 0) {
                const std::size_t begin = home(hash_of(id_of(number(words[place]))));
                longest = std::max(longest, ((place - begin) & (n_words() - 1)) + 1);
            }
        return longest;
    }

  private:
    // Where the word of an id is, or the empty one that ends the search.
    template <class IdOf>
    THRESHER_INLINE std::size_t place_of(std::int64_t id, IdOf id_of) const {
        std::size_t place = home(hash_of(id));
        while (id_of(number(words[place])) != id) [[unlikely]] {
            if (words[place] == 0) break;
            place = after(place);
        }
        return place;
    }
};

}  // namespace thresher
