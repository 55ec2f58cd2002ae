// The learner of the fuzz targets, compiled once for all of them.
#include <algorithm>
#include <bit>

#include "fuzz.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/selector/two.hpp"

namespace thresher::fuzz {
namespace {

using L = ShadowSofs<WatchedPool>;
// A table, since a look at all cells of dense memory would take a thousand times as long as reading the input.
using Selector = TwoClassSelector<L, HashMemory<L::kWidth>>;

constexpr std::size_t kBudget = 5;

bool same_bits(const std::vector<float>& one, const std::vector<float>& two) {
    return std::equal(one.begin(), one.end(), two.begin(), two.end(), [](float a, float b) {
        return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    });
}

}  // namespace

template <class Id>
std::vector<std::int64_t> check_learning(const CsrBatch<Id>& batch, std::int64_t largest_id,
                                         const double* row_weights) {
    CHECK(batch_fault(batch, largest_id + 1, Norm::l2).kind == Fault::Kind::none);
    std::vector<std::int32_t> classes(batch.n_rows);
    for (std::size_t r = 0; r < batch.n_rows; ++r) classes[r] = r % 3 == 1;
    Selector whole(2, {kBudget, {Norm::l2, true}, {0.5}}), halves(2, {kBudget, {Norm::l2, true}, {0.5}});
    auto learn = [&](Selector& selector, std::size_t begin, std::size_t end) {
        Lesson lesson{{classes.data()}, row_weights};
        lesson.begin = begin, lesson.end = end;
        lesson.check = false;  // as checked rows are learned
        CHECK(selector.learn(batch, largest_id + 1, lesson).kind == Fault::Kind::none);
    };
    learn(whole, 0, batch.n_rows);
    learn(halves, 0, batch.n_rows / 2);
    learn(halves, batch.n_rows / 2, batch.n_rows);
    const State one = whole.state(), two = halves.state();
    CHECK(one.ids == two.ids && same_bits(one.cells, two.cells) && same_bits(one.intercept, two.intercept));
    const std::vector<std::int64_t> members = whole.members().ids;
    CHECK(members.size() <= kBudget && members == halves.members().ids);
    return members;
}

template std::vector<std::int64_t> check_learning(const CsrBatch<std::int32_t>&, std::int64_t, const double*);
template std::vector<std::int64_t> check_learning(const CsrBatch<std::int64_t>&, std::int64_t, const double*);

}  // namespace thresher::fuzz
