// Other ways to keep the lowest member exact when ranks fall as well as rise: what WatchedPool was chosen from.
//
// Each is a MemberSet, so the library's own learner and selector run with it. All give the same answers; they differ in
// work, which n_looks() counts: ranks read, or places of a heap or tree visited.
// Sets that must find a member's place by its id hold an array over all ids. That is more memory than the library could
// spend on it, and the fastest there is: the alternatives are shown at their best.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/simd.hpp"

namespace thresher::bench {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Member {
    float rank;
    std::int64_t id;
};

inline bool below(const Member& a, const Member& b) { return a.rank < b.rank || (a.rank == b.rank && a.id > b.id); }
inline bool above(const Member& a, const Member& b) { return below(b, a); }

// What all of them keep: the ids of the members, each in a slot. `fresh_` says whether what a set knows about ranks
// still holds; a set that is full and not fresh must read all ranks at the next offer.
class Slots {
  public:
    static constexpr bool kBounded = true;
    static constexpr std::uint64_t kLargestBudget = std::numeric_limits<std::uint64_t>::max();

    explicit Slots(std::uint64_t budget) : budget_(budget) {}

    std::size_t size() const { return ids_.size(); }
    std::size_t n_open() const { return static_cast<std::size_t>(budget_) - ids_.size(); }
    std::uint64_t n_looks() const { return n_looks_; }
    void forget_ranks() { fresh_ = false; }

    void add(std::int64_t id) {
        ids_.push_back(id);
        at(slot_, id) = static_cast<std::uint32_t>(ids_.size() - 1);
        fresh_ = false;
    }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const std::int64_t id : ids_) visit(id);
    }
    template <class RankOf>
    void expect(std::size_t, RankOf) const {}

  protected:
    bool full() const { return ids_.size() >= budget_; }
    std::uint32_t slot_of(std::int64_t id) const { return slot_[static_cast<std::size_t>(id)]; }

    void replace(std::int64_t leaver, std::int64_t id) {
        const std::uint32_t slot = slot_of(leaver);
        at(slot_, id) = slot;
        ids_[slot] = id;
    }

    // The entry of an id in an array over all ids, which grows as ids turn up.
    template <class T>
    static T& at(std::vector<T>& by_id, std::int64_t id) {
        const auto place = static_cast<std::size_t>(id);
        if (place >= by_id.size()) by_id.resize(2 * place + 64);
        return by_id[place];
    }

    // All members with their ranks now.
    template <class RankOf>
    std::vector<Member> ranked(RankOf rank_of) {
        n_looks_ += ids_.size();
        std::vector<Member> all;
        all.reserve(ids_.size());
        for (const std::int64_t id : ids_) all.push_back({rank_of(id), id});
        return all;
    }

    std::uint64_t budget_;
    std::vector<std::int64_t> ids_;
    std::vector<std::uint32_t> slot_;  // of each feature that is a member
    bool fresh_ = false;
    std::uint64_t n_looks_ = 0;
};

// What ships.
class Shipped : public WatchedPool {
  public:
    static constexpr const char* kName = "two bounds and a heap of the lowest (`watched_pool.hpp`)";
    static constexpr std::uint64_t kLargestBudget = Slots::kLargestBudget;
    using WatchedPool::WatchedPool;
};

// Reads the rank of every member at each challenge. A bound, lowered by the row's lowest member, keeps most outsiders
// from being a challenge; without it every outsider of every row would be one.
class FullScan : public Slots {
  public:
    static constexpr const char* kName = "read all members at each challenge";
    static constexpr RankReports kReports = RankReports::low;
    static constexpr std::uint64_t kLargestBudget = 10'000;  // more would take minutes
    using Slots::Slots;

    float threshold() const { return full() && fresh_ ? threshold_ : -1.0f; }
    float watched() const { return -1.0f; }
    void lower(float rank) { threshold_ = std::min(threshold_, rank); }
    void moved(std::int64_t, float) {}

    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) return add(id), Admission{true, kNoFeature};
        n_looks_ += ids_.size();
        Member lowest{kInfinity, kNoFeature};
        for (const std::int64_t member : ids_)
            if (const Member candidate{rank_of(member), member}; below(candidate, lowest)) lowest = candidate;
        threshold_ = lowest.rank;
        fresh_ = true;
        if (!(rank > lowest.rank)) return {false, kNoFeature};
        replace(lowest.id, id);
        return {true, lowest.id};
    }

  private:
    float threshold_ = -1.0f;
};

