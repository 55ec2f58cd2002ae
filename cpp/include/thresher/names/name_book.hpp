// The names of the selected features: found in the batch in which a feature is selected, and forgotten when it leaves.
// So there is no dictionary of all names, and no second pass.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thresher/fork_safe_mutex.hpp"
#include "thresher/names/named_row.hpp"
#include "thresher/secret_hash.hpp"

namespace thresher {

// The names of a batch's features, as marks. Where rows come from several texts, behind each other, `bases` says for
// each value where its text begins; else it is null.
struct WrittenNames {
    const std::uint64_t* marks;
    const std::int64_t* bases;
    std::string_view text;
    std::span<const std::string> prefixes;

    std::string_view prefix(std::size_t i) const {
        const auto k = static_cast<std::size_t>(marks[i] & 0xffff);
        if (k >= prefixes.size()) throw std::out_of_range("a mark points behind the prefixes");
        return prefixes[k];
    }
    std::string_view rest(std::size_t i) const {
        const std::size_t base = bases == nullptr ? 0 : static_cast<std::size_t>(bases[i]);
        return text.substr(base + static_cast<std::size_t>(marks[i] >> 32),
                           static_cast<std::size_t>(marks[i] >> 16 & 0xffff));
    }
};

// Threads can share a book: it may be asked for names while rows are read, also by the child of a fork.
class NameBook {
  public:
    struct Entry {
        std::int64_t id = -1;
        std::string name;
        bool is_known = false;
    };
    // Names that differ but have the same id: how often they occurred, and the first two.
    struct Clashes {
        std::uint64_t n = 0;
        std::string one, other;
    };

    // Keeps the names of these features only. Unknown ones are found in the next batch that has them.
    void keep(std::span<const std::int64_t> members) {
        std::lock_guard lock(mutex_);
        if (members.size() == n_entries_ && has_all(members)) return;
        rebuild(members, std::bit_ceil(2 * members.size() + 2));  // at most half full
    }

    void set(std::int64_t id, std::string name) {
        std::lock_guard lock(mutex_);
        if (table_.empty()) return;
        Entry& entry = table_[place(table_, id)];
        if (entry.id == id) entry.name = std::move(name), entry.is_known = true;
    }

    // Where in a batch its features are.
    template <class Id>
    std::vector<std::int64_t> find(std::span<const Id> ids) const {
        std::lock_guard lock(mutex_);
        std::vector<std::int64_t> places;
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (find(static_cast<std::int64_t>(ids[i])) != nullptr) places.push_back(static_cast<std::int64_t>(i));
        return places;
    }

    // Reads the names of its features from a batch; with `add`, of all features, for methods that select every one. A
    // name that differs from the one known for its id is a clash.
    template <class Id>
    void read(std::span<const Id> ids, const WrittenNames& names, bool add) {
        std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto id = static_cast<std::int64_t>(ids[i]);
            if (names.marks[i] == kNoName || id < 0) continue;  // a negative id is that of a free slot
            if (add) make_room(id);
            if (Entry* const entry = find(id)) note(*entry, names.prefix(i), names.rest(i));
        }
    }

