// The paper's synthetic data (§4.2): X1 and X2 are two settings of one generator.
//
//   every row    the informative columns, and `n_noise` columns drawn at random from the rest; values i.i.d. N(0, 1)
//   label        the sign of w*·x over the informative columns, with w* ~ U(0, 1) once for all rows
//
// Row i is a function of (seed, i) alone: its random numbers are a hash of a key for the row and a counter, so that any
// slice of the data can be generated anywhere, in any order. Values are rounded to 5 decimals, so that a text file of
// them holds exactly what memory does.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "thresher/normal.hpp"
#include "thresher/simd.hpp"
#include "thresher/splitmix.hpp"

namespace thresher {

// A stream of random numbers by counter: draw k is mix(key + k·φ).
struct Draws {
    std::uint64_t key;

    Draws(std::uint64_t seed, std::uint64_t stream) : key(mix(mix(seed + kPhi) ^ (stream + 1) * 0xd1342543de82ef95u)) {}
    THRESHER_INLINE std::uint64_t operator()(std::uint64_t k) const { return mix(key + (k + 1) * kPhi); }
    THRESHER_INLINE std::uint64_t below(std::uint64_t limit, std::uint64_t k) const {
        return static_cast<std::uint64_t>(static_cast<unsigned __int128>((*this)(k)) * limit >> 64);
    }
};

// Uniform in the open interval (0, 1).
THRESHER_INLINE double uniform(std::uint64_t bits) {
    return (static_cast<double>(static_cast<std::int64_t>(bits >> 11)) + 0.5) * 0x1p-53;
}

class Synth {
  public:
    struct Shape {
        std::int64_t n_features;
        std::int64_t n_informative;
        std::int64_t n_noise;        // noise entries in a row …
        std::int64_t n_dense_noise;  // … of which this many lie in columns that are present in every row
        bool permute;  // put the informative and the dense noise columns at random ids, else they come first
        std::uint64_t seed;
    };

    explicit Synth(const Shape& shape) : shape_(shape) {
        const auto n_fixed = static_cast<std::size_t>(shape.n_informative + shape.n_dense_noise);
        std::vector<std::int64_t> ids(n_fixed);
        std::iota(ids.begin(), ids.end(), std::int64_t{0});
        if (shape.permute) {
            const Draws draws(shape.seed, kPermutation);
            Sampler(static_cast<std::uint64_t>(shape.n_features)).draw(n_fixed, draws, 0, ids.data());
            for (std::size_t k = n_fixed; k > 1; --k) std::swap(ids[k - 1], ids[draws.below(k, ~k)]);
        }
        informative_.assign(ids.begin(), ids.begin() + shape.n_informative);
        for (std::size_t k = 0; k < n_fixed; ++k) fixed_.push_back({ids[k], k});
        std::sort(fixed_.begin(), fixed_.end(), [](const Fixed& a, const Fixed& b) { return a.id < b.id; });
        const Draws draws(shape.seed, kTruth);
        for (std::int64_t k = 0; k < shape.n_informative; ++k)
            truth_.push_back(uniform(draws(static_cast<std::uint64_t>(k))));
    }

    std::size_t row_size() const { return static_cast<std::size_t>(shape_.n_informative + shape_.n_noise); }
    const std::vector<std::int64_t>& informative() const { return informative_; }

    // Writes rows first … first + n - 1, row_size() entries each, and their labels ±1.
    void rows(std::uint64_t first, std::size_t n, std::int32_t* ids, float* values, std::int64_t* labels) const {
        run([&]() __attribute__((always_inline)) {
            const std::size_t n_fixed = fixed_.size(), n_drawn = row_size() - n_fixed;
            Sampler sampler(static_cast<std::uint64_t>(shape_.n_features) - n_fixed);
            std::vector<double> drawn(row_size());
            std::vector<std::int64_t> ranks(n_drawn);
            for (std::size_t r = 0; r < n; ++r, ids += row_size(), values += row_size()) {
                const Draws draws(shape_.seed, kRows + first + r);
                normals(draws, drawn.data(), drawn.size());
                double score = 0.0;
                for (std::size_t k = 0; k < truth_.size(); ++k) score += truth_[k] * drawn[k];
                labels[r] = score > 0.0 ? 1 : -1;
                sampler.draw(n_drawn, draws, row_size(), ranks.data());
                merge(ranks, drawn.data(), ids, values);
            }
        });
    }

  private:
    // Streams of random numbers: one for the truth, one for the column ids, one for each row.
    enum : std::uint64_t { kTruth = 0, kPermutation = 1, kRows = 2 };

