// An online feature selector for two classes.
//
// For each row the memory gathers the state of the row's features into a buffer, the learner takes its step there, the
// memory puts the state back, and the row's outsiders are offered to the member set in ascending order of id. The
// selector knows all three parts. None of them knows another, except that a learner asks the set for its thresholds: a
// learner sees planes, a memory sees ids, a member set sees ids and ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/csr.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/mergeable.hpp"

namespace thresher {

// One vector of weights serves both classes: a margin above 0 is for the second, any other for the first.
template <Learner L, MemoryFor<L> M>
class TwoClassSelector : public MergeableSelector<L, M, 1> {
    using Base = MergeableSelector<L, M, 1>;
    using Base::buffer_, Base::counters_, Base::intercept_, Base::learner_, Base::members_, Base::memory_;
    using Base::is_new_, Base::mutex_, Base::options_;

  public:
    using typename Base::Cell, typename Base::Members, typename Base::Options;
    static constexpr std::size_t kLeastClasses = 2;

    TwoClassSelector(std::size_t, const Options& options) : Base(1, options) {}

    // Swaps the two classes. The step is odd in y, so the result is what learning with the other sign would have given.
    void swap_classes() {
        std::lock_guard lock(mutex_);
        memory_.update(L::negated);
        intercept_[0] = L::negated(intercept_[0]);
        if constexpr (Base::kPredictsApart) this->layer_.swap_classes();
        if constexpr (Base::kHasDecoys) this->decoys_.swap_classes();
        // `predict` gives a margin of 0 to the first class, whichever that is.
        counters_.n_mistakes += counters_.n_undecided_first;
        counters_.n_mistakes -= counters_.n_undecided_second;
        std::swap(counters_.n_undecided_first, counters_.n_undecided_second);
    }

  private:
    void score_row(const Ids& ids, std::size_t n, double* margin) final {
        const std::size_t known = ids.count_below(memory_.n_features(), n);
        gather(ids, n, known);
        if constexpr (Base::kPredictsApart)
            *margin = this->predict_apart(ids, known)[0].margin;
        else
            this->margins(n, margin);
    }

    void refit_row(const Ids& ids, std::size_t n, std::int32_t code, double importance) final {
        if constexpr (Base::kPredictsApart) {
            const std::size_t known = ids.count_below(memory_.n_features(), n);
            gather(ids, n, known);
            this->predict_apart(ids, known);
            this->count_members();
            this->learn_apart(code, importance);
        }
    }

    void parts_of_row(const Ids& ids, std::size_t n, std::size_t c, Parts& out) final {
        const std::size_t known = ids.count_below(memory_.n_features(), n);
        gather(ids, n, known);
        if constexpr (Base::kPredictsApart) {
            this->predict_apart(ids, known);
            this->layer_.add_parts(c, out);
        } else {
            this->add_parts(ids, known, c, out);
        }
    }

    void learn_row(const Ids& ids, std::size_t n, std::int32_t code, double importance) final {
        const double y = code != 0 ? 1.0 : -1.0;
        if (n > 0) memory_.admit(ids[n - 1] + 1);
        this->fold_if_needed();
        gather(ids, n, n);
        const Row row = buffer_.row();
        counters_.n_samples += 1;
        if constexpr (Base::kPredictsApart) {
            const double margin = this->predict_apart(ids, n)[0].margin;
            if (is_new_) count(margin, y, importance);
            counters_.n_with_member += this->layer_.n_members() > 0;
            this->learn_apart(code, importance);
        }
        if constexpr (L::kHooks.enters_first) this->enter_first(n);
        const auto step = Kernels<L>::step(learner_, row, n, y, importance, members_);
        if constexpr (!Base::kPredictsApart) {
            count(step.margin, y, importance);
            counters_.n_with_member += step.margin != this->intercept_margin(0) || this->has_member(n);
        }
        counters_.loss += step.loss;
        if (!step.updated) return;
        counters_.n_updates += 1;
        counters_.n_saturated += step.saturated;
        ids.visit([&](const auto* each) { memory_.scatter(each, n, 0, L::planes(row)); });
        if (options_.fit_intercept) intercept_[0] = Base::cell_at(row, n);
        if constexpr (L::kHooks.enters_first)
            for (const std::size_t i : this->entered_) members_.add(ids[i]);
        if constexpr (Members::kReports == RankReports::low) {
            if (step.lowest_member < members_.threshold())
                members_.lower(this->keep_.empty() ? step.lowest_member : lowest_that_can_leave(ids, n));
            if (step.low) report_moves(ids, n, members_.watched());
        }
        if constexpr (Members::kReports == RankReports::all) report_moves(ids, n, kInfinity);
        if constexpr (Members::kBounded)
            if (step.candidates) offer_outsiders(ids, n);
    }

