// Member sets against a scan of all members at each offer, and how seldom they look at a member.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/members/admission.hpp"
#include "thresher/members/lazy_heap.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/selector/two.hpp"
#include "thresher/synth.hpp"

using namespace thresher;

namespace {

// The lazy heap against a scan of all members, with ranks that only grow and many ties.
TEST(lazy_heap_equals_a_full_scan) {
    std::mt19937 random(2);
    // The last is more than the heap holds at once; ids of more than 32 bits tie in their lower ones.
    for (const auto& [budget, n_rounds, spread] : {std::tuple<std::uint64_t, int, std::int64_t>{1, 3000, 1},
                                                   {2, 3000, 1},
                                                   {7, 3000, 1},
                                                   {30, 3000, std::int64_t{1} << 32},
                                                   {5000, 11000, 3}}) {
        LazyHeap set(budget);
        std::map<std::int64_t, float> rank;
        struct {
            std::map<std::int64_t, float>& rank;
            float operator()(std::int64_t id) const { return rank[id]; }
            void expect(std::int64_t) const {}
        } ranks_now{rank};
        std::vector<std::int64_t> members;
        for (int round = 0; round < n_rounds; ++round) {
            const auto n_ids = static_cast<std::int64_t>(budget + budget / 3 + 10);
            const std::int64_t id = static_cast<std::int64_t>(random()) % n_ids * spread;
            rank[id] += static_cast<float>(random() % 3);
            const auto at = std::find(members.begin(), members.end(), id);
            if (at != members.end()) continue;
            const auto answer = set.offer(id, rank[id], ranks_now);
            if (members.size() < budget) {
                CHECK(answer.enters && answer.leaver == kNoFeature);
                members.push_back(id);
                continue;
            }
            const auto lowest = std::min_element(members.begin(), members.end(), [&](std::int64_t a, std::int64_t b) {
                return rank[a] < rank[b] || (rank[a] == rank[b] && a > b);
            });
            if (rank[id] > rank[*lowest]) {
                CHECK(answer.enters && answer.leaver == *lowest);
                *lowest = id;
            } else {
                CHECK(!answer.enters);
            }
            CHECK(set.size() == members.size());
        }
    }
}

// Two bounds and a heap against a scan of all members, with ranks that rise and fall and many ties; and a heap that
// does not grow while nobody challenges.
TEST(watched_pool_equals_a_full_scan) {
    std::mt19937 random(3);
    for (const auto& [budget, n_ids, n_rows] :
         {std::tuple<std::size_t, std::size_t, int>{1, 5, 2000}, {5, 20, 2000}, {50, 200, 2000}, {1500, 4000, 1500}}) {
        for (const bool ties : {false, true}) {
            WatchedPool set(budget);
            std::vector<float> rank(n_ids, 0.0f);
            std::set<std::size_t> members;
            struct {
                std::set<std::size_t>& members;
                std::vector<float>& rank;
                float operator()(std::int64_t id) const {
                    return members.count(static_cast<std::size_t>(id)) ? rank[static_cast<std::size_t>(id)] : -1.0f;
                }
                void expect(std::int64_t) const {}
            } ranks_now{members, rank};
            for (int r = 0; r < n_rows; ++r) {
                std::set<std::size_t> row;
                for (std::size_t k = 0; k < 1 + random() % 30; ++k) row.insert(random() % n_ids);
                float lowest = std::numeric_limits<float>::max();
                const float watched = set.watched();
                std::vector<std::size_t> outsiders;
                for (const std::size_t id : row) {
                    rank[id] = ties ? static_cast<float>(random() % 6) : static_cast<float>(random() % 100'000) / 7.0f;
                    if (!members.count(id)) {
                        outsiders.push_back(id);
                        continue;
                    }
                    lowest = std::min(lowest, rank[id]);
                    if (rank[id] < watched) set.moved(static_cast<std::int64_t>(id), rank[id]);
                }
                set.lower(lowest);
                if (random() % 200 == 0) set.forget_ranks();
                for (const std::size_t id : outsiders) {
                    const bool open = members.size() < budget;
                    const auto low =
                        std::min_element(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
                            return rank[a] < rank[b] || (rank[a] == rank[b] && a > b);
                        });
                    const bool enters = open || rank[id] > rank[*low];
                    const std::int64_t leaver = open ? kNoFeature : static_cast<std::int64_t>(*low);
                    if (rank[id] > set.threshold()) {
                        const auto answer = set.offer(static_cast<std::int64_t>(id), rank[id], ranks_now);
                        CHECK(answer.enters == enters && (!enters || answer.leaver == leaver));
                    } else {
                        CHECK(!enters);
                    }
                    if (!enters) continue;
                    if (!open) members.erase(low);
                    members.insert(id);
                }
            }
            for (std::int64_t k = 0; k < 100'000; ++k) set.moved(static_cast<std::int64_t>(*members.begin()), 0.0f);
            CHECK(set.pool_size() <= budget + 65);
        }
    }
}

// Ids in steps of a prime that a table of the standard library divides by: there all of them are in one bucket.
TEST(watched_pool_finds_members_in_steps_at_once) {
    constexpr std::int64_t kStep = 172'933;
    WatchedPool set(170'000);
    for (std::int64_t k = 0; k < 170'000; ++k) set.add(k * kStep);
    CHECK(set.full() && set.longest_search() < 150);
    struct {
        float operator()(std::int64_t id) const { return static_cast<float>(id / kStep); }
        void expect(std::int64_t) const {}
    } rank_of;
    for (std::int64_t k = 0; k < 1000; ++k) {
        const std::int64_t id = (k + 200'000) * kStep;
        CHECK(set.offer(id, rank_of(id), rank_of).leaver == k * kStep);
    }
    CHECK(set.longest_search() < 150);
}

// Counts the ranks of members that a set asks for, and the moves that it hears of.
std::uint64_t n_looks = 0;

template <class RankOf>
struct CountedRanks {
    RankOf rank_of;
    float operator()(std::int64_t id) const {
        ++n_looks;
        return rank_of(id);
    }
    void expect(std::int64_t id) const { rank_of.expect(id); }
};

template <class Set>
struct Counted : Set {
    using Set::Set;
    template <class RankOf>
    Admission offer(std::int64_t id, float rank, RankOf rank_of) {
        return Set::offer(id, rank, CountedRanks<RankOf>{rank_of});
    }
    void moved(std::int64_t id, float rank)
        requires(Set::kReports == RankReports::low)
    {
        ++n_looks;
        Set::moved(id, rank);
    }
};

// Looks for each member that a row with a loss could have touched, on the paper's X1.
template <class L>
double looks_per_member(bool fit_intercept) {
    constexpr std::size_t kRows = 3000, kBudget = 200;
    const Synth synth({20'000, 200, 400, 0, false, 0});
    const std::size_t n = synth.row_size();
    std::vector<std::int32_t> ids(kRows * n), starts, classes;
    std::vector<float> values(kRows * n);
    std::vector<std::int64_t> labels(kRows);
    synth.rows(0, kRows, ids.data(), values.data(), labels.data());
    for (std::size_t r = 0; r <= kRows; ++r) starts.push_back(static_cast<std::int32_t>(r * n));
    for (const std::int64_t label : labels) classes.push_back(label > 0 ? 1 : 0);
    TwoClassSelector<L, DenseMemory<2>> selector(2, {kBudget, {Norm::l2, fit_intercept}, {1.0}});
    Lesson lesson{{classes.data()}};
    lesson.end = kRows;
    n_looks = 0;
    selector.learn(CsrBatch<std::int32_t>{starts.data(), ids.data(), {values.data(), nullptr}, kRows}, 20'000, lesson);
    return static_cast<double>(n_looks) / static_cast<double>(selector.counters().n_updates * kBudget);
}

// A sift for each change near the boundary, not one for each member touched.
TEST(lazy_heap_leaves_members_alone) { CHECK(looks_per_member<Sofs<Counted<LazyHeap>>>(false) < 1.0 / 100); }

// Work for a change of membership; and the intercept is no member to look at.
TEST(watched_pool_looks_at_few_members) {
    const double without = looks_per_member<ShadowSofs<Counted<WatchedPool>>>(false);
    CHECK(without < 1.0 / 10);
    CHECK(looks_per_member<ShadowSofs<Counted<WatchedPool>>>(true) < 1.1 * without);
}

}  // namespace
