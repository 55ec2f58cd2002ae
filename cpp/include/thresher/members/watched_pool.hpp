// The B features of highest rank, for ranks that fall as well as rise (ShadowSOFS, PET, FOFS).
//
// Offers are answered as by LazyHeap. The hard part is to know the lowest member when any row may change any rank.
// Nothing is ordered here. Instead there are two bounds, with which a learner compares whole rows in vector code:
//
//   threshold()  no member's rank is below it: no outsider at or below it can enter
//   watched()    every member whose rank is below it is in a short list, the pool
//
// A row whose members fall below the threshold lowers it: O(1). A member that falls below `watched` goes into the pool:
// O(1). Ranks change between rows, not within one, so the ranks of the pool are read once for each row that challenges.
// They lie side by side, with the least of each block of 64, and each challenge of the row is a short scan. When the
// pool is empty, all members are read once, and the lowest of them are the new pool. benchmarks/MEMBERS.md compares
// this with other ways.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thresher/concepts.hpp"

namespace thresher {

class WatchedPool {
  public:
    static constexpr bool kBounded = true;
    static constexpr RankReports kReports = RankReports::falls;

    explicit WatchedPool(std::uint64_t budget) : budget_(budget) {}

    std::size_t size() const { return members_.size(); }
    std::size_t n_open() const { return static_cast<std::size_t>(budget_) - members_.size(); }
    bool full() const { return members_.size() >= budget_; }
    std::uint64_t n_looks() const { return n_looks_; }  // ranks of members that were read
    std::size_t pool_size() const { return pool_.size(); }

    // Calls visit(id) for each member, in any order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const std::int64_t id : members_) visit(id);
    }

    template <class RankOf>
    void expect(std::size_t, RankOf) const {}  // no need: the ranks that an offer needs lie side by side in the pool

    float threshold() const { return full() ? threshold_ : -1.0f; }
    float watched() const { return watched_; }

    // A row has changed ranks, and the lowest of its members is now at `rank`. Called before the row's offers.
    void lower(float rank) {
        threshold_ = std::min(threshold_, rank);
        fresh_ = false;
    }

    // A member's rank has fallen below `watched`. It may be in the pool already; a second entry does no harm.
    void fell(std::int64_t id) {
        // While nobody challenges, nobody reads the pool; it must not grow without limit.
        if (pool_.size() > members_.size() + kBlock) stop_watching();
        pool_.push_back(id);
    }

