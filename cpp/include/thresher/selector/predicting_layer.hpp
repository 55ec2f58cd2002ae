// The predicting layer of a selector: a regression on the members alone, logistic of classes and linear of numbers.
//
// It shares with the layer that selects only who is a member. Of a row it takes the members and scales their raw values
// to unit length, or by the mean length that the rows' members had (Norm::mean), so a prediction depends on nothing
// else of the row: neither on other features nor on their number. Sums run in 16 lanes by the place among the members,
// so not even a bit does.
//
// A feature has its weight and precision here from the first row it is learned in as a member, and keeps them when it
// leaves, for the time that it comes back: in a hash table, whatever memory the selecting layer has. Under a budget of
// memory the selector lets go of features that are no members (`keep_only`).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/learners/logistic.hpp"
#include "thresher/mean_length.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/changes.hpp"
#include "thresher/selector/merging.hpp"
#include "thresher/selector/parts.hpp"
#include "thresher/selector/selector.hpp"
#include "thresher/selector/state.hpp"

namespace thresher {

// kVectors is 1, or std::dynamic_extent where only the data tell how many classes there are.
template <std::size_t kVectors>
class PredictingLayer {
  public:
    using Cell = Logistic::Cell;
    using Memory = HashMemory<std::tuple_size_v<Cell>, kVectors>;

    PredictingLayer(std::size_t n_vectors, const RowOptions& options)
        : options_(options),
          n_vectors_(n_vectors),
          memory_(n_vectors),
          intercept_(n_vectors, Cell{}),
          buffer_(n_vectors),
          scores_(n_vectors) {}

    // Takes the members among n features of a row. `is_member` answers for a position, `is_learned` says whether the
    // row is learned after it was predicted.
    template <class Id, class IsMember>
    void take(const Id* ids, const float* raw, std::size_t n, bool is_learned, IsMember is_member) {
        if (picked_.size() < n) picked_.resize(n);
        std::uint32_t* __restrict picked = picked_.data();
        std::size_t n_picked = 0;
        by_fours(n, [&](std::size_t i) __attribute__((always_inline)) {
            picked[n_picked] = static_cast<std::uint32_t>(i);
            n_picked += static_cast<std::size_t>(is_member(i));
        });
        ids_.resize(n_picked);
        buffer_.resize(n_picked + (options_.fit_intercept ? 1 : 0));
        float* values = options_.norm == Norm::none ? buffer_.x() : buffer_.raw();
        for (std::size_t k = 0; k < n_picked; ++k) {
            ids_[k] = static_cast<std::int64_t>(ids[picked[k]]);
            values[k] = raw[picked[k]];
        }
        const std::size_t blocks = buffer_.blocks();
        for (std::size_t k = n_picked; k < blocks; ++k) values[k] = 0.0f;
        if (options_.norm == Norm::l2) scale_to_unit_length(values, blocks, buffer_.x());
        if (options_.norm == Norm::mean) scale_by_mean(values, blocks, lengths_, is_learned, buffer_.x());
        if (options_.fit_intercept) buffer_.x()[n_picked] = kInterceptValue;
    }

    // The members that the row has, and how many there are.
    std::span<const std::int64_t> row_members() const { return ids_; }
    std::size_t n_members() const { return ids_.size(); }

    // The scores of the row that was taken.
    std::span<const Logistic::Score> predict() {
        memory_.locate(ids_.data(), ids_.size());
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Row row = buffer_.row(c);
            const auto planes = Logistic::planes(row);
            memory_.gather(ids_.data(), ids_.size(), c, planes);
            for (std::size_t p = 0; p < planes.size(); ++p) {
                std::fill(planes[p] + ids_.size(), planes[p] + row.blocks(), 0.0f);
                if (options_.fit_intercept) planes[p][ids_.size()] = intercept_[c][p];
            }
            scores_[c] = Logistic::score(row);
        }
        return scores_;
    }