// An indexed binary heap in which every member that a row touches is sifted at once.
class EagerHeap : public Slots {
  public:
    static constexpr const char* kName = "indexed heap, eager";
    static constexpr RankReports kReports = RankReports::all;
    using Slots::Slots;

    float threshold() const { return full() && fresh_ ? heap_.front().rank : -1.0f; }

    void moved(std::int64_t id, float rank) {
        if (fresh_) put(place_[static_cast<std::size_t>(id)], {rank, id});
    }

    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) return add(id), Admission{true, kNoFeature};
        if (!fresh_) build(rank_of);
        const Member lowest = heap_.front();
        if (!(rank > lowest.rank)) return {false, kNoFeature};
        replace(lowest.id, id);
        put(0, {rank, id});
        return {true, lowest.id};
    }

  private:
    template <class RankOf>
    void build(RankOf rank_of) {
        heap_ = ranked(rank_of);
        std::sort(heap_.begin(), heap_.end(), below);
        for (std::size_t k = 0; k < heap_.size(); ++k) settle(k, heap_[k]);
        fresh_ = true;
    }

    void put(std::size_t hole, Member member) {
        ++n_looks_;
        for (; hole > 0 && below(member, heap_[(hole - 1) / 2]); hole = (hole - 1) / 2, ++n_looks_)
            settle(hole, heap_[(hole - 1) / 2]);
        for (std::size_t child; (child = 2 * hole + 1) < heap_.size(); hole = child, ++n_looks_) {
            if (child + 1 < heap_.size() && below(heap_[child + 1], heap_[child])) ++child;
            if (!below(heap_[child], member)) break;
            settle(hole, heap_[child]);
        }
        settle(hole, member);
    }

    void settle(std::size_t place, Member member) {
        heap_[place] = member;
        at(place_, member.id) = static_cast<std::uint32_t>(place);
    }

    std::vector<Member> heap_;
    std::vector<std::uint32_t> place_;  // in the heap, of each feature that is a member
};

// A heap of lower bounds. A rise leaves a member where it is. A fall below the bound pushes a second, lower entry; the
// first is known to be void when it comes to the top, because it is not the member's last. Only the top is brought up
// to date, when an outsider challenges it.
class BoundHeap : public Slots {
  public:
    static constexpr const char* kName = "heap of lower bounds, lazy";
    static constexpr RankReports kReports = RankReports::all;
    using Slots::Slots;

    float threshold() const { return full() && fresh_ ? heap_.front().rank : -1.0f; }

    void moved(std::int64_t id, float rank) {
        if (fresh_ && rank < bound_[static_cast<std::size_t>(id)]) push({rank, id});
    }

    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) return add(id), Admission{true, kNoFeature};
        if (!fresh_) build(rank_of);
        while (rank > heap_.front().rank) {
            const Member top = heap_.front();
            const bool is_void = top.rank != bound_[static_cast<std::size_t>(top.id)];
            pop();
            if (is_void) continue;
            const float current = rank_of(top.id);
            if (current != top.rank) {
                push({current, top.id});
                continue;
            }
            bound_[static_cast<std::size_t>(top.id)] = kVoid;
            replace(top.id, id);
            push({rank, id});
            return {true, top.id};
        }
        return {false, kNoFeature};
    }

  private:
    static constexpr float kVoid = -1.0f;

    template <class RankOf>
    void build(RankOf rank_of) {
        heap_ = ranked(rank_of);
        std::fill(bound_.begin(), bound_.end(), kVoid);
        for (const Member& member : heap_) at(bound_, member.id) = member.rank;
        std::make_heap(heap_.begin(), heap_.end(), above);
        fresh_ = true;
    }

    void push(Member member) {
        ++n_looks_;
        at(bound_, member.id) = member.rank;
        heap_.push_back(member);
        std::push_heap(heap_.begin(), heap_.end(), above);
        if (heap_.size() > 4 * size() + 64) drop_void();
    }

    void pop() {
        ++n_looks_;
        std::pop_heap(heap_.begin(), heap_.end(), above);
        heap_.pop_back();
    }

    void drop_void() {
        n_looks_ += heap_.size();
        std::sort(heap_.begin(), heap_.end(), below);
        // The same entry may be there twice, where a member fell, rose and fell to the very same rank.
        const auto same = [](const Member& a, const Member& b) { return a.rank == b.rank && a.id == b.id; };
        heap_.erase(std::unique(heap_.begin(), heap_.end(), same), heap_.end());
        std::erase_if(heap_, [&](const Member& m) { return m.rank != bound_[static_cast<std::size_t>(m.id)]; });
    }

    std::vector<Member> heap_;
    std::vector<float> bound_;  // of each feature that is a member: the rank of its last entry
};

