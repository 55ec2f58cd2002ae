// Other ways to keep the lowest member exact when ranks fall as well as rise: what RankedSet was chosen from.
//
// A set hears of a row through one of three calls, and says by kHears which one it needs:
//
//   falls    lower(r) for the lowest rank of the row's members, and fell(id) for a member that fell below watched()
//   lowest   lower(r) alone
//   moves    moved(id, rank) for every member that the row touched
//
// and then through offer(id, rank, rank_of), as RankedSet does. All give the same answers; they differ in work, which
// n_looks() counts: ranks looked at, or places of a heap or tree visited.
// Sets that must find a member's place by its id hold an array over all ids. That is more memory than a library could
// spend on it, and the fastest there is: the alternatives are shown at their best.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "thresher/ranked_set.hpp"
#include "thresher/simd.hpp"

namespace thresher::bench {

enum class Hears { falls, lowest, moves };

using Member = RankedSet::Member;
using Answer = RankedSet::Answer;
inline constexpr std::int64_t kNobody = RankedSet::kNobody;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline bool below(const Member& a, const Member& b) { return a.rank < b.rank || (a.rank == b.rank && a.id > b.id); }

// What ships.
class Shipped : public RankedSet {
  public:
    static constexpr const char* kName = "two bounds and a pool, looked at once a row (`ranked_set.hpp`)";
    static constexpr Hears kHears = Hears::falls;

    Shipped(std::uint64_t budget, std::int64_t) : RankedSet(budget) {}
    std::uint64_t n_looks() const { return n_sifts(); }
};

// Looks at every member at each challenge. A bound, lowered by the row's lowest member, keeps most outsiders from being
// a challenge; without it every outsider of every row would be one.
class FullScan {
  public:
    static constexpr const char* kName = "look at all members at each challenge";
    static constexpr Hears kHears = Hears::lowest;
    static constexpr std::uint64_t kLargestBudget = 10'000;  // above it one waits for minutes

    FullScan(std::uint64_t budget, std::int64_t) : budget_(budget) {}

    std::uint64_t n_looks() const { return n_looks_; }
    float threshold() const { return ids_.size() >= budget_ ? threshold_ : -1.0f; }
    float watched() const { return -1.0f; }
    void lower(float rank) { threshold_ = std::min(threshold_, rank); }

    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (ids_.size() < budget_) {
            ids_.push_back(id);
            return {true, kNobody};
        }
        n_looks_ += ids_.size();
        Member lowest{kInfinity, kNobody};
        std::size_t slot = 0;
        for (std::size_t k = 0; k < ids_.size(); ++k) {
            const Member member{rank_of(ids_[k]), ids_[k]};
            if (below(member, lowest)) lowest = member, slot = k;
        }
        threshold_ = lowest.rank;
        if (!(rank > lowest.rank)) return {false, kNobody};
        ids_[slot] = id;
        return {true, lowest.id};
    }

  private:
    std::uint64_t budget_;
    std::vector<std::int64_t> ids_;
    float threshold_ = -1.0f;
    std::uint64_t n_looks_ = 0;
};

// An indexed binary heap in which every member that a row touches is sifted at once.
class EagerHeap {
  public:
    static constexpr const char* kName = "indexed heap, eager";
    static constexpr Hears kHears = Hears::moves;

    EagerHeap(std::uint64_t budget, std::int64_t n_features)
        : budget_(budget), place_(static_cast<std::size_t>(n_features)) {}

    std::uint64_t n_looks() const { return n_looks_; }
    float threshold() const { return full() ? heap_.front().rank : -1.0f; }
    float watched() const { return -1.0f; }
    void lower(float) {}

    void moved(std::int64_t id, float rank) {
        if (full()) put(place_[static_cast<std::size_t>(id)], {rank, id});
    }

    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            heap_.push_back({rank, id});
            if (full()) build(rank_of);
            return {true, kNobody};
        }
        const Member lowest = heap_.front();
        if (!(rank > lowest.rank)) return {false, kNobody};
        put(0, {rank, id});
        return {true, lowest.id};
    }

  private:
    bool full() const { return heap_.size() >= budget_; }

    // Ranks have moved while the set was open; only the last one to enter is not in memory as a member yet.
    template <class RankOf>
    void build(RankOf rank_of) {
        for (std::size_t k = 0; k + 1 < heap_.size(); ++k) heap_[k].rank = rank_of(heap_[k].id);
        std::sort(heap_.begin(), heap_.end(), below);
        for (std::size_t k = 0; k < heap_.size(); ++k) settle(k, heap_[k]);
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
        place_[static_cast<std::size_t>(member.id)] = static_cast<std::uint32_t>(place);
    }

    std::uint64_t budget_;
    std::vector<Member> heap_;
    std::vector<std::uint32_t> place_;  // of each feature that is a member
    std::uint64_t n_looks_ = 0;
};