    struct Fixed {
        std::int64_t id;
        std::size_t position;  // among the row's values
    };

    // Draws n distinct numbers below a limit, ascending.
    class Sampler {
      public:
        explicit Sampler(std::uint64_t limit) : limit_(limit) {}

        void draw(std::size_t n, const Draws& draws, std::uint64_t counter, std::int64_t* out) {
            if (2 * n > limit_) return choose_in_order(n, draws, counter, out);
            std::size_t have = 0;
            while (have < n) {
                // As many as are missing: after the first round, those that were drawn twice.
                const std::size_t missing = n - have;
                sorted(missing, draws, counter, out + have);
                counter += missing;
                std::inplace_merge(out, out + have, out + n);
                have = static_cast<std::size_t>(std::unique(out, out + n) - out);
            }
        }

      private:
        // Counting sort by the leading bits, then insertion sort: a row's draws are few and evenly spread.
        void sorted(std::size_t n, const Draws& draws, std::uint64_t counter, std::int64_t* out) {
            if (n < 32) {
                for (std::size_t k = 0; k < n; ++k)
                    out[k] = static_cast<std::int64_t>(draws.below(limit_, counter + k));
                std::sort(out, out + n);
                return;
            }
            raw_.resize(n);
            for (std::size_t k = 0; k < n; ++k) raw_[k] = draws(counter + k);
            std::array<std::uint32_t, kBuckets> place{};
            for (const std::uint64_t bits : raw_) ++place[bits >> kShift];
            std::exclusive_scan(place.begin(), place.end(), place.begin(), std::uint32_t{0});
            for (const std::uint64_t bits : raw_)
                out[place[bits >> kShift]++] =
                    static_cast<std::int64_t>(static_cast<unsigned __int128>(bits) * limit_ >> 64);
            for (std::size_t i = 1; i < n; ++i) {
                const std::int64_t number = out[i];
                std::size_t hole = i;
                for (; hole > 0 && out[hole - 1] > number; --hole) out[hole] = out[hole - 1];
                out[hole] = number;
            }
        }

        // Takes each number with the chance that is left for it (Knuth's algorithm S): for dense draws.
        void choose_in_order(std::size_t n, const Draws& draws, std::uint64_t counter, std::int64_t* out) const {
            std::size_t have = 0;
            for (std::uint64_t number = 0; have < n; ++number)
                if (draws.below(limit_ - number, counter + number) < n - have)
                    out[have++] = static_cast<std::int64_t>(number);
        }

        static constexpr std::size_t kBuckets = 1024;
        static constexpr int kShift = 64 - 10;
        std::uint64_t limit_;
        std::vector<std::uint64_t> raw_;
    };

    // n draws from N(0, 1), rounded to 5 decimals; one that would round to 0 becomes the smallest value, 1e-5, so that
    // every entry is a nonzero.
    THRESHER_INLINE static void normals(const Draws& draws, double* out, std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) out[k] = normal::quantile_near_middle(uniform(draws(k)) - 0.5);
        for (std::size_t k = 0; k < n; ++k) {
            const double p = uniform(draws(k));
            if (std::fabs(p - 0.5) > normal::kMiddle) out[k] = normal::quantile_in_tail(p);
        }
        for (std::size_t k = 0; k < n; ++k) {
            const double steps = std::nearbyint(out[k] * 1e5);
            out[k] = (steps != 0.0 ? steps : 1.0) / 1e5;
        }
    }

    // Noise is drawn by rank among the columns that are not fixed: the r-th of them lies behind the fixed ids before
    // it.
    THRESHER_INLINE void merge(const std::vector<std::int64_t>& ranks, const double* drawn, std::int32_t* ids,
                               float* values) const {
        std::size_t f = 0, at = 0, noise = fixed_.size();
        auto put = [&](std::int64_t id, double value) {
            ids[at] = static_cast<std::int32_t>(id);
            values[at++] = static_cast<float>(value);
        };
        for (const std::int64_t rank : ranks) {
            for (; f < fixed_.size() && fixed_[f].id <= rank + static_cast<std::int64_t>(f); ++f)
                put(fixed_[f].id, drawn[fixed_[f].position]);
            put(rank + static_cast<std::int64_t>(f), drawn[noise++]);
        }
        for (; f < fixed_.size(); ++f) put(fixed_[f].id, drawn[fixed_[f].position]);
    }

    Shape shape_;
    std::vector<Fixed> fixed_;
    std::vector<std::int64_t> informative_;
    std::vector<double> truth_;
};

}  // namespace thresher