// WatchedPool's upper bound, with the lowest members kept as a lazy heap: a member that moves while below `watched_` is
// pushed again, so that a member below it always has an entry with its rank now, and every other entry is void.
class PooledHeap : public Slots {
  public:
    static constexpr const char* kName = "a bound and a lazy heap of the lowest";
    static constexpr RankReports kReports = RankReports::all;
    using Slots::Slots;

    float threshold() const { return full() && fresh_ ? threshold_ : -1.0f; }

    void moved(std::int64_t id, float rank) {
        if (!fresh_) return;
        threshold_ = std::min(threshold_, rank);
        if (rank < watched_) push({rank, id});
    }

    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) return add(id), Admission{true, kNoFeature};
        if (!fresh_) build(rank_of);
        const Member lowest = find_lowest(rank_of);
        threshold_ = lowest.rank;
        if (!(rank > lowest.rank)) return {false, kNoFeature};
        replace(lowest.id, id);
        if (rank < watched_) push({rank, id});
        return {true, lowest.id};
    }

  private:
    void push(Member member) {
        ++n_looks_;
        heap_.push_back(member);
        std::push_heap(heap_.begin(), heap_.end(), above);
    }

    template <class RankOf>
    Member find_lowest(RankOf rank_of) {
        for (;;) {
            if (heap_.empty() || heap_.size() > size() + 64) build(rank_of);
            const Member top = heap_.front();
            ++n_looks_;
            if (rank_of(top.id) == top.rank) return top;
            std::pop_heap(heap_.begin(), heap_.end(), above);
            heap_.pop_back();
        }
    }

    template <class RankOf>
    void build(RankOf rank_of) {
        std::vector<Member> all = ranked(rank_of);
        const std::size_t wanted = std::min(all.size() - 1, 16 + all.size() / 8);
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end(), below);
        watched_ = wanted + 1 < all.size() ? all[wanted].rank : kInfinity;
        // Where all of the lowest tie, nobody would be below the bound.
        if (std::min_element(all.begin(), all.end(), below)->rank == watched_)
            watched_ = std::nextafter(watched_, kInfinity);
        heap_.clear();
        for (const Member& member : all)
            if (member.rank < watched_) heap_.push_back(member);
        std::make_heap(heap_.begin(), heap_.end(), above);
        threshold_ = heap_.front().rank;
        fresh_ = true;
    }

    std::vector<Member> heap_;
    float threshold_ = -1.0f;
    float watched_ = -1.0f;
};

// A tournament over the members' slots: the lowest of each pair goes up. A touched member plays its way up again, and
// stops where nothing changes.
class Tournament : public Slots {
  public:
    static constexpr const char* kName = "tournament tree, eager";
    static constexpr RankReports kReports = RankReports::all;
    using Slots::Slots;

    float threshold() const { return full() && fresh_ ? members_[winner_[1]].rank : -1.0f; }