// A heap of lower bounds. A rise leaves a member where it is. A fall below the bound pushes a second, lower entry; the
// first is known as void when it comes to the top, because it is not the member's last. Only the top is brought up to
// date, when an outsider challenges it.
class LazyHeap {
  public:
    static constexpr const char* kName = "heap of lower bounds, lazy";
    static constexpr Hears kHears = Hears::moves;

    LazyHeap(std::uint64_t budget, std::int64_t n_features)
        : budget_(budget), bound_(static_cast<std::size_t>(n_features), kVoid) {}

    std::uint64_t n_looks() const { return n_looks_; }
    float threshold() const { return n_members_ >= budget_ ? heap_.front().rank : -1.0f; }
    float watched() const { return -1.0f; }
    void lower(float) {}

    void moved(std::int64_t id, float rank) {
        if (rank < bound_[static_cast<std::size_t>(id)]) push({rank, id});
    }

    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (n_members_ < budget_) {
            ++n_members_;
            push({rank, id});
            return {true, kNobody};
        }
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
            push({rank, id});
            return {true, top.id};
        }
        return {false, kNobody};
    }

  private:
    static constexpr float kVoid = -1.0f;
    static bool above(const Member& a, const Member& b) { return below(b, a); }

    void push(Member member) {
        ++n_looks_;
        bound_[static_cast<std::size_t>(member.id)] = member.rank;
        heap_.push_back(member);
        std::push_heap(heap_.begin(), heap_.end(), above);
        if (heap_.size() > 4 * n_members_ + 64) drop_void();
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

    std::uint64_t budget_;
    std::size_t n_members_ = 0;
    std::vector<Member> heap_;
    std::vector<float> bound_;  // of each feature that is a member: its last entry's
    std::uint64_t n_looks_ = 0;
};

// RankedSet's two bounds, with the pool kept as a lazy heap: a member that falls while below `watched` is pushed again.
class PooledHeap {
  public:
    static constexpr const char* kName = "two bounds and a lazy heap";
    static constexpr Hears kHears = Hears::falls;
    static constexpr bool kEveryFall = true;  // of members below `watched`, not just the one that takes them there

    PooledHeap(std::uint64_t budget, std::int64_t n_features)
        : budget_(budget), slot_(static_cast<std::size_t>(n_features)) {}

    std::uint64_t n_looks() const { return n_looks_; }
    float threshold() const { return ids_.size() >= budget_ ? threshold_ : -1.0f; }
    float watched() const { return watched_; }
    void lower(float rank) { threshold_ = std::min(threshold_, rank); }

    void fell(std::int64_t id, float rank) {
        ++n_looks_;
        heap_.push_back({rank, id});
        std::push_heap(heap_.begin(), heap_.end(), above);
    }

    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (ids_.size() < budget_) {
            slot_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(ids_.size());
            ids_.push_back(id);
            return {true, kNobody};
        }
        const Member lowest = find_lowest(rank_of);
        threshold_ = lowest.rank;
        if (!(rank > lowest.rank)) return {false, kNobody};
        const std::uint32_t slot = slot_[static_cast<std::size_t>(lowest.id)];
        slot_[static_cast<std::size_t>(id)] = slot;
        ids_[slot] = id;
        if (rank < watched_) fell(id, rank);
        return {true, lowest.id};
    }

  private:
    static bool above(const Member& a, const Member& b) { return below(b, a); }

    template <class RankOf>
    Member find_lowest(RankOf rank_of) {
        while (!heap_.empty() && heap_.size() < ids_.size() + 64) {
            const Member top = heap_.front();
            const float current = rank_of(top.id);
            ++n_looks_;
            if (current == top.rank) return top;
            std::pop_heap(heap_.begin(), heap_.end(), above);
            heap_.pop_back();
            // If it fell further there is a lower entry already; if it left, or rose far enough, it is gone.
            if (current > top.rank && current < watched_) fell(top.id, current);
        }
        n_looks_ += ids_.size();
        std::vector<Member> all;
        for (const std::int64_t id : ids_) all.push_back({rank_of(id), id});
        const std::size_t wanted = std::min(all.size() - 1, 16 + all.size() / 8);
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end(), below);
        watched_ = wanted + 1 < all.size() ? all[wanted].rank : kInfinity;
        heap_.clear();
        for (const Member& member : all)
            if (member.rank < watched_) heap_.push_back(member);
        std::make_heap(heap_.begin(), heap_.end(), above);
        return *std::min_element(all.begin(), all.end(), below);
    }

    std::uint64_t budget_;
    std::vector<std::int64_t> ids_;
    std::vector<std::uint32_t> slot_;
    std::vector<Member> heap_;
    float threshold_ = -1.0f;
    float watched_ = -1.0f;
    std::uint64_t n_looks_ = 0;
};

