// The B features of highest rank, for ranks that fall as well as rise (ShadowSOFS, PET, FOFS).
//
// Offers are answered as by LazyHeap. The hard part is to know the lowest member when any row may change any rank. Most
// members are far from the lowest, and nothing is kept of their order. Two bounds, with which a learner compares whole
// rows in vector code, separate them from the few that matter:
//
//   threshold()  no member's rank is below it: no outsider at or below it can enter
//   watched()    every member whose rank is below it has an entry with that rank in the pool, a heap
//
// A row whose members fall below the threshold lowers it: O(1). A member that a row leaves below `watched` gets a new
// entry; its old one is void, which shows when it comes to the top. When the pool is empty, all members are read, and
// the lowest of them are the new pool. docs/performance.md compares this with other ways.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/id_index.hpp"
#include "thresher/members/admission.hpp"

namespace thresher {

class WatchedPool {
  public:
    static constexpr bool kBounded = true;
    static constexpr RankReports kReports = RankReports::low;

    // The budget is 0 where features to keep take all of it: then no feature can enter.
    explicit WatchedPool(std::uint64_t budget) : budget_(budget) { forget_ranks(); }

    std::size_t size() const { return members_.size(); }
    std::size_t n_open() const { return static_cast<std::size_t>(budget_) - members_.size(); }
    bool full() const { return members_.size() >= budget_; }
    std::size_t pool_size() const { return pool_.size(); }
    std::size_t longest_search() const { return index_.longest_search(id_of()); }  // words, to find a member

    // Calls visit(id) for each member, in any order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const std::int64_t id : members_) visit(id);
    }

    template <class RankOf>
    void expect(std::size_t, RankOf) const {}  // no need: most offers end at the top of the pool

    float threshold() const { return full() ? threshold_ : -1.0f; }
    float watched() const { return watched_; }

    // A row has changed ranks, and the lowest of its members is now at `rank`. Called before the row's offers.
    void lower(float rank) {
        if (budget_ > 0) threshold_ = std::min(threshold_, rank);
    }

    // A row has changed the rank of a member, which is now below `watched`.
    void moved(std::int64_t id, float rank) {
        if (!(rank < watched_)) return;  // an earlier member of the row has ended the watch
        // Without challenges the pool is not read; it must not grow without limit.
        if (pool_.size() > members_.size() + kSlack) return stop_watching();
        push({rank, id});
    }

    // Offers an outsider.
    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            add(id);
            return {true, kNoFeature};
        }
        const Entry lowest = find_lowest(rank_of);
        threshold_ = lowest.rank;
        if (!(rank > threshold_)) return {false, kNoFeature};
        const std::size_t number = index_.remove(lowest.id, id_of());
        members_[number - 1] = id;
        index_.enter(id, number);
        pop();
        if (rank < watched_) push({rank, id});
        return {true, lowest.id};
    }

    void add(std::int64_t id) {
        members_.push_back(id);
        if (members_.size() > index_.capacity())
            rebuild_index();
        else
            index_.enter(id, members_.size());
        forget_ranks();
    }

    // Nothing is known of the ranks until they are read again.
    void forget_ranks() {
        threshold_ = budget_ > 0 ? -1.0f : kInfinity;
        stop_watching();
    }

  private:
    struct Entry {
        float rank;
        std::int64_t id;
    };

    // The smallest rank is on top, then the largest id.
    static bool above(const Entry& a, const Entry& b) { return a.rank > b.rank || (a.rank == b.rank && a.id < b.id); }

    // The member of a number of the index.
    struct IdOf {
        const std::vector<std::int64_t>& members;
        std::int64_t operator()(std::size_t number) const { return number == 0 ? kNoFeature : members[number - 1]; }
    };
    IdOf id_of() const { return {members_}; }

    void rebuild_index() {
        words_.assign(std::max(2 * words_.size(), IdIndex::kFewest), 0);
        index_ = {words_.data(), words_.size()};
        for (std::size_t k = 0; k < members_.size(); ++k) index_.enter(members_[k], k + 1);
    }

    // No member is watched until all members have been read again; the threshold still holds.
    void stop_watching() {
        watched_ = -1.0f;
        pool_.clear();
    }

    void push(Entry entry) {
        ++n_pushes_;
        pool_.push_back(entry);
        std::push_heap(pool_.begin(), pool_.end(), above);
    }

    void pop() {
        std::pop_heap(pool_.begin(), pool_.end(), above);
        pool_.pop_back();
    }

    template <class RankOf>
    Entry find_lowest(RankOf rank_of) {
        for (;;) {
            if (pool_.empty()) read_all(rank_of);
            const Entry top = pool_.front();
            if (rank_of(top.id) == top.rank) return top;
            pop();  // it has moved, or left
        }
    }

    template <class RankOf>
    void read_all(RankOf rank_of) {
        pool_.clear();
        for (std::size_t k = 0; k < members_.size(); ++k) {
            // Members lie anywhere in memory: with many of them, most of the time would go into waiting for one after
            // another.
            if (constexpr std::size_t kAhead = 24; k + kAhead < members_.size()) rank_of.expect(members_[k + kAhead]);
            pool_.push_back({rank_of(members_[k]), members_[k]});
        }
        watched_ = kInfinity;
        shorten();
        std::make_heap(pool_.begin(), pool_.end(), above);
    }

    // Keeps the lowest of the pool, as many as are wanted, and watches for those alone.
    void shorten() {
        choose_size();
        if (wanted_ >= pool_.size()) return;
        const auto cut = pool_.begin() + static_cast<std::ptrdiff_t>(wanted_);
        std::nth_element(pool_.begin(), cut, pool_.end(), [](const Entry& a, const Entry& b) { return above(b, a); });
        // Members that tie with the first one left out are left out too, unless none would be left in.
        watched_ = cut->rank;
        const auto lowest = std::max_element(pool_.begin(), cut, above);
        if (lowest->rank == watched_) watched_ = std::nextafter(watched_, kInfinity);
        std::erase_if(pool_, [&](const Entry& entry) { return !(entry.rank < watched_); });
    }

    // A longer pool is seldom empty, so all members are seldom read; but more members move within it, and each makes an
    // entry. The best length is where both cost the same.
    void choose_size() {
        const double reading = static_cast<double>(members_.size());
        const double moving = kEntryCost * static_cast<double>(n_pushes_ + 1);
        const double change = std::clamp(std::sqrt(reading / moving), 0.25, 4.0);
        const double most = std::max(static_cast<double>(kFewest), reading / 2.0);
        wanted_ = static_cast<std::size_t>(
            std::clamp(static_cast<double>(wanted_) * change, static_cast<double>(kFewest), most));
        n_pushes_ = 0;
    }

    static constexpr float kInfinity = std::numeric_limits<float>::infinity();
    static constexpr std::size_t kSlack = 64;
    static constexpr std::size_t kFewest = 4;
    static constexpr double kEntryCost = 3.0;  // making and dropping an entry, in readings of a rank

    std::uint64_t budget_;
    std::vector<std::int64_t> members_;  // in any order
    std::vector<IdIndex::Word> words_;
    IdIndex index_;  // of the members: the k-th, from 1, has number k
    std::vector<Entry> pool_;
    float threshold_, watched_;
    std::size_t wanted_ = 32;     // how long the pool is to be when all members are read
    std::uint64_t n_pushes_ = 0;  // since then
};

static_assert(MemberSet<WatchedPool>);

}  // namespace thresher
