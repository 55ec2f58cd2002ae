// Dense memory or a hash table, whichever suits the features that occur; the learner never notices.
//
// Dense memory is fastest, and smallest where most cells of a page are used. If few are, as with hashed ids, each
// feature costs a page of 4 KiB, and a hash table takes a hundredth of that. `automatic` starts dense and stays so
// while all ids together take no more than 256 MiB. Beyond, it checks whenever twice as many nonzeros were learned as
// at the last check: if a hash table would take less than a quarter of the pages in use, all features move there. An id
// for which there is no address space makes them move at once. They move back when dense memory for all ids would take
// no more than the table; up to 8 GiB, no more than three times as much, since it is several times as fast. All of this
// depends on the rows alone, not on their batches, what was reserved, or the machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/memory/options.hpp"

namespace thresher {

template <std::size_t Width, std::size_t kVectors = 1>
class AdaptiveMemory {
  public:
    using Cell = std::array<float, Width>;

    explicit AdaptiveMemory(std::size_t n_vectors = 1, const MemoryOptions& options = {})
        : dense_(n_vectors),
          hash_(n_vectors),
          n_vectors_(n_vectors),
          most_ids_(static_cast<std::int64_t>(kAddressSpace / bytes_per_id())),
          can_move_(options.kind == MemoryKind::automatic),
          is_hash_(options.kind == MemoryKind::hash) {}

    std::int64_t n_features() const { return is_hash_ ? hash_.n_features() : dense_.n_features(); }

    void reserve(std::int64_t n) {
        if (!is_hash_ && (!can_move_ || has_space_for(n))) dense_.reserve(n);
    }

    // The only moment at which features may move.
    void admit(std::int64_t n) {
        if (can_move_) {
            width_ = std::max(width_, n);
            move_if_needed();
        }
        if (!is_hash_) dense_.admit(n);
    }

    void make_room(std::span<const std::int64_t> ids) {
        if (can_move_ && !ids.empty()) {
            width_ = std::max(width_, ids.back() + 1);
            if (!has_space_for(width_) || is_too_wide(ids.size(), pages_of(ids))) move_to_hash();
        }
        if (!is_hash_) dense_.make_room(ids);
    }

    Cell load(std::int64_t id, std::size_t c) const { return is_hash_ ? hash_.load(id, c) : dense_.load(id, c); }
    void store(std::int64_t id, std::size_t c, const Cell& cell) {
        is_hash_ ? hash_.store(id, c, cell) : dense_.store(id, c, cell);
    }
    void prefetch(std::int64_t id) const { is_hash_ ? hash_.prefetch(id) : dense_.prefetch(id); }

    template <class Id>
    void locate(const Id* ids, std::size_t n) {
        if (is_hash_) hash_.locate(ids, n);
    }

    template <class Id>
    void gather(const Id* ids, std::size_t n, std::size_t c, std::array<float*, Width> planes) const {
        is_hash_ ? hash_.gather(ids, n, c, planes) : dense_.gather(ids, n, c, planes);
    }
    template <class Id>
    void scatter(const Id* ids, std::size_t n, std::size_t c, std::array<float*, Width> planes) {
        n_scattered_ += n;
        is_hash_ ? hash_.scatter(ids, n, c, planes) : dense_.scatter(ids, n, c, planes);
    }

    std::size_t n_touched() const { return is_hash_ ? hash_.n_touched() : dense_.n_touched(); }
    template <class Visit>
    void for_each_touched(Visit visit) const {
        is_hash_ ? hash_.for_each_touched(visit) : dense_.for_each_touched(visit);
    }
    template <class Change>
    void update(Change change) {
        is_hash_ ? hash_.update(change) : dense_.update(change);
    }
    // What the features take in the smaller of the two, wherever they lie: that is known from the rows alone.
    std::size_t n_pages() const {
        if (!can_move_) return is_hash_ ? hash_.n_pages() : dense_.n_pages();
        std::vector<std::int64_t> ids;
        for_each_touched([&](std::int64_t id) { ids.push_back(id); });
        const std::size_t in_table = (hash_.bytes_for(ids.size()) + 4095) / 4096;
        return has_space_for(width_) ? std::min(pages_of(ids), in_table) : in_table;
    }
    bool is_hash() const { return is_hash_; }

  private:
    static constexpr std::size_t kAlwaysDense = std::size_t{1} << 28;  // bytes
    static constexpr std::size_t kModest = std::size_t{1} << 33;
    static constexpr std::size_t kAddressSpace = std::size_t{1} << 39;
    static constexpr std::size_t kFirstCheck = 4096;  // nonzeros

    std::size_t bytes_per_id() const { return n_vectors_ * sizeof(Cell); }
    bool has_space_for(std::int64_t n) const { return n <= most_ids_; }

    // Pages of dense memory that these features would take, in ascending order.
    std::size_t pages_of(std::span<const std::int64_t> ids) const {
        typename DenseMemory<Width, kVectors>::PageCount pages{n_vectors_};
        for (const std::int64_t id : ids) pages.add(id);
        return pages.total();
    }

    bool is_small() const { return static_cast<std::size_t>(width_) * bytes_per_id() <= kAlwaysDense; }

    // Whether n features are spread over so many pages that a hash table should have them.
    bool is_too_wide(std::size_t n, std::size_t n_pages) const {
        return !is_small() && 4 * hash_.bytes_for(n) < n_pages * 4096;
    }

    // Whether the features of the table fill so much of dense memory that they should be there.
    bool is_full() const {
        const std::size_t in_dense = static_cast<std::size_t>(width_) * bytes_per_id();
        return in_dense <= (in_dense <= kModest ? 3 : 1) * hash_.bytes_for(hash_.n_touched());
    }

    void move_if_needed() {
        if (is_hash_) {
            if (has_space_for(width_) && is_full()) move_to_dense();
        } else if (!has_space_for(width_)) {
            move_to_hash();
        } else if (n_scattered_ >= next_check_) {
            consider_moving();
        }
    }

    [[gnu::noinline]] void consider_moving() {
        next_check_ = 2 * n_scattered_;
        if (is_small()) return;  // without reading all cells
        if (is_too_wide(dense_.n_touched(), dense_.n_pages())) move_to_hash();
    }

    [[gnu::noinline]] void move_to_hash() {
        dense_.for_each_touched([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors_; ++c) hash_.store(id, c, dense_.load(id, c));
        });
        dense_.clear();
        is_hash_ = true;
    }

    [[gnu::noinline]] void move_to_dense() {
        dense_.reserve(width_);
        dense_.use_huge_pages();  // nearly every small page will be written to
        is_hash_ = false;
        hash_.drain([&](std::int64_t id, std::size_t c, const Cell& cell) { dense_.store(id, c, cell); },
                    [&](std::int64_t id) { dense_.prefetch(id); });
        next_check_ = 2 * n_scattered_;
    }

    DenseMemory<Width, kVectors> dense_;
    HashMemory<Width, kVectors> hash_;
    std::size_t n_vectors_;
    std::int64_t most_ids_;  // of dense memory
    bool can_move_, is_hash_;
    std::int64_t width_ = 0;  // ids so far are below it
    std::uint64_t n_scattered_ = 0, next_check_ = kFirstCheck;
};

static_assert(Memory<AdaptiveMemory<1>> && Memory<AdaptiveMemory<2>> && Memory<AdaptiveMemory<2, std::dynamic_extent>>);

}  // namespace thresher
