// An online feature selector for more than two classes: as for two, but each class has its own weights.
//
// On a loss the true class and the best wrong one take a step; see the learners. A row of m nonzeros costs O(m·C).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/csr.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/mergeable.hpp"

namespace thresher {

template <Learner L, MemoryFor<L> M>
class ManyClassSelector : public MergeableSelector<L, M, std::dynamic_extent> {
    using Base = MergeableSelector<L, M, std::dynamic_extent>;
    using Base::buffer_, Base::counters_, Base::intercept_, Base::learner_, Base::members_, Base::memory_;
    using Base::is_new_, Base::options_;

  public:
    using typename Base::Cell, typename Base::Members, typename Base::Options;
    static constexpr std::size_t kLeastClasses = 3;  // has_newcomers needs a class that took no step

    ManyClassSelector(std::size_t n_classes, const Options& options) : Base(n_classes, options), scores_(n_classes) {}

  private:
    std::size_t n_classes() const { return Base::n_vectors(); }

    void note(const Ids& ids, std::size_t n) {
        ids.visit([&](const auto* each) { ids_.assign(each, each + n); });
    }

    // The rank of the feature at position i, as the planes have it.
    float rank_at(std::size_t i) {
        float sum = 0.0f;
        for (std::size_t c = 0; c < n_classes(); ++c) sum += L::rank(Base::cell_at(buffer_.row(c), i));
        return std::min(sum, std::numeric_limits<float>::max());
    }

    // Of the row's n features, those in ids_ are known to the memory.
    void gather(std::size_t n) {
        memory_.locate(ids_.data(), ids_.size());
        for (std::size_t c = 0; c < n_classes(); ++c) {
            memory_.gather(ids_.data(), ids_.size(), c, L::planes(buffer_.row(c)));
            this->complete_planes(c, n, ids_.size());
        }
    }

    void score_row(const Ids& ids, std::size_t n, double* scores) final {
        note(ids, ids.count_below(memory_.n_features(), n));
        gather(n);
        if constexpr (Base::kPredictsApart)
            predict_apart(ids, ids_.size(), scores);
        else
            this->margins(n, scores);
    }

    void refit_row(const Ids& ids, std::size_t n, double label, double importance) final {
        if constexpr (Base::kPredictsApart) {
            note(ids, ids.count_below(memory_.n_features(), n));
            gather(n);
            predict_apart(ids, ids_.size(), scores_.data());
            this->learn_scale(importance, scores_, static_cast<std::size_t>(label));
            this->count_members();
            this->learn_apart(label, importance);
        }
    }

    void parts_of_row(const Ids& ids, std::size_t n, std::size_t c, Parts& out) final {
        note(ids, ids.count_below(memory_.n_features(), n));
        gather(n);
        if constexpr (Base::kPredictsApart) {
            predict_apart(ids, ids_.size(), scores_.data());
            this->layer_.add_parts(c, out);
        } else {
            this->add_parts(ids, ids_.size(), c, out);
        }
    }

    void learn_row(const Ids& ids, std::size_t n, double label, double importance) final {
        const auto truth = static_cast<std::size_t>(label);
        if (n > 0) memory_.admit(ids[n - 1] + 1);
        note(ids, n);
        this->fold_if_needed();
        gather(n);
        counters_.n_samples += 1;
        if constexpr (Base::kPredictsApart) {
            predict_apart(ids, n, scores_.data());
            if (is_new_) count(truth, best_but(truth), importance);
            counters_.n_with_member += this->layer_.n_members() > 0;
            this->learn_apart(label, importance);
        }
        this->margins(n, scores_.data());
        const std::size_t rival = best_but(truth);
        if constexpr (!Base::kPredictsApart) count(truth, rival, importance);
        if constexpr (Base::kHasDecoys) truth_ = truth, rival_ = rival;
        if constexpr (L::kHooks.enters_first) this->enter_first(n);
        if constexpr (!Base::kPredictsApart)
            counters_.n_with_member += scores_[truth] != this->intercept_margin(truth) || this->has_member(n);
        const auto step = Kernels<L>::pull_apart(learner_, buffer_.row(truth), buffer_.row(rival), n,
                                                 scores_[truth] - scores_[rival], importance);
        counters_.loss += step.loss;
        if (!step.updated) return;
        counters_.n_updates += 1;
        counters_.n_saturated += step.saturated;
        if constexpr (L::kHooks.marks_touched) {
            if (has_newcomers(n, truth, rival)) {
                for (std::size_t c = 0; c < n_classes(); ++c) {
                    L::mark_touched(buffer_.row(c));
                    put_back(n, c);
                }
                return;
            }
        }
        put_back(n, truth);
        put_back(n, rival);
        if constexpr (L::kHooks.enters_first) {
            if (!this->entered_.empty())  // the other classes have new marks too
                for (std::size_t c = 0; c < n_classes(); ++c)
                    if (c != truth && c != rival) put_back(n, c);
            for (const std::size_t i : this->entered_) members_.add(id_at(i));
        }
        if constexpr (Members::kReports != RankReports::none) report_moves(n);
        if constexpr (Members::kBounded) offer_outsiders(n, truth, rival);
    }