// RankedSet's two bounds, with a pool whose ranks are looked at again for every challenge: what shipped first.
class PlainPool {
  public:
    static constexpr const char* kName = "two bounds and a pool, all of it looked at for each challenge";
    static constexpr Hears kHears = Hears::falls;

    PlainPool(std::uint64_t budget, std::int64_t n_features)
        : budget_(budget), slot_(static_cast<std::size_t>(n_features)) {}

    std::uint64_t n_looks() const { return n_looks_; }
    float threshold() const { return full() ? threshold_ : -1.0f; }
    float watched() const { return watched_; }
    void lower(float rank) { threshold_ = std::min(threshold_, rank); }
    void fell(std::int64_t id) { pool_.push_back(id); }

    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            slot_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(ids_.size());
            ids_.push_back(id);
            return {true, kNobody};
        }
        const Member lowest = find_lowest(rank_of);
        threshold_ = lowest.rank;
        if (!(rank > lowest.rank)) return {false, kNobody};
        const std::uint32_t slot = slot_[static_cast<std::size_t>(lowest.id)];
        slot_[static_cast<std::size_t>(id)] = slot;
        ids_[slot] = id;
        if (rank < watched_) pool_.push_back(id);
        return {true, lowest.id};
    }

  private:
    bool full() const { return ids_.size() >= budget_; }

    template <class RankOf>
    Member find_lowest(RankOf rank_of) {
        if (pool_.size() < ids_.size() + 64) {
            Member lowest{kInfinity, kNobody};
            std::size_t kept = 0;
            n_looks_ += pool_.size();
            for (const std::int64_t id : pool_) {
                const Member member{rank_of(id), id};
                if (member.rank < 0.0f || !(member.rank < watched_)) continue;
                pool_[kept++] = id;
                if (below(member, lowest)) lowest = member;
            }
            pool_.resize(kept);
            if (lowest.id != kNobody) return lowest;
        }
        n_looks_ += ids_.size();
        all_.clear();
        for (const std::int64_t id : ids_) all_.push_back({rank_of(id), id});
        const auto wanted = static_cast<std::size_t>(16.0 + 2.0 * std::sqrt(static_cast<double>(ids_.size())));
        watched_ = kInfinity;
        if (wanted < all_.size()) {
            std::nth_element(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(wanted), all_.end(), below);
            watched_ = all_[wanted].rank;
            all_.resize(wanted);
        }
        pool_.clear();
        for (const Member& member : all_)
            if (member.rank < watched_) pool_.push_back(member.id);
        return *std::min_element(all_.begin(), all_.end(), below);
    }

    std::uint64_t budget_;
    std::vector<std::int64_t> ids_;
    std::vector<std::uint32_t> slot_;
    std::vector<std::int64_t> pool_;
    std::vector<Member> all_;
    float threshold_ = -1.0f;
    float watched_ = -1.0f;
    std::uint64_t n_looks_ = 0;
};

// A tournament over the members' slots: the lowest of each pair goes up. A touched member plays its way up again, and
// stops where nothing changes.
class Tournament {
  public:
    static constexpr const char* kName = "tournament tree, eager";
    static constexpr Hears kHears = Hears::moves;

    Tournament(std::uint64_t budget, std::int64_t n_features)
        : budget_(budget), slot_(static_cast<std::size_t>(n_features)) {}