    // Learns the row that was predicted last; `truth` is its class …
    void learn_class(std::size_t truth, double importance) {
        if constexpr (kVectors == 1)
            move(0, Logistic::error_of_two(scores_[0].margin, truth != 0 ? 1.0 : -1.0), importance);
        else
            Logistic::errors_of_many(scores_, truth,
                                     [&](std::size_t c, const Logistic::Error& error) { move(c, error, importance); });
    }

    // … or how far its number is above the prediction.
    void learn_number(double residual, double importance) { move(0, {residual, 1.0}, importance); }

    // What the members of the row that was predicted last add to the score of class c.
    void add_parts(std::size_t c, Parts& out) {
        const Row row = buffer_.row(c);
        for (std::size_t k = 0; k < ids_.size(); ++k)
            out.add(ids_[k], static_cast<double>(Logistic::planes(row)[0][k] * row.x()[k]));
    }

    // A feature's weight for class c, as `Norm::mean` leaves values: what is added for a value of 1.
    float weight(std::int64_t id, std::size_t c) const { return in_units(memory_.load(id, c)[0], lengths_); }
    std::vector<double> intercept() const {
        std::vector<double> out;
        for (const Cell& cell : intercept_) out.push_back(static_cast<double>(kInterceptValue * cell[0]));
        return out;
    }

    // What Norm::mean divides by: numbers that are kept beside features.
    MeanLength& lengths() { return lengths_; }
    const MeanLength& lengths() const { return lengths_; }
    static constexpr std::array<KeptNumber<MeanLength>, 2> kept() {
        return {{{"member_rows", &MeanLength::length_rows, true, true},
                 {"member_lengths", &MeanLength::length_sum, true, true}}};
    }

    // Of how many features it knows something.
    std::size_t size() const { return memory_.n_touched(); }
    std::size_t n_pages() const { return memory_.n_pages(); }

    // Forgets all features but these, which are in ascending order.
    void keep_only(std::span<const std::int64_t> members) {
        for (const std::int64_t id : touched_of(memory_)) {
            if (std::binary_search(members.begin(), members.end(), id)) continue;
            for (std::size_t c = 0; c < n_vectors(); ++c) memory_.store(id, c, Cell{});
        }
    }

    // Swaps two classes.
    void swap_classes() {
        memory_.update(Logistic::negated);
        intercept_[0] = Logistic::negated(intercept_[0]);
    }

    LayerState state() const {
        LayerState out;
        out.ids = touched_of(memory_);
        out.cells.reserve(out.ids.size() * n_vectors() * kWidth);
        for (const std::int64_t id : out.ids)
            for (std::size_t c = 0; c < n_vectors(); ++c) append(memory_.load(id, c), out.cells);
        for (const Cell& cell : intercept_) append(cell, out.intercept);
        return out;
    }

    void restore(const LayerView& state) {
        const std::size_t n = n_vectors() * kWidth;
        if (state.cells.size() != state.ids.size() * n || state.intercept.size() != n)
            throw std::invalid_argument("the predicting layer has the wrong size: " + std::to_string(n) + " per id");
        for (const auto cells : {state.cells, state.intercept})
            for (std::size_t i = 1; i < cells.size(); i += kWidth)
                if (!(cells[i] >= 0.0f)) throw std::invalid_argument("a precision is negative");
        for (std::size_t i = 0; i < state.ids.size(); ++i)
            for (std::size_t c = 0; c < n_vectors(); ++c)
                memory_.store(state.ids[i], c, cell_of(state.cells, i * n_vectors() + c));
        for (std::size_t c = 0; c < n_vectors(); ++c) intercept_[c] = cell_of(state.intercept, c);
    }

