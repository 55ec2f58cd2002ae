// The B features of highest rank: the paper's MaxHeap on Σ, seen as a min-heap on rank.
//
//   lowest member   the smallest rank, then the largest id
//   offer(id, r)    enters while fewer than B are in; after that only if r is strictly above the lowest member's rank,
//                   and then the lowest member leaves
//
// The heap is lazy. It is for ranks that never fall (SOFS: the precision only grows), so that a key in the heap may be
// out of date but is always a lower bound. Members are left where they are, O(1) a row; only when an outsider beats the
// root is the root brought up to date, until a root that is up to date has come to the top. On the paper's X1
// with B = 200 that is some two thousand sifts, where an eager heap makes one for each member touched, 15 million.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace thresher {

class TopSet {
  public:
    struct Member {
        float rank;
        std::int64_t id;
    };

    struct Answer {
        bool enters;
        std::int64_t leaver;  // kNobody if nobody had to leave
    };
    static constexpr std::int64_t kNobody = -1;

    explicit TopSet(std::uint64_t budget) : budget_(budget) {}

    std::uint64_t budget() const { return budget_; }
    std::size_t size() const { return heap_.size(); }
    bool full() const { return heap_.size() >= budget_; }
    std::uint64_t n_sifts() const { return n_sifts_; }
    const std::vector<Member>& members() const { return heap_; }

    // No outsider whose rank is at or below this can enter. Ranks are not negative, so an open set lets all pass.
    float threshold() const { return full() ? heap_.front().rank : -1.0f; }

    // Offers an outsider. `rank_of(id)` tells a member's rank as it is now.
    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            add(id, rank);
            return {true, kNobody};
        }
        while (rank > heap_.front().rank) {
            const float current = rank_of(heap_.front().id);
            if (current == heap_.front().rank) {
                const std::int64_t leaver = heap_.front().id;
                replace_root({rank, id});
                return {true, leaver};
            }
            replace_root({current, heap_.front().id});
        }
        return {false, kNobody};
    }

    // Takes a member without asking: while the set is open, or to restore a saved one.
    void add(std::int64_t id, float rank) {
        heap_.push_back({rank, id});
        // An open set has no lowest member to know, so the order is made once, when the last place is taken.
        if (full()) std::make_heap(heap_.begin(), heap_.end(), above);
    }

  private:
    // std's heaps keep the greatest in front; with "above" as their "less" that is the lowest member.
    static bool above(const Member& a, const Member& b) { return a.rank > b.rank || (a.rank == b.rank && a.id < b.id); }

    void replace_root(Member member) {
        ++n_sifts_;
        const std::size_t n = heap_.size();
        std::size_t hole = 0;
        for (std::size_t child; (child = 2 * hole + 1) < n; hole = child) {
            if (child + 1 < n && above(heap_[child], heap_[child + 1])) ++child;
            if (!above(member, heap_[child])) break;
            heap_[hole] = heap_[child];
        }
        heap_[hole] = member;
    }

    std::uint64_t budget_;
    std::vector<Member> heap_;
    std::uint64_t n_sifts_ = 0;
};

}  // namespace thresher