    void moved(std::int64_t id, float rank) {
        if (!fresh_) return;
        members_[slot_of(id)].rank = rank;
        play(slot_of(id));
    }

    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) return add(id), Admission{true, kNoFeature};
        if (!fresh_) build(rank_of);
        const std::uint32_t slot = winner_[1];
        const Member lowest = members_[slot];
        if (!(rank > lowest.rank)) return {false, kNoFeature};
        replace(lowest.id, id);
        members_[slot] = {rank, id};
        play(slot);
        return {true, lowest.id};
    }

  private:
    std::uint32_t lower_of(std::uint32_t a, std::uint32_t b) const { return below(members_[a], members_[b]) ? a : b; }

    // Node k has children 2k and 2k + 1; nodes from n on are the slots themselves.
    template <class RankOf>
    void build(RankOf rank_of) {
        const std::size_t n = size();
        members_ = ranked(rank_of);
        winner_.resize(2 * n);
        for (std::size_t k = 0; k < n; ++k) winner_[n + k] = static_cast<std::uint32_t>(k);
        for (std::size_t k = n - 1; k > 0; --k) winner_[k] = lower_of(winner_[2 * k], winner_[2 * k + 1]);
        if (n == 1) winner_[1] = 0;
        fresh_ = true;
    }

    void play(std::uint32_t slot) {
        for (std::size_t node = (members_.size() + slot) / 2; node > 0; node /= 2) {
            ++n_looks_;
            const std::uint32_t winner = lower_of(winner_[2 * node], winner_[2 * node + 1]);
            // Where another slot won before and wins again, nothing above can change.
            if (winner == winner_[node] && winner != slot) break;
            winner_[node] = winner;
        }
    }

    std::vector<Member> members_;  // by slot
    std::vector<std::uint32_t> winner_;
};

// No order at all, but all ranks up to date and side by side, so that a scan of all of them is vector code.
class FlatRanks : public Slots {
  public:
    static constexpr const char* kName = "ranks side by side, eager, and a vector scan";
    static constexpr RankReports kReports = RankReports::all;
    static constexpr std::uint64_t kLargestBudget = 10'000;  // more would take minutes
    using Slots::Slots;

    float threshold() const { return full() && fresh_ ? threshold_ : -1.0f; }

    THRESHER_INLINE void moved(std::int64_t id, float rank) {
        if (!fresh_) return;
        ranks_[slot_of(id)] = rank;
        threshold_ = std::min(threshold_, rank);
    }

    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) return add(id), Admission{true, kNoFeature};
        if (!fresh_) build(rank_of);
        n_looks_ += size();
        float least = kInfinity;
        run(simd_in_use(), [&]() __attribute__((always_inline)) {
            const std::size_t n = ranks_.size();
            const float* ranks = ranks_.data();
            float seen = kInfinity;
#pragma omp simd reduction(min : seen)
            for (std::size_t k = 0; k < n; ++k) seen = seen < ranks[k] ? seen : ranks[k];
            least = seen;
        });
        threshold_ = least;
        if (!(rank > least)) return {false, kNoFeature};
        std::size_t slot = size();
        for (std::size_t k = 0; k < size(); ++k)
            if (ranks_[k] == least && (slot == size() || ids_[k] > ids_[slot])) slot = k;
        const std::int64_t leaver = ids_[slot];
        replace(leaver, id);
        ranks_[slot] = rank;
        return {true, leaver};
    }

  private:
    template <class RankOf>
    void build(RankOf rank_of) {
        ranks_.clear();
        for (const Member& member : ranked(rank_of)) ranks_.push_back(member.rank);
        fresh_ = true;
    }

    std::vector<float> ranks_;  // by slot
    float threshold_ = -1.0f;
};

// Counts the members that rows touch, which is what an eager set works for, and the features that enter.
class Counting : public EagerHeap {
  public:
    using EagerHeap::EagerHeap;

    struct Counts {
        std::uint64_t n_touched_members = 0, n_entered = 0;
    };
    // A selector does not hand out its member set, so the counts of the run under way lie outside of it.
    static Counts& counts() {
        static Counts counts;
        return counts;
    }

    void moved(std::int64_t id, float rank) {
        ++counts().n_touched_members;
        EagerHeap::moved(id, rank);
    }
    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        const Admission answer = EagerHeap::offer(id, rank, rank_of);
        counts().n_entered += answer.enters;
        return answer;
    }
};

}  // namespace thresher::bench
