// The B features of highest rank, for ranks that fall as well as rise.
//
// The offers are those of TopSet. What is hard is to know the lowest member when any row may lower or raise any rank.
// Here nothing is ordered. Two bounds are kept instead, which a learner compares whole rows with, in vector code:
//
//   threshold()  no member's rank is below it: no outsider at or below it can enter
//   watched()    every member whose rank is below it is in a short list, the pool
//
// A row whose members fall below the threshold lowers it: O(1). A member that falls below `watched` goes into the pool:
// O(1). When an outsider challenges, the lowest member is the lowest of the pool, found by looking at all of it, and
// the threshold is exact again. When the pool has run dry, all members are looked at once, and the lowest √B or so of
// them are the new pool.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "thresher/top_set.hpp"

namespace thresher {

class RankedSet {
  public:
    using Member = TopSet::Member;
    using Answer = TopSet::Answer;
    static constexpr std::int64_t kNobody = TopSet::kNobody;

    explicit RankedSet(std::uint64_t budget) : budget_(budget) {}

    std::uint64_t budget() const { return budget_; }
    std::size_t size() const { return members_.size(); }
    bool full() const { return members_.size() >= budget_; }
    std::uint64_t n_sifts() const { return n_looks_; }  // how many ranks of members were looked at
    const std::vector<Member>& members() const { return members_; }

    float threshold() const { return full() ? threshold_ : -1.0f; }
    float watched() const { return watched_; }

    // Some member's rank is now `rank`.
    void lower(float rank) { threshold_ = std::min(threshold_, rank); }

    // A member's rank has fallen below `watched`. It may be in the pool already; twice does no harm.
    void fell(std::int64_t id) { pool_.push_back(id); }

    // Offers an outsider. `rank_of(id)` tells a feature's rank as it is now, or -1 if it is no member.
    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            add(id, rank);
            return {true, kNobody};
        }
        const Member lowest = find_lowest(rank_of);
        threshold_ = lowest.rank;
        if (!(rank > lowest.rank)) return {false, kNobody};
        const std::size_t slot = slot_of_.at(lowest.id);
        slot_of_.erase(lowest.id);
        slot_of_[id] = slot;
        members_[slot].id = id;
        if (rank < watched_) pool_.push_back(id);
        return {true, lowest.id};
    }

    void add(std::int64_t id, float rank) {
        slot_of_[id] = members_.size();
        members_.push_back({rank, id});
        forget_ranks();
    }

    // Nothing is known of the ranks until someone looks.
    void forget_ranks() {
        threshold_ = -1.0f;
        watched_ = -1.0f;
        pool_.clear();
    }

  private:
    static bool below(const Member& a, const Member& b) { return a.rank < b.rank || (a.rank == b.rank && a.id > b.id); }

    template <class RankOf>
    Member find_lowest(RankOf rank_of) {
        // A pool that has grown long is dearer than looking at all of the members.
        if (pool_.size() < members_.size() + 64) {
            Member lowest{std::numeric_limits<float>::infinity(), kNobody};
            std::size_t kept = 0;
            n_looks_ += pool_.size();
            for (const std::int64_t id : pool_) {
                const Member member{rank_of(id), id};
                // A leaver, or one that has risen; should that fall again, we will hear of it.
                if (member.rank < 0.0f || !(member.rank < watched_)) continue;
                pool_[kept++] = id;
                if (below(member, lowest)) lowest = member;
            }
            pool_.resize(kept);
            if (lowest.id != kNobody) return lowest;
        }
        n_looks_ += members_.size();
        for (Member& member : members_) scratch_.push_back({rank_of(member.id), member.id});
        const auto wanted = static_cast<std::size_t>(16.0 + 2.0 * std::sqrt(static_cast<double>(members_.size())));
        pool_.clear();
        if (wanted < scratch_.size()) {
            std::nth_element(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(wanted), scratch_.end(),
                             below);
            watched_ = scratch_[wanted].rank;
            scratch_.resize(wanted);
        } else {
            watched_ = std::numeric_limits<float>::infinity();
        }
        const Member lowest = *std::min_element(scratch_.begin(), scratch_.end(), below);
        for (const Member& member : scratch_)
            if (member.rank < watched_) pool_.push_back(member.id);
        scratch_.clear();
        return lowest;
    }

    std::uint64_t budget_;
    std::vector<Member> members_;  // in no order, their ranks out of date
    std::unordered_map<std::int64_t, std::size_t> slot_of_;
    std::vector<std::int64_t> pool_;
    std::vector<Member> scratch_;
    float threshold_ = -1.0f;
    float watched_ = -1.0f;
    std::uint64_t n_looks_ = 0;
};

}  // namespace thresher