    std::uint64_t n_looks() const { return n_looks_; }
    float threshold() const { return full() ? members_[winner_[1]].rank : -1.0f; }
    float watched() const { return -1.0f; }
    void lower(float) {}

    void moved(std::int64_t id, float rank) {
        if (!full()) return;
        const std::uint32_t slot = slot_[static_cast<std::size_t>(id)];
        members_[slot].rank = rank;
        play(slot);
    }

    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            slot_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(members_.size());
            members_.push_back({rank, id});
            if (full()) build(rank_of);
            return {true, kNobody};
        }
        const std::uint32_t slot = winner_[1];
        const Member lowest = members_[slot];
        if (!(rank > lowest.rank)) return {false, kNobody};
        slot_[static_cast<std::size_t>(id)] = slot;
        members_[slot] = {rank, id};
        play(slot);
        return {true, lowest.id};
    }

  private:
    bool full() const { return members_.size() >= budget_; }
    std::uint32_t lower_of(std::uint32_t a, std::uint32_t b) const { return below(members_[a], members_[b]) ? a : b; }

    // Node k has children 2k and 2k + 1; nodes from n on are the slots themselves.
    template <class RankOf>
    void build(RankOf rank_of) {
        const std::size_t n = members_.size();
        for (std::size_t k = 0; k + 1 < n; ++k) members_[k].rank = rank_of(members_[k].id);
        winner_.resize(2 * n);
        for (std::size_t k = 0; k < n; ++k) winner_[n + k] = static_cast<std::uint32_t>(k);
        for (std::size_t k = n - 1; k > 0; --k) winner_[k] = lower_of(winner_[2 * k], winner_[2 * k + 1]);
        if (n == 1) winner_[1] = 0;
    }

    void play(std::uint32_t slot) {
        for (std::size_t node = (members_.size() + slot) / 2; node > 0; node /= 2) {
            ++n_looks_;
            const std::uint32_t winner = lower_of(winner_[2 * node], winner_[2 * node + 1]);
            // Where someone else won before and wins again, nothing above can change.
            if (winner == winner_[node] && winner != slot) break;
            winner_[node] = winner;
        }
    }

    std::uint64_t budget_;
    std::vector<Member> members_;
    std::vector<std::uint32_t> winner_;
    std::vector<std::uint32_t> slot_;
    std::uint64_t n_looks_ = 0;
};

// No order at all, but all ranks up to date and side by side, so that looking at all of them is vector code.
class FlatRanks {
  public:
    static constexpr const char* kName = "ranks side by side, eager, and a vector scan";
    static constexpr Hears kHears = Hears::moves;
    static constexpr std::uint64_t kLargestBudget = 10'000;  // above it one waits for minutes

    FlatRanks(std::uint64_t budget, std::int64_t n_features)
        : budget_(budget), slot_(static_cast<std::size_t>(n_features)) {}

    std::uint64_t n_looks() const { return n_looks_; }
    float threshold() const { return ids_.size() >= budget_ ? threshold_ : -1.0f; }
    float watched() const { return -1.0f; }
    void lower(float rank) { threshold_ = std::min(threshold_, rank); }

    THRESHER_INLINE void moved(std::int64_t id, float rank) { ranks_[slot_[static_cast<std::size_t>(id)]] = rank; }

    template <class RankOf>
    Answer offer(std::int64_t id, float rank, RankOf) {
        if (ids_.size() < budget_) {
            slot_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(ids_.size());
            ids_.push_back(id);
            ranks_.push_back(rank);
            return {true, kNobody};
        }
        n_looks_ += ids_.size();
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
        if (!(rank > least)) return {false, kNobody};
        std::size_t slot = ids_.size();
        for (std::size_t k = 0; k < ids_.size(); ++k)
            if (ranks_[k] == least && (slot == ids_.size() || ids_[k] > ids_[slot])) slot = k;
        const std::int64_t leaver = ids_[slot];
        slot_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(slot);
        ids_[slot] = id;
        ranks_[slot] = rank;
        return {true, leaver};
    }

  private:
    std::uint64_t budget_;
    std::vector<std::int64_t> ids_;
    std::vector<float> ranks_;
    std::vector<std::uint32_t> slot_;
    float threshold_ = -1.0f;
    std::uint64_t n_looks_ = 0;
};

}  // namespace thresher::bench