    // Offers an outsider.
    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            add(id);
            return {true, kNoFeature};
        }
        if (!fresh_) refresh(rank_of);
        const std::size_t place = find_lowest(rank_of);
        const std::int64_t lowest = pool_[place];
        threshold_ = ranks_[place];
        if (!(rank > threshold_)) return {false, kNoFeature};
        ++n_swaps_;
        auto slot = slot_of_.extract(lowest);
        members_[slot.mapped()] = id;
        slot.key() = id;
        slot_of_.insert(std::move(slot));
        pool_[place] = id;
        set_rank(place, rank < watched_ ? rank : kVoid);
        return {true, lowest};
    }

    void add(std::int64_t id) {
        slot_of_[id] = members_.size();
        members_.push_back(id);
        forget_ranks();
    }

    // Nothing is known of the ranks until they are read again.
    void forget_ranks() {
        threshold_ = watched_ = -1.0f;
        fresh_ = false;
        pool_.clear();
    }

  private:
    // No member is watched until all members have been read again; the threshold still holds.
    void stop_watching() {
        watched_ = -1.0f;
        fresh_ = false;
        pool_.clear();
    }

    // Reads the ranks of the pool and drops leavers and members that have risen: should one fall again, `fell` is
    // called.
    template <class RankOf>
    void refresh(RankOf rank_of) {
        fresh_ = true;
        ++n_refreshes_;
        n_looks_ += pool_.size();
        ranks_.resize(pool_.size());
        std::size_t kept = 0;
        for (const std::int64_t id : pool_) {
            const float rank = rank_of(id);
            pool_[kept] = id;
            ranks_[kept] = rank;
            kept += static_cast<std::size_t>((rank >= 0.0f) & (rank < watched_));
        }
        pool_.resize(kept);
        ranks_.resize(kept);
        if (kept > 2 * wanted_in_pool()) shorten();
        divide();
    }

    // The place in the pool of the lowest member: the smallest rank, then the largest id.
    template <class RankOf>
    std::size_t find_lowest(RankOf rank_of) {
        for (;;) {
            const float least = least_of(least_in_block_.data(), least_in_block_.size());
            if (least == kVoid) {
                read_all(rank_of);
                continue;
            }
            std::size_t lowest = pool_.size();
            for (std::size_t block = 0; block < least_in_block_.size(); ++block) {
                if (least_in_block_[block] != least) continue;
                const std::size_t place = lowest_in_block_[block];
                if (lowest == pool_.size() || pool_[place] > pool_[lowest]) lowest = place;
            }
            ++n_looks_;
            if (rank_of(pool_[lowest]) >= 0.0f) return lowest;
            set_rank(lowest, kVoid);  // it was there twice, and left by its other entry
        }
    }

    template <class RankOf>
    void read_all(RankOf rank_of) {
        n_looks_ += members_.size();
        pool_ = members_;
        ranks_.clear();
        for (const std::int64_t id : members_) ranks_.push_back(rank_of(id));
        watched_ = kVoid;
        shorten();
        divide();
    }

    // With p members in the pool, a row that challenges reads p ranks, and each of its s swaps adds B/p for the next
    // time that all are read. So p is best near √(sB), or a bit longer, since finding the new pool costs more than
    // reading.
    std::size_t wanted_in_pool() const {
        const double swaps_per_row = static_cast<double>(n_swaps_ + 1) / static_cast<double>(n_refreshes_);
        return static_cast<std::size_t>(16.0 + std::sqrt(3.0 * swaps_per_row * static_cast<double>(members_.size())));
    }

    // Keeps the lowest of the pool, as many as are wanted, and watches for those alone.
    void shorten() {
        if (const std::size_t wanted = wanted_in_pool(); wanted < pool_.size()) {
            ordered_ = ranks_;
            const auto cut = ordered_.begin() + static_cast<std::ptrdiff_t>(wanted);
            std::nth_element(ordered_.begin(), cut, ordered_.end());
            // Members that tie with the first one left out are left out too, unless nobody would be left in.
            watched_ = *cut;
            if (*std::min_element(ordered_.begin(), cut) == watched_) watched_ = std::nextafter(watched_, kVoid);
            std::size_t kept = 0;
            for (std::size_t k = 0; k < pool_.size(); ++k) {
                pool_[kept] = pool_[k];
                ranks_[kept] = ranks_[k];
                kept += static_cast<std::size_t>(ranks_[k] < watched_);
            }
            pool_.resize(kept);
            ranks_.resize(kept);
        }
        // Early rows swap often, later ones rarely: old counts fade.
        n_swaps_ /= 2;
        n_refreshes_ = std::max<std::uint64_t>(1, n_refreshes_ / 2);
    }

    void set_rank(std::size_t place, float rank) {
        ranks_[place] = rank;
        scan_block(place / kBlock);
    }

    void divide() {
        least_in_block_.resize((pool_.size() + kBlock - 1) / kBlock);
        lowest_in_block_.resize(least_in_block_.size());
        for (std::size_t block = 0; block < least_in_block_.size(); ++block) scan_block(block);
    }

    void scan_block(std::size_t block) {
        const std::size_t begin = block * kBlock, end = std::min(pool_.size(), begin + kBlock);
        const float least = least_of(ranks_.data() + begin, end - begin);
        std::size_t lowest = end;
        for (std::size_t k = begin; k < end; ++k)
            if (ranks_[k] == least && (lowest == end || pool_[k] > pool_[lowest])) lowest = k;
        least_in_block_[block] = least;
        lowest_in_block_[block] = lowest;
    }

    static float least_of(const float* ranks, std::size_t n) {
        float least = kVoid;
#pragma omp simd reduction(min : least)
        for (std::size_t k = 0; k < n; ++k) least = least < ranks[k] ? least : ranks[k];
        if (least < std::numeric_limits<float>::max()) return least;
        // Compilers differ in what a reduction starts from, the largest number or infinity; here that matters.
        least = kVoid;
        for (std::size_t k = 0; k < n; ++k) least = std::min(least, ranks[k]);
        return least;
    }

    static constexpr float kVoid = std::numeric_limits<float>::infinity();  // above every rank
    static constexpr std::size_t kBlock = 64;

    std::uint64_t budget_;
    std::vector<std::int64_t> members_;  // in any order
    std::unordered_map<std::int64_t, std::size_t> slot_of_;
    std::vector<std::int64_t> pool_;
    std::vector<float> ranks_;  // of the pool, if fresh; kVoid in a place that no longer counts
    std::vector<float> least_in_block_;
    std::vector<std::size_t> lowest_in_block_;  // the place of that rank, of the largest id where several tie
    std::vector<float> ordered_;
    bool fresh_ = false;
    float threshold_ = -1.0f;
    float watched_ = -1.0f;
    std::uint64_t n_looks_ = 0;
    std::uint64_t n_swaps_ = 0;      // recent
    std::uint64_t n_refreshes_ = 0;  // recent rows that challenged
};

static_assert(MemberSet<WatchedPool>);

}  // namespace thresher
