// mRMR against mutual information computed from scratch for every pair.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "thresher/batch/mrmr.hpp"

using namespace thresher;

namespace {

// Counts and logarithms from scratch for every pair.
double information(const std::vector<int>& a, const std::vector<int>& b) {
    std::map<std::pair<int, int>, double> both;
    std::map<int, double> of_a, of_b;
    const double share = 1.0 / static_cast<double>(a.size());
    for (std::size_t r = 0; r < a.size(); ++r) both[{a[r], b[r]}] += share, of_a[a[r]] += share, of_b[b[r]] += share;
    double sum = 0.0;
    for (const auto& [cell, p] : both) sum += p * std::log2(p / (of_a[cell.first] * of_b[cell.second]));
    return sum;
}

TEST(mrmr_takes_the_best_score_each_time) {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const std::size_t n_rows = 1 + random() % 40, d = 1 + random() % 12, n_classes = 2 + random() % 3;
        const int highest = round % 2 ? 1 : 2;
        std::vector<std::vector<int>> columns(d, std::vector<int>(n_rows));
        std::vector<std::int64_t> starts{0};
        std::vector<std::int32_t> ids, classes;
        std::vector<std::uint8_t> values;
        for (std::size_t r = 0; r < n_rows; ++r) {
            for (std::size_t j = 0; j < d; ++j)
                if (random() % 3 == 0) {
                    columns[j][r] = 1 + static_cast<int>(random() % static_cast<unsigned>(highest));
                    ids.push_back(static_cast<std::int32_t>(j));
                    values.push_back(static_cast<std::uint8_t>(columns[j][r]));
                }
            starts.push_back(static_cast<std::int64_t>(ids.size()));
            classes.push_back(static_cast<std::int32_t>(random() % n_classes));
        }
        const bool quotient = random() % 2;
        const Levels rows{starts.data(), ids.data(), values.data(), n_rows, d};
        Mrmr mrmr(rows, classes.data(), n_classes, quotient ? Mrmr::Scheme::quotient : Mrmr::Scheme::difference);
        while (mrmr.chosen().size() < d && !mrmr.exhausted()) mrmr.work(1 + random() % 30, d);
        std::vector<std::size_t> open;
        for (std::size_t j = 0; j < d; ++j)
            if (std::any_of(columns[j].begin(), columns[j].end(), [&](int v) { return v != columns[j][0]; }))
                open.push_back(j);
        CHECK(mrmr.chosen().size() == open.size());
        for (std::size_t k = 0; k < mrmr.chosen().size(); ++k) {
            const auto score = [&](std::size_t j) {
                double redundancy = 0.0;
                for (std::size_t s = 0; s < k; ++s)
                    redundancy += information(columns[j], columns[static_cast<std::size_t>(mrmr.chosen()[s])]) /
                                  static_cast<double>(k);
                const double relevance = information(columns[j], std::vector<int>(classes.begin(), classes.end()));
                if (k == 0) return relevance;
                return quotient ? relevance / (redundancy + 0.0001) : relevance - redundancy;
            };
            const auto taken = static_cast<std::size_t>(mrmr.chosen()[k]);
            for (const std::size_t j : open) CHECK(score(j) <= score(taken) + 2e-9 * std::max(1.0, score(taken)));
            CHECK(std::erase(open, taken) == 1);
        }
    }
}

}  // namespace