    // Merging.
    LayerChanges changes_since(const PredictingLayer& start) const {
        LayerChanges out;
        note_changes<Merging>(
            united(touched_of(memory_), touched_of(start.memory_)), n_vectors(),
            [&](std::int64_t id, std::size_t c) { return start.memory_.load(id, c); },
            [&](std::int64_t id, std::size_t c) { return memory_.load(id, c); }, out);
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const auto sum = Merging::weighed(Merging::change(start.intercept_[c], intercept_[c]));
            out.intercept.insert(out.intercept.end(), sum.begin(), sum.end());
        }
        return out;
    }

    bool fits(const LayerChanges& changes, std::uint64_t n_shards) const {
        return thresher::fits<Merging>(changes, n_shards, n_vectors());
    }

    void merge(const LayerChanges& changes, std::uint64_t n_shards, double size) {
        for (std::size_t i = 0; i < changes.ids.size(); ++i)
            for (std::size_t c = 0; c < n_vectors(); ++c)
                memory_.store(changes.ids[i], c, merged(changes, n_shards, size, i, c));
        for (std::size_t c = 0; c < n_vectors(); ++c)
            intercept_[c] = Merging::moved(intercept_[c], intercept_sum_of<Merging>(changes, c), size);
    }

    // Adds to a preview what its members' weights would be, with the mean length that there would be.
    void preview(const LayerChanges& changes, std::uint64_t n_shards, double size, const MeanLength& lengths,
                 Preview& out) const {
        for (const std::int64_t id : out.members.ids) {
            const auto found = std::lower_bound(changes.ids.begin(), changes.ids.end(), id);
            const bool is_changed = found != changes.ids.end() && *found == id;
            const auto i = static_cast<std::size_t>(found - changes.ids.begin());
            for (std::size_t c = 0; c < n_vectors(); ++c)
                out.predicting_weights.push_back(
                    in_units((is_changed ? merged(changes, n_shards, size, i, c) : memory_.load(id, c))[0], lengths));
        }
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell cell = Merging::moved(intercept_[c], intercept_sum_of<Merging>(changes, c), size);
            out.predicting_intercept.push_back(static_cast<double>(kInterceptValue * cell[0]));
        }
    }

  private:
    using Merging = Logistic;
    static constexpr std::size_t kWidth = std::tuple_size_v<Cell>;

    std::size_t n_vectors() const { return kVectors == std::dynamic_extent ? n_vectors_ : kVectors; }

    static float in_units(float weight, const MeanLength& lengths) {
        return static_cast<float>(static_cast<double>(weight) * lengths.scale());
    }

    void move(std::size_t c, const Logistic::Error& error, double importance) {
        const Row row = buffer_.row(c);
        Logistic::move(row, error, scores_[c].variance, importance);
        const auto planes = Logistic::planes(row);
        memory_.scatter(ids_.data(), ids_.size(), c, planes);
        if (options_.fit_intercept) intercept_[c] = {planes[0][ids_.size()], planes[1][ids_.size()]};
    }

    // The cell of the i-th feature that has changed, after a merge.
    Cell merged(const LayerChanges& changes, std::uint64_t n_shards, double size, std::size_t i, std::size_t c) const {
        return Merging::moved(memory_.load(changes.ids[i], c), sum_of<Merging>(changes, n_shards, i * n_vectors() + c),
                              size);
    }

    static void append(const Cell& cell, std::vector<float>& to) { to.insert(to.end(), cell.begin(), cell.end()); }
    static Cell cell_of(std::span<const float> cells, std::size_t i) {
        return {cells[i * kWidth], cells[i * kWidth + 1]};
    }

    RowOptions options_;
    MeanLength lengths_;
    std::size_t n_vectors_;
    Memory memory_;
    std::vector<Cell> intercept_;
    // Of the row at work:
    RowBuffer buffer_;
    std::vector<std::uint32_t> picked_;
    std::vector<std::int64_t> ids_;
    std::vector<Logistic::Score> scores_;
};

// In the place of it, for learners whose members predict with the weights that they were selected by.
struct NoLayer {
    NoLayer(std::size_t, const RowOptions&) {}
};

}  // namespace thresher
