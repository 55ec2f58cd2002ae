// What selectors with one vector of weights have in common, for two classes or for numbers.
//
// For each row the memory gathers the state of the row's features into a buffer, the learner takes its step there, the
// memory puts the state back, and the row's outsiders are offered to the member set in ascending order of id. The
// selector knows all three parts. None of them knows another, except that a learner asks the set for its thresholds: a
// learner sees planes, a memory sees ids, a member set sees ids and ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/csr.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/mergeable.hpp"

namespace thresher {

template <Learner L, MemoryFor<L> M>
class OneVectorSelector : public MergeableSelector<L, M, 1> {
    using Base = MergeableSelector<L, M, 1>;

  public:
    using typename Base::Cell, typename Base::Members, typename Base::Options;

  protected:
    using Base::Base;
    using Base::buffer_, Base::counters_, Base::intercept_, Base::learner_, Base::members_, Base::memory_;
    using Base::options_;

    // The layer that selects learns the row that was gathered; y is 1 or -1, or a number.
    Step select(const Ids& ids, std::size_t n, double y, double importance) {
        const Row row = buffer_.row();
        if constexpr (L::kHooks.enters_first) this->enter_first(n);
        const auto step = Kernels<L>::step(learner_, row, n, y, importance, members_);
        counters_.loss += step.loss;
        if (!step.updated) return step;
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
        return step;
    }

    // Gathers the features that the memory knows, for a row that is not learned here; returns how many these are.
    std::size_t gather_known(const Ids& ids, std::size_t n) {
        const std::size_t known = ids.count_below(memory_.n_features(), n);
        gather(ids, n, known);
        return known;
    }

    // Of the row's n features, the first ones are known to the memory.
    void gather(const Ids& ids, std::size_t n, std::size_t known) {
        ids.visit([&](const auto* each) {
            memory_.locate(each, known);
            memory_.gather(each, known, 0, L::planes(buffer_.row()));
        });
        this->complete_planes(0, n, known);
    }

    void teach_decoys() final {
        if constexpr (Base::kHasDecoys)
            if (learner_.has_stepped()) this->decoys_.follow(learner_);
    }

  private:
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