    // Where in a batch a feature has the id of one in the book, but another name, or a name where that one is a number.
    template <class Id>
    std::vector<std::int64_t> strangers(std::span<const Id> ids, const WrittenNames& names) const {
        std::lock_guard lock(mutex_);
        std::vector<std::int64_t> places;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Entry* const entry = find(static_cast<std::int64_t>(ids[i]));
            if (entry == nullptr) continue;
            const bool has_name = names.marks[i] != kNoName;
            if (has_name && entry->is_known ? !is_named(*entry, names.prefix(i), names.rest(i))
                                            : has_name != entry->is_known)
                places.push_back(static_cast<std::int64_t>(i));
        }
        return places;
    }

    Clashes clashes() const {
        std::lock_guard lock(mutex_);
        return clashes_;
    }
    void set_clashes(Clashes clashes) {
        std::lock_guard lock(mutex_);
        clashes_ = std::move(clashes);
    }

    // Calls visit(id, name) for all names that are known, in ascending order of id.
    template <class Visit>
    void for_each(Visit visit) const {
        std::lock_guard lock(mutex_);
        std::vector<const Entry*> known;
        for (const Entry& entry : table_)
            if (entry.is_known) known.push_back(&entry);
        std::sort(known.begin(), known.end(), [](const Entry* a, const Entry* b) { return a->id < b->id; });
        for (const Entry* const entry : known) visit(entry->id, entry->name);
    }

    // Slots that are looked at to find a feature, at most.
    std::size_t longest_search() const {
        std::lock_guard lock(mutex_);
        std::size_t longest = 0;
        for (std::size_t at = 0; at < table_.size(); ++at)
            if (table_[at].id >= 0)
                longest = std::max(longest, ((at - hash_(table_[at].id)) & (table_.size() - 1)) + 1);
        return longest;
    }

  private:
    static constexpr std::size_t kFilterBits = 16;  // per slot: few ids that are not in the book pass

    // The slot of an id, or the free one where it would go.
    std::size_t place(const std::vector<Entry>& table, std::int64_t id) const {
        std::size_t at = hash_(id) & (table.size() - 1);
        while (table[at].id != id && table[at].id >= 0) at = (at + 1) & (table.size() - 1);
        return at;
    }

    std::size_t filter_bit(std::int64_t id) const { return hash_(id) & (kFilterBits * table_.size() - 1); }
    void mark_in_filter(std::int64_t id) { filter_[filter_bit(id) / 64] |= std::uint64_t{1} << filter_bit(id) % 64; }
    bool may_have(std::int64_t id) const { return (filter_[filter_bit(id) / 64] >> filter_bit(id) % 64 & 1) != 0; }

    const Entry* find(std::int64_t id) const {
        if (id < 0 || n_entries_ == 0 || !may_have(id)) return nullptr;
        const Entry& entry = table_[place(table_, id)];
        return entry.id == id ? &entry : nullptr;
    }
    Entry* find(std::int64_t id) { return const_cast<Entry*>(std::as_const(*this).find(id)); }

    static bool is_named(const Entry& entry, std::string_view prefix, std::string_view rest) {
        return entry.name.size() == prefix.size() + rest.size() && entry.name.starts_with(prefix) &&
               entry.name.ends_with(rest);
    }

    void note(Entry& entry, std::string_view prefix, std::string_view rest) {
        if (!entry.is_known) {
            entry.name.assign(prefix).append(rest);
            entry.is_known = true;
        } else if (!is_named(entry, prefix, rest)) {
            if (clashes_.n++ == 0) clashes_.one = entry.name, clashes_.other = std::string(prefix).append(rest);
        }
    }

    // Adds a feature whose name is not known yet, unless it is there.
    void make_room(std::int64_t id) {
        if (2 * (n_entries_ + 1) > table_.size()) {
            std::vector<std::int64_t> all;
            for (const Entry& entry : table_)
                if (entry.id >= 0) all.push_back(entry.id);
            rebuild(all, std::max<std::size_t>(2 * table_.size(), 64));
        }
        Entry& entry = table_[place(table_, id)];
        if (entry.id == id) return;
        entry.id = id;
        ++n_entries_;
        mark_in_filter(id);
    }

    // A table of `size` slots, a power of two, for these features, with the names that are known.
    void rebuild(std::span<const std::int64_t> members, std::size_t size) {
        std::vector<Entry> before = std::move(table_), kept;
        for (const std::int64_t id : members) {
            Entry* const old = before.empty() ? nullptr : &before[place(before, id)];
            kept.push_back(old != nullptr && old->id == id ? std::move(*old) : Entry{id, {}, false});
        }
        table_.assign(size, Entry{});
        filter_.assign(size * kFilterBits / 64 + 1, 0);
        n_entries_ = kept.size();
        for (Entry& entry : kept) {
            mark_in_filter(entry.id);
            Entry& slot = table_[place(table_, entry.id)];
            slot = std::move(entry);
        }
    }

    bool has_all(std::span<const std::int64_t> ids) const {
        for (const std::int64_t id : ids)
            if (table_.empty() || table_[place(table_, id)].id != id) return false;
        return true;
    }

    IdHash hash_;
    std::vector<Entry> table_;
    std::vector<std::uint64_t> filter_;
    std::size_t n_entries_ = 0;
    Clashes clashes_;
    mutable ForkSafeMutex mutex_;
};

}  // namespace thresher
