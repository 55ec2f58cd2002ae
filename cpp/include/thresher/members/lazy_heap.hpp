// The B features of highest rank, for ranks that never fall (SOFS): the paper's MaxHeap on Σ, as a min-heap on rank.
//
//   lowest member   the smallest rank, then the largest id
//   offer(id, r)    enters while fewer than B are in; after that only if r is strictly above the lowest member's rank,
//                   and then the lowest member leaves
//   cost            nothing for a row that only touches members, O(log B) for each change of membership
//
// The heap is lazy. Ranks never fall, so a key in the heap may be out of date but is always a lower bound. Members are
// left where they are; only when an outsider beats the root is the root brought up to date, until an up-to-date root is
// at the top. On the paper's X1 with B = 200 that takes about two thousand sifts; an eager heap makes one for each
// member touched, 14 million.
//
// A large heap does not fit into the caches, and a sift through it is slow. So the heap holds only the lowest quarter
// of the members, and a bound is kept that all others are above; when the heap is empty, it is rebuilt from all
// members.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "thresher/concepts.hpp"

namespace thresher {

class LazyHeap {
  public:
    static constexpr bool kBounded = true;
    static constexpr RankReports kReports = RankReports::none;

    // The budget is 0 where features to keep take all of it: then no feature can enter.
    explicit LazyHeap(std::uint64_t budget)
        : budget_(budget), threshold_(budget > 0 ? -1.0f : std::numeric_limits<float>::infinity()) {}

    std::size_t size() const { return low_.size() + high_.size(); }
    std::size_t n_open() const { return static_cast<std::size_t>(budget_) - size(); }
    bool full() const { return size() >= budget_; }

    // Calls visit(id) for each member, in any order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Node& node : low_) visit(node.id);
        for (const std::int64_t id : high_) visit(id);
    }

    // Prefetches the ranks that the next n offers are likely to need: those of a large set lie outside the caches.
    template <class RankOf>
    void expect(std::size_t n, RankOf rank_of) const {
        if (size() <= kFew) return;
        for (std::size_t i = 0; i < std::min(2 * n, low_.size()); ++i) rank_of.expect(low_[i].id);
    }

    // No outsider whose rank is at or below this can enter. Ranks are not negative, so an open set lets all pass.
    float threshold() const { return full() ? threshold_ : -1.0f; }

    // Offers an outsider.
    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        if (!full()) {
            add(id);
            return {true, kNoFeature};
        }
        while (rank > threshold_) {
            if (low_.empty()) {
                rebuild(rank_of);
                continue;
            }
            const Node lowest = low_.front();
            const float current = rank_of(lowest.id);
            if (current == lowest.rank()) {
                wide_ |= id >> 32 != 0;
                replace_root(id, rank);
                return {true, lowest.id};
            }
            replace_root(lowest.id, current);
        }
        return {false, kNoFeature};
    }

    // Takes a member in without an offer: while the set is open, or to restore a saved one. The heap is built when the
    // set is full and an outsider challenges.
    void add(std::int64_t id) {
        high_.push_back(id);
        wide_ |= id >> 32 != 0;
    }

  private:
    // Ranks are not negative, so the order of their bits is theirs. Below them in the key are the inverted bits of the
    // id, so that one comparison finds the lower member: the smaller rank, then the larger id.
    struct Node {
        std::uint64_t key;
        std::int64_t id;
        Node(float rank, std::int64_t id_)
            : key(std::uint64_t{std::bit_cast<std::uint32_t>(rank)} << 32 | static_cast<std::uint32_t>(~id_)),
              id(id_) {}
        float rank() const { return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32)); }
    };

    // std::make_heap keeps the greatest in front; with "above" as its "less" that is the lowest member.
    bool above(const Node& a, const Node& b) const {
        if (wide_ && (a.key ^ b.key) >> 32 == 0) [[unlikely]]
            return a.id < b.id;
        return a.key > b.key;
    }

    // Brings every member up to date and makes a heap of the lowest. It was empty, so all are in high_.
    template <class RankOf>
    [[gnu::noinline]] void rebuild(RankOf rank_of) {
        low_.reserve(high_.size());
        for (std::size_t i = 0; i < high_.size(); ++i) {
            if (constexpr std::size_t kAhead = 32; i + kAhead < high_.size()) rank_of.expect(high_[i + kAhead]);
            low_.emplace_back(rank_of(high_[i]), high_[i]);
        }
        high_.clear();
        bound_ = std::numeric_limits<float>::infinity();
        if (const std::size_t wanted = std::max<std::size_t>(kFew, low_.size() / 4); wanted < low_.size()) {
            const auto cut = low_.begin() + static_cast<std::ptrdiff_t>(wanted);
            auto lower = [](const Node& a, const Node& b) { return a.key >> 32 < b.key >> 32; };
            std::nth_element(low_.begin(), cut, low_.end(), lower);
            // Members that tie with the first one left out are left out too, unless none would be left in.
            bound_ = cut->rank();
            if (std::min_element(low_.begin(), cut, lower)->rank() == bound_)
                bound_ = std::nextafter(bound_, std::numeric_limits<float>::infinity());
            std::erase_if(low_, [this](const Node& node) {
                const bool is_high = !(node.rank() < bound_);
                if (is_high) high_.push_back(node.id);
                return is_high;
            });
        }
        std::make_heap(low_.begin(), low_.end(), [this](const Node& a, const Node& b) { return above(a, b); });
        threshold_ = low_.front().rank();
    }

    // Puts a member in the place of the root, or takes it out of the heap if it is not among the lowest.
    void replace_root(std::int64_t id, float rank) {
        Node moved(rank, id);
        if (!(rank < bound_)) {
            high_.push_back(id);
            moved = low_.back();
            low_.pop_back();
        }
        const std::size_t n = low_.size();
        std::size_t hole = 0;
        for (std::size_t child; (child = 2 * hole + 1) < n; hole = child) {
            child += child + 1 < n && above(low_[child], low_[child + 1]);
            if (!above(moved, low_[child])) break;
            low_[hole] = low_[child];
        }
        if (n > 0) low_[hole] = moved;
        threshold_ = n > 0 ? low_.front().rank() : bound_;
    }

    static constexpr std::size_t kFew =
        4096;  // up to this size the heap holds all members: it fits into the caches anyway

    std::uint64_t budget_;
    std::vector<Node> low_;           // a heap of the members whose rank was below the bound
    std::vector<std::int64_t> high_;  // the other members, in any order
    bool wide_ = false;               // some id has more than 32 bits
    float bound_ = 0.0f;              // every member that is not in the heap is at or above it
    float threshold_;                 // no member is below it
};

static_assert(MemberSet<LazyHeap>);

}  // namespace thresher