    void teach_decoys() final {
        if constexpr (Base::kHasDecoys)
            if (learner_.has_stepped()) this->decoys_.follow(learner_, truth_, rival_);
    }

    void predict_apart(const Ids& ids, std::size_t n, double* scores) {
        for (const Logistic::Score& score : Base::predict_apart(ids, n)) *scores++ = score.margin;
    }

    // The class that has the highest score beside one.
    std::size_t best_but(std::size_t truth) const {
        std::size_t rival = truth == 0 ? 1 : 0;
        for (std::size_t c = rival + 1; c < n_classes(); ++c)
            if (c != truth && scores_[c] > scores_[rival]) rival = c;
        return rival;
    }

    // Counts a row by the scores that it had before it was learned. `predict` takes the highest, and the lowest class
    // where two are equal.
    void count(std::size_t truth, std::size_t rival, double importance) {
        counters_.n_predicted += 1;
        counters_.n_mistakes += scores_[rival] > scores_[truth] || (scores_[rival] == scores_[truth] && rival < truth);
        if (is_new_) this->learn_scale(importance, scores_, truth);
        counters_.error += scores_[truth] > scores_[rival] ? 0.0 : importance;
    }

    void put_back(std::size_t n, std::size_t c) {
        memory_.scatter(ids_.data(), n, c, L::planes(buffer_.row(c)));
        if (options_.fit_intercept) intercept_[c] = Base::cell_at(buffer_.row(c), n);
    }

    // Whether some feature of the row was untouched before: a class that took no step still shows it.
    bool has_newcomers(std::size_t n, std::size_t truth, std::size_t rival) {
        std::size_t other = 0;
        while (other == truth || other == rival) ++other;
        const Row row = buffer_.row(other);
        for (std::size_t i = 0; i < n; ++i)
            if (L::is_outsider(row, i)) return true;
        return false;
    }

    bool is_member_at(std::size_t i) { return L::is_member(Base::cell_at(buffer_.row(0), i)); }

    void report_moves(std::size_t n) {
        float lowest = std::numeric_limits<float>::max(), watched = std::numeric_limits<float>::infinity();
        if constexpr (Members::kReports == RankReports::low) watched = members_.watched();
        for (std::size_t i = 0; i < n; ++i) {
            if (!is_member_at(i) || this->is_kept(id_at(i))) continue;
            const float rank = rank_at(i);
            lowest = std::min(lowest, rank);
            if (rank < watched) members_.moved(id_at(i), rank);
        }
        if constexpr (Members::kReports == RankReports::low) members_.lower(lowest);
    }

    std::int64_t id_at(std::size_t i) const { return ids_[i]; }

    void offer_outsiders(std::size_t n, std::size_t truth, std::size_t rival) {
        entrant_.resize(n_classes());
        for (std::size_t i = 0; i < n; ++i) {
            if (!L::is_outsider(buffer_.row(0), i)) continue;
            float rank = 0.0f;
            for (std::size_t c = 0; c < n_classes(); ++c) {
                const bool moved = c == truth || c == rival;
                const Row row = buffer_.row(c);
                entrant_[c] = moved ? learner_.entrant(row, i) : L::as_member(Base::cell_at(row, i));
                rank += L::rank(entrant_[c]);
            }
            rank = std::min(rank, std::numeric_limits<float>::max());
            if (!(rank > members_.threshold())) continue;
            this->offer(id_at(i), rank, [&](std::size_t c) { return entrant_[c]; });
        }
    }

    std::vector<double> scores_;
    std::vector<std::int64_t> ids_;  // of the row at work
    std::vector<Cell> entrant_;
    std::size_t truth_ = 0, rival_ = 0;  // the classes that it pulled apart
};

}  // namespace thresher
