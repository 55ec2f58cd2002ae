// mRMR: selects features of high relevance and low redundancy, one after another (Peng, Long, Ding 2005, §2.3).
//
//   chooses   first the feature of largest I(x_j; y), then repeatedly the one of largest
//             I(x_j; y) − mean of I(x_j; x_s) over the chosen s    (MID, the difference), or
//             I(x_j; y) / (that mean + 0.0001)                     (MIQ, the quotient)
//   on ties   the smaller id; scores that differ by no more than rounding are a tie, so that the order does not depend
//             on how a sum is written. A feature with one value has no information and is never chosen
//   cost      a choice s costs O(nonzeros in the rows that s is in) to count, and O(d) to score
//
// A feature has up to three values. The one of absent entries is 0, so that only rows in which s is not 0 have to be
// counted; the other cells of a table follow from its margins. I is in bits, from a table of c·log2(c): no logarithm is
// taken twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace thresher {

// Discretised rows: entries of row r are `starts[r] … starts[r + 1]`, with ids below n_features and values 1 or 2.
struct Levels {
    const std::int64_t* starts;
    const std::int32_t* ids;
    const std::uint8_t* values;
    std::size_t n_rows;
    std::size_t n_features;
};

class Mrmr {
  public:
    enum class Scheme { difference, quotient };

    // The arrays of `rows` must outlive this; the classes are read here only.
    // The features to keep are chosen first, in their order.
    Mrmr(const Levels& rows, const std::int32_t* classes, std::size_t n_classes, Scheme scheme,
         std::vector<std::size_t> keep = {})
        : rows_(rows),
          scheme_(scheme),
          keep_(std::move(keep)),
          c_log_c_(rows.n_rows + 1),
          totals_(3 * rows.n_features) {
        for (std::size_t c = 1; c <= rows.n_rows; ++c)
            c_log_c_[c] = static_cast<double>(c) * std::log2(static_cast<double>(c));
        turn_to_columns();
        find_relevance(classes, n_classes);
        redundancy_.assign(rows.n_features, 0.0);
        together_.assign(rows.n_features * (two_ ? 4 : 1), 0);
        choose();
    }

    // Works through about `n_entries` more entries of the matrix, or until `budget` features are chosen. Small pieces
    // let the caller react to Ctrl-C.
    void work(std::size_t n_entries, std::size_t budget) {
        while (chosen_.size() < budget && !exhausted_) {
            two_ ? count<true>(n_entries) : count<false>(n_entries);
            if (next_row_ < column_starts_[chosen_.back() + 1]) return;
            two_ ? add_redundancy<true>() : add_redundancy<false>();
            choose();
            if (n_entries <= rows_.n_features) return;
            n_entries -= rows_.n_features;
        }
    }

    const std::vector<std::int64_t>& chosen() const { return chosen_; }
    bool exhausted() const { return exhausted_; }

  private:
    void turn_to_columns() {
        const auto n_entries = static_cast<std::size_t>(rows_.starts[rows_.n_rows]);
        column_starts_.assign(rows_.n_features + 1, 0);
        for (std::size_t i = 0; i < n_entries; ++i) {
            ++column_starts_[static_cast<std::size_t>(rows_.ids[i]) + 1];
            ++totals_[3 * static_cast<std::size_t>(rows_.ids[i]) + rows_.values[i]];
            two_ |= rows_.values[i] == 2;
        }
        for (std::size_t j = 0; j < rows_.n_features; ++j) {
            column_starts_[j + 1] += column_starts_[j];
            totals_[3 * j] = static_cast<std::uint32_t>(rows_.n_rows) - totals_[3 * j + 1] - totals_[3 * j + 2];
        }
        column_rows_.resize(n_entries);
        column_values_.resize(two_ ? n_entries : 0);
        std::vector<std::size_t> next(column_starts_.begin(), column_starts_.end() - 1);
        for (std::size_t r = 0; r < rows_.n_rows; ++r)
            for (auto i = rows_.starts[r]; i < rows_.starts[r + 1]; ++i) {
                const std::size_t at = next[static_cast<std::size_t>(rows_.ids[i])]++;
                column_rows_[at] = static_cast<std::uint32_t>(r);
                if (two_) column_values_[at] = rows_.values[i];
            }
    }

