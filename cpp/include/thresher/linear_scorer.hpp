// A linear model that only predicts: what a batch method has selected, and the weights that it gave.
//
//   score    s_c = Σ w_cj·x_j over the row's features that were selected, plus the intercept of c. Two classes have one
//            score, the margin; more have one each
//   cost     one look-up per nonzero, and O(m·C) for a row of m nonzeros
//
// The arithmetic is that of the online selectors: rows are scaled by the norm, weights and products are float32, and
// sums run in 16 float64 lanes, with the intercept in the lane that follows the row's last feature. So a model has the
// same bits on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "thresher/columns.hpp"
#include "thresher/csr.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/parts.hpp"
#include "thresher/selector/ranking.hpp"
#include "thresher/simd.hpp"

namespace thresher {

class LinearScorer {
  public:
    // `ranking` has the ids best first, with n_vectors weights each; the intercept has one entry per vector.
    LinearScorer(std::size_t n_vectors, Norm norm, Ranking ranking, std::vector<double> intercept)
        : n_vectors_(n_vectors),
          norm_(norm),
          ranking_(checked(std::move(ranking), intercept, n_vectors)),
          intercept_(std::move(intercept)),
          index_(ranking_.ids.data(), ranking_.ids.size()) {}

    std::size_t n_vectors() const { return n_vectors_; }
    const Ranking& members() const { return ranking_; }
    const std::vector<double>& intercept() const { return intercept_; }

    // Scores of the rows, n_vectors per row. Ids that were not selected are ignored. Any number of threads
    // may score at the same time.
    template <class Id>
    void score(const CsrBatch<Id>& batch, const RowRange& rows, double* scores) const {
        RowBuffer buffer;
        std::vector<std::int32_t> places;
        for_each_row(batch, rows, {norm_, false}, buffer, [&](const Ids& ids, std::size_t n, std::size_t at) {
            places.resize(n);
            for (std::size_t i = 0; i < n; ++i) places[i] = index_.find(ids[i]);
            for (std::size_t c = 0; c < n_vectors_; ++c) scores[at * n_vectors_ + c] = score_of(c, places, buffer);
        });
    }

    // What the rows' selected features add to their scores: row begin + k to that of class classes[k], if there are
    // more than two.
    template <class Id>
    Parts parts(const CsrBatch<Id>& batch, const RowRange& rows, const std::int32_t* classes) const {
        RowBuffer buffer;
        Parts out;
        for_each_row(batch, rows, {norm_, false}, buffer, [&](const Ids& ids, std::size_t n, std::size_t at) {
            const std::size_t c = n_vectors_ > 1 ? static_cast<std::size_t>(classes[at]) : 0;
            for (std::size_t i = 0; i < n; ++i) {
                const std::int32_t place = index_.find(ids[i]);
                if (place == ColumnIndex::kAbsent) continue;
                const float weight = ranking_.weights[static_cast<std::size_t>(place) * n_vectors_ + c];
                out.add(ids[i], static_cast<double>(weight * buffer.x()[i]));
            }
            out.end_row();
        });
        return out;
    }

  private:
    double score_of(std::size_t c, const std::vector<std::int32_t>& places, RowBuffer& buffer) const {
        const std::size_t n = places.size();
        float* weight = buffer.row().plane(1);
        for (std::size_t i = 0; i < n; ++i)
            weight[i] = places[i] == ColumnIndex::kAbsent
                            ? 0.0f
                            : ranking_.weights[static_cast<std::size_t>(places[i]) * n_vectors_ + c];
        for (std::size_t i = n; i < buffer.blocks(); ++i) weight[i] = 0.0f;
        const float* x = buffer.x();
        const std::size_t blocks = buffer.blocks();
        LaneSum sum = run([=]() __attribute__((always_inline)) { return lane_products(weight, x, blocks); });
        sum.lane[n % kLanes] += intercept_[c];
        return sum.total();
    }

    static Ranking checked(Ranking ranking, const std::vector<double>& intercept, std::size_t n_vectors) {
        const std::size_t n = ranking.ids.size();
        if (n_vectors == 0) throw std::invalid_argument("n_vectors must be at least 1");
        if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
            throw std::invalid_argument("ids has " + std::to_string(n) + " entries: at most 2^31 - 1 are supported");
        if (ranking.weights.size() != n * n_vectors)
            throw std::invalid_argument("weights must have n_vectors entries per id, " + std::to_string(n * n_vectors) +
                                        " in all. Got " + std::to_string(ranking.weights.size()));
        if (intercept.size() != n_vectors)
            throw std::invalid_argument("intercept must have n_vectors entries, " + std::to_string(n_vectors) +
                                        ". Got " + std::to_string(intercept.size()));
        auto not_finite = [](auto number) { return !std::isfinite(number); };
        if (std::any_of(ranking.weights.begin(), ranking.weights.end(), not_finite))
            throw std::invalid_argument("weights must be finite");
        if (std::any_of(intercept.begin(), intercept.end(), not_finite))
            throw std::invalid_argument("intercept must be finite");
        std::vector<std::int64_t> sorted = ranking.ids;
        std::sort(sorted.begin(), sorted.end());
        if (n > 0 && sorted.front() < 0) throw std::invalid_argument("ids must not be negative");
        if (const auto twin = std::adjacent_find(sorted.begin(), sorted.end()); twin != sorted.end())
            throw std::invalid_argument("ids must be distinct: " + std::to_string(*twin) + " occurs twice");
        return ranking;
    }

    std::size_t n_vectors_;
    Norm norm_;
    Ranking ranking_;
    std::vector<double> intercept_;
    ColumnIndex index_;
};

}  // namespace thresher
