// An online feature selector for two classes.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

#include "thresher/concepts.hpp"
#include "thresher/csr.hpp"
#include "thresher/selector/one.hpp"

namespace thresher {

// One vector of weights serves both classes: a margin above 0 is for the second, any other for the first.
template <Learner L, MemoryFor<L> M>
class TwoClassSelector : public OneVectorSelector<L, M> {
    using Base = OneVectorSelector<L, M>;
    using Base::counters_, Base::intercept_, Base::memory_, Base::is_new_, Base::mutex_;

  public:
    using typename Base::Options;
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
        const std::size_t known = this->gather_known(ids, n);
        if constexpr (Base::kPredictsApart)
            *margin = this->predict_apart(ids, known)[0].margin;
        else
            this->margins(n, margin);
    }

    void refit_row(const Ids& ids, std::size_t n, double label, double importance) final {
        if constexpr (Base::kPredictsApart) {
            this->predict_apart(ids, this->gather_known(ids, n));
            this->count_members();
            this->learn_apart(label, importance);
        }
    }

    void parts_of_row(const Ids& ids, std::size_t n, std::size_t c, Parts& out) final {
        const std::size_t known = this->gather_known(ids, n);
        if constexpr (Base::kPredictsApart) {
            this->predict_apart(ids, known);
            this->layer_.add_parts(c, out);
        } else {
            this->add_parts(ids, known, c, out);
        }
    }

    void learn_row(const Ids& ids, std::size_t n, double label, double importance) final {
        const double y = label != 0.0 ? 1.0 : -1.0;
        if (n > 0) memory_.admit(ids[n - 1] + 1);
        this->fold_if_needed();
        this->gather(ids, n, n);
        counters_.n_samples += 1;
        if constexpr (Base::kPredictsApart) {
            const double margin = this->predict_apart(ids, n)[0].margin;
            if (is_new_) count(margin, y, importance);
            counters_.n_with_member += this->layer_.n_members() > 0;
            this->learn_apart(label, importance);
        }
        const double of_no_member = this->intercept_margin(0);
        const Step step = this->select(ids, n, y, importance);
        if constexpr (!Base::kPredictsApart) {
            count(step.margin, y, importance);
            counters_.n_with_member += step.margin != of_no_member || this->has_member(n);
        }
    }

    // Counts a row by the margin that it had before it was learned.
    void count(double margin, double y, double importance) {
        counters_.n_predicted += 1;
        counters_.n_mistakes += (margin > 0.0) != (y > 0.0);
        (y > 0.0 ? counters_.n_undecided_second : counters_.n_undecided_first) += margin == 0.0;
        if (is_new_) this->learn_scale(importance, margin, y);
        counters_.error += y * margin > 0.0 ? 0.0 : importance;
    }
};

}  // namespace thresher