    void teach_decoys() final {
        if constexpr (Base::kHasDecoys)
            if (learner_.has_stepped()) this->decoys_.follow(learner_);
    }

    // Counts a row by the margin that it had before it was learned.
    void count(double margin, double y, double importance) {
        counters_.n_predicted += 1;
        counters_.n_mistakes += (margin > 0.0) != (y > 0.0);
        (y > 0.0 ? counters_.n_undecided_second : counters_.n_undecided_first) += margin == 0.0;
        if (is_new_) this->learn_scale(importance, margin, y);
        counters_.mistake_weight += y * margin > 0.0 ? 0.0 : importance;
    }

    // Of the row's n features, the first ones are known to the memory.
    void gather(const Ids& ids, std::size_t n, std::size_t known) {
        ids.visit([&](const auto* each) {
            memory_.locate(each, known);
            memory_.gather(each, known, 0, L::planes(buffer_.row()));
        });
        this->complete_planes(0, n, known);
    }

    // Tells the member set of the row's members below a rank. Members and outsiders are mixed at random, so they are
    // first picked out, without a branch for each.
    [[gnu::noinline]] void report_moves(const Ids& ids, std::size_t n, float below) {
        const Row row = buffer_.row();
        picked_.resize(n);
        std::size_t n_picked = 0;
        for (std::size_t i = 0; i < n; ++i) {
            picked_[n_picked] = i;
            const bool is_member = L::is_member(Base::cell_at(row, i)), is_below = L::rank(row, i) < below;
            n_picked += static_cast<std::size_t>(is_member & is_below & (row.x()[i] != 0.0f));
        }
        for (std::size_t k = 0; k < n_picked; ++k)
            if (const std::int64_t id = ids[picked_[k]]; !this->is_kept(id))
                members_.moved(id, L::rank(row, picked_[k]));
    }

    // The lowest rank of the row's members, without those that are kept whatever their rank is.
    [[gnu::noinline]] float lowest_that_can_leave(const Ids& ids, std::size_t n) {
        const Row row = buffer_.row();
        float lowest = std::numeric_limits<float>::max();
        for (std::size_t i = 0; i < n; ++i) {
            const bool is_member = L::is_member(Base::cell_at(row, i)), is_lower = L::rank(row, i) < lowest;
            if (is_member & is_lower & (row.x()[i] != 0.0f) && !this->is_kept(ids[i])) lowest = L::rank(row, i);
        }
        return lowest;
    }

    [[gnu::noinline]] void offer_outsiders(const Ids& ids, std::size_t n) {
        const Row row = buffer_.row();
        // First all that are above the threshold now, without a branch for each; then one by one, since it rises.
        picked_.resize(n);
        std::size_t n_candidates = 0;
        const float threshold = members_.threshold();
        for (std::size_t i = 0; i < n; ++i) {
            picked_[n_candidates] = i;
            n_candidates += static_cast<std::size_t>(L::is_outsider(row, i)) &
                            static_cast<std::size_t>(L::rank(row, i) > threshold);
        }
        members_.expect(n_candidates, typename Base::RankOf{*this});
        for (std::size_t k = 0; k < n_candidates; ++k) {
            const std::size_t i = picked_[k];
            if (!(L::rank(row, i) > members_.threshold())) continue;
            this->offer(ids[i], L::rank(row, i), [&](std::size_t) { return learner_.entrant(row, i); });
        }
    }

    static constexpr float kInfinity = std::numeric_limits<float>::infinity();

    std::vector<std::size_t> picked_;  // positions in the row at work
};

}  // namespace thresher
