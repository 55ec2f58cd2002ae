// The scale of margins: what makes them probabilities. P(second class) = σ(t·m), and of many classes softmax(t·s).
//
// t is learned from the margins as they were before each row was learned, so from rows that the model had not seen. It
// minimises their log loss by one Newton step per row, with the second derivatives of all rows so far:
//
//   information += c·h;   t −= c·g / information,    at most halved or doubled,
//
// where g and h are the first and second derivative of the row's log loss by t, and c is the row's importance. Where t
// is far too large, h would vanish: it counts as at least 2^-20 of the squared spread of the scores. One number for all
// margins changes neither their sign nor which of many scores is the largest.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "thresher/simd.hpp"

namespace thresher {

// e^z for z ≤ 0, to nine digits. The library's differs in its last bits from one machine to another.
THRESHER_INLINE double exp_of_negative(double z) {
    constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
    const double inside = z > -700.0 ? z : -700.0;
    const double power = std::floor(inside * kLog2E + 0.5);
    const double r = inside - power * kLn2;  // |r| ≤ ln 2 / 2
    constexpr double kTaylor[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320};
    double sum = kTaylor[8];
    for (int k = 7; k >= 0; --k) sum = sum * r + kTaylor[k];
    const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(power) + 1023) << 52;
    return sum * std::bit_cast<double>(bits);
}

struct MarginScale {
    double scale = 4.0;        // t. Most learners aim at a margin of 1, which then means 98 %
    double information = 0.0;  // second derivatives of the log loss by t, summed over rows
    double n_rows = 0.0;       // from which it was learned

    // A row of two classes, with margin m and y = ±1.
    THRESHER_INLINE void learn(double m, double y, double importance) {
        const double z = scale * y * m;
        const double e = exp_of_negative(-std::fabs(z));
        const double chance_of_wrong = (z > 0.0 ? e : 1.0) / (1.0 + e);
        move(-y * m * chance_of_wrong, m * m * std::max(e / ((1.0 + e) * (1.0 + e)), kLeastCurvature), importance);
    }

    // A row of many classes, with their scores and the true one.
    THRESHER_INLINE void learn(const std::vector<double>& scores, std::size_t truth, double importance) {
        const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
        const double highest = *high, spread = *high - *low;
        double sum = 0.0, mean = 0.0, squares = 0.0;
        for (const double score : scores) {
            const double below = score - highest, e = exp_of_negative(scale * below);
            sum += e;
            mean += e * below;
            squares += e * below * below;
        }
        mean /= sum;
        const double curvature = std::max(squares / sum - mean * mean, kLeastCurvature * spread * spread);
        move(mean - (scores[truth] - highest), curvature, importance);
    }

  private:
    static constexpr double kLeastCurvature = 0x1p-20;

    THRESHER_INLINE void move(double slope, double curvature, double importance) {
        constexpr double kLeast = 1e-30, kMost = 1e30;
        information = std::min(information + importance * curvature, 1e300);
        if (!(information > 0.0)) return;
        const double wanted = scale - importance * slope / information;
        scale = std::clamp(std::clamp(wanted, scale / 2.0, scale * 2.0), kLeast, kMost);
    }
};

}  // namespace thresher