    // I(x; y) = (Σ c·log c over the cells − over both margins + n·log n) / n.
    void find_relevance(const std::int32_t* classes, std::size_t n_classes) {
        const std::size_t d = rows_.n_features;
        const double n = static_cast<double>(rows_.n_rows);
        std::vector<std::uint32_t> of_class(n_classes), cells(3 * n_classes);
        for (std::size_t r = 0; r < rows_.n_rows; ++r) ++of_class[static_cast<std::size_t>(classes[r])];
        double class_margin = 0.0;
        for (const std::uint32_t count : of_class) class_margin += c_log_c_[count];
        margin_.resize(d);
        relevance_.resize(d);
        open_.resize(d);
        for (std::size_t j = 0; j < d; ++j) {
            std::fill(cells.begin(), cells.end(), 0u);
            for (std::size_t at = column_starts_[j]; at < column_starts_[j + 1]; ++at) {
                const std::size_t value = two_ ? column_values_[at] : 1;
                ++cells[value * n_classes + static_cast<std::size_t>(classes[column_rows_[at]])];
            }
            double sum = c_log_c_.back() - class_margin;
            for (std::size_t k = 0; k < n_classes; ++k) {
                cells[k] = of_class[k] - cells[n_classes + k] - cells[2 * n_classes + k];
                for (std::size_t value = 0; value < 3; ++value) sum += c_log_c_[cells[value * n_classes + k]];
            }
            bool constant = false;
            for (std::size_t value = 0; value < 3; ++value) {
                margin_[j] += c_log_c_[totals_[3 * j + value]];
                constant |= totals_[3 * j + value] == rows_.n_rows;
            }
            relevance_[j] = (sum - margin_[j]) / n;
            open_[j] = !constant;
        }
    }

    double score(std::size_t j) const {
        if (chosen_.empty()) return relevance_[j];
        const double redundancy = redundancy_[j] / static_cast<double>(chosen_.size());
        return scheme_ == Scheme::difference ? relevance_[j] - redundancy : relevance_[j] / (redundancy + 0.0001);
    }

    void choose() {
        if (chosen_.size() < keep_.size()) return take(keep_[chosen_.size()]);
        const std::size_t d = rows_.n_features;
        double best = -std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < d; ++j)
            if (open_[j]) best = std::max(best, score(j));
        exhausted_ = std::isinf(best);
        if (exhausted_) return;
        const double tied = best - 1e-9 * std::max(1.0, std::abs(best));
        std::size_t j = 0;
        while (!open_[j] || score(j) < tied) ++j;
        take(j);
    }

    void take(std::size_t j) {
        open_[j] = false;
        chosen_.push_back(static_cast<std::int64_t>(j));
        next_row_ = column_starts_[j];
    }

    // together[j] is how often x_j and the last choice s are 1 in the same row; with values up to 2, a table of four.
    template <bool kTwo>
    void count(std::size_t& n_entries) {
        const std::size_t end = column_starts_[static_cast<std::size_t>(chosen_.back()) + 1];
        while (next_row_ < end && n_entries > 0) {
            const std::size_t row = column_rows_[next_row_];
            const std::size_t value = kTwo ? column_values_[next_row_] - 1u : 0u;
            const auto from = rows_.starts[row], to = rows_.starts[row + 1];
            for (auto i = from; i < to; ++i) {
                const auto id = static_cast<std::size_t>(rows_.ids[i]);
                if constexpr (kTwo)
                    ++together_[4 * id + 2 * (rows_.values[i] - 1u) + value];
                else
                    ++together_[id];
            }
            n_entries -= std::min(n_entries, static_cast<std::size_t>(to - from));
            ++next_row_;
        }
    }

    template <bool kTwo>
    void add_redundancy() {
        const auto s = static_cast<std::size_t>(chosen_.back());
        const std::uint32_t* of_s = &totals_[3 * s];
        const double rest = c_log_c_.back() - margin_[s];
        const double n = static_cast<double>(rows_.n_rows);
        for (std::size_t j = 0; j < rows_.n_features; ++j) {
            const std::uint32_t* of_j = &totals_[3 * j];
            double cells;
            if constexpr (kTwo) {
                const std::uint32_t* both = &together_[4 * j];
                const std::uint32_t first = both[0] + both[1], second = both[2] + both[3];
                const std::uint32_t left = of_s[1] - both[0] - both[2], right = of_s[2] - both[1] - both[3];
                cells = c_log_c_[both[0]] + c_log_c_[both[1]] + c_log_c_[both[2]] + c_log_c_[both[3]] +
                        c_log_c_[of_j[1] - first] + c_log_c_[of_j[2] - second] + c_log_c_[left] + c_log_c_[right] +
                        c_log_c_[of_j[0] - left - right];
            } else {
                const std::uint32_t both = together_[j], left = of_s[1] - both;
                cells = c_log_c_[both] + c_log_c_[of_j[1] - both] + c_log_c_[left] + c_log_c_[of_j[0] - left];
            }
            redundancy_[j] += (cells - margin_[j] + rest) / n;
        }
        std::fill(together_.begin(), together_.end(), 0u);
    }

    Levels rows_;
    Scheme scheme_;
    std::vector<std::size_t> keep_;
    bool two_ = false;  // whether a value 2 occurs
    std::vector<double> c_log_c_;
    std::vector<std::uint32_t> totals_;  // how many rows have value 0, 1, 2: three entries per feature
    std::vector<std::size_t> column_starts_;
    std::vector<std::uint32_t> column_rows_;
    std::vector<std::uint8_t> column_values_;
    std::vector<double> margin_, relevance_, redundancy_;
    std::vector<std::uint32_t> together_;
    std::vector<char> open_;
    std::vector<std::int64_t> chosen_;
    std::size_t next_row_ = 0;
    bool exhausted_ = false;
};

}  // namespace thresher
