// The linear scorer against a plain sum, and against a selector that holds the same weights.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "rows.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/linear_scorer.hpp"
#include "thresher/members/lazy_heap.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/selector/two.hpp"

using namespace thresher;
using thresher::tests::Rows;

namespace {

Rows random_rows(std::mt19937& random) {
    Rows rows;
    for (int r = 0; r < 50; ++r) {
        std::set<std::int32_t> ids;
        for (std::size_t k = random() % 40; k > 0; --k) ids.insert(static_cast<std::int32_t>(random() % 100));
        std::vector<float> values;
        for (std::size_t k = 0; k < ids.size(); ++k) values.push_back(static_cast<float>(random() % 2001) / 100 - 10);
        rows.add({ids.begin(), ids.end()}, values, 0);
    }
    return rows;
}

TEST(linear_scorer_equals_a_plain_sum) {
    std::mt19937 random(8);
    for (const std::size_t n_vectors : {1, 3})
        for (const Norm norm : {Norm::none, Norm::l2}) {
            const Rows rows = random_rows(random);
            Ranking ranking;
            std::map<std::int64_t, std::vector<double>> truth;
            for (std::int64_t id : {70, 3, 99, 12, 41, 1'000'000}) {
                ranking.ids.push_back(id);
                for (std::size_t c = 0; c < n_vectors; ++c) {
                    ranking.weights.push_back(static_cast<float>(random() % 1000) / 77 - 6);
                    truth[id].push_back(static_cast<double>(ranking.weights.back()));
                }
            }
            std::vector<double> intercept;
            for (std::size_t c = 0; c < n_vectors; ++c) intercept.push_back(static_cast<double>(c) - 0.1);
            const LinearScorer scorer(n_vectors, norm, ranking, intercept);
            CHECK(scorer.members().ids == ranking.ids && scorer.members().weights == ranking.weights);
            std::vector<double> scores(30 * n_vectors);
            scorer.score(rows.batch(), {10, 40}, scores.data());
            for (std::size_t r = 10; r < 40; ++r)
                for (std::size_t c = 0; c < n_vectors; ++c) {
                    double sum = 0.0, squares = 0.0;
                    for (auto i = static_cast<std::size_t>(rows.starts[r]);
                         i < static_cast<std::size_t>(rows.starts[r + 1]); ++i) {
                        const double x = static_cast<double>(rows.values[i]);
                        squares += x * x;
                        if (truth.count(rows.ids[i])) sum += truth[rows.ids[i]][c] * x;
                    }
                    if (norm == Norm::l2 && squares > 0.0) sum /= std::sqrt(squares);
                    CHECK(std::fabs(scores[(r - 10) * n_vectors + c] - (sum + intercept[c])) < 1e-4);
                }
        }
}

// Models that were scored by a selector keep their margins, to the bit, on every SIMD path.
TEST(linear_scorer_has_the_bits_of_a_selector) {
    std::mt19937 random(9);
    const Rows rows = random_rows(random);
    const float intercept = 0.7f;
    Ranking ranking;
    State state;
    for (std::int64_t id = 0; id < 100; id += 2) {
        const float weight = static_cast<float>(random() % 1000) / 77 - 6;
        ranking.ids.push_back(id), ranking.weights.push_back(weight);
        state.ids.push_back(id), state.cells.insert(state.cells.end(), {weight, -1.0f});
    }
    state.intercept = {intercept, -0.0f};
    TwoClassSelector<Sofs<LazyHeap>, DenseMemory<2>> selector(2, {50, {Norm::l2, true}, {1.0}});
    selector.restore(state.view());
    const LinearScorer scorer(1, Norm::l2, ranking, {static_cast<double>(kInterceptValue * intercept)});
    for (const Simd simd : {Simd::scalar, Simd::avx2, Simd::avx512}) {
        if (simd > best_simd()) continue;
        simd_choice() = simd;
        std::vector<double> ours(50), theirs(50);
        scorer.score(rows.batch(), {0, 50}, ours.data());
        selector.score(rows.batch(), {0, 50}, theirs.data());
        CHECK(ours == theirs);
    }
    const Parts ours = scorer.parts(rows.batch(), {0, 50}, nullptr);
    const Parts theirs = selector.parts(rows.batch(), {0, 50}, nullptr);
    CHECK(ours.starts == theirs.starts && ours.ids == theirs.ids && ours.parts == theirs.parts);
}

TEST(linear_scorer_refuses_what_does_not_fit) {
    auto refuses = [](std::size_t n_vectors, const Ranking& ranking, const std::vector<double>& intercept) {
        try {
            LinearScorer(n_vectors, Norm::l2, ranking, intercept);
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    CHECK(!refuses(1, {{1, 2}, {1, 2}}, {0}) && !refuses(1, {}, {0}));
    CHECK(refuses(1, {{1, 2}, {1}}, {0}) && refuses(2, {{1, 2}, {1, 2}}, {0, 0}));
    CHECK(refuses(1, {{1, 2}, {1, 2}}, {}) && refuses(0, {}, {}));
    CHECK(refuses(1, {{1, 1}, {1, 2}}, {0}) && refuses(1, {{-1}, {1}}, {0}));
    CHECK(refuses(1, {{1}, {NAN}}, {0}) && refuses(1, {{1}, {1}}, {INFINITY}));
}

}  // namespace
