// An online feature selector where the target is a number.
//
// Both layers learn what is left of it by the mean of the targets so far, this one included. The layer that selects
// sees rows divided by the mean length of the rows so far (Norm::mean), the one that predicts the members of rows
// divided by theirs. A closing pass leaves the mean of the targets as it is.
#pragma once

#include <cstddef>
#include <mutex>

#include "thresher/concepts.hpp"
#include "thresher/csr.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/one.hpp"

namespace thresher {

template <Learner L, MemoryFor<L> M>
class NumberSelector : public OneVectorSelector<L, M> {
    using Base = OneVectorSelector<L, M>;
    using Base::buffer_, Base::counters_, Base::learner_, Base::memory_, Base::options_;
    static_assert(Base::kOfNumbers && Base::kPredictsApart);

  public:
    using typename Base::Options;
    static constexpr std::size_t kLeastClasses = 0;

    NumberSelector(std::size_t, const Options& options) : Base(1, options) {}

    bool takes_numbers() const final { return true; }
    double mean_target() const final {
        std::lock_guard lock(this->mutex_);
        return learner_.mean_target();
    }

  private:
    void score_row(const Ids& ids, std::size_t n, double* prediction) final {
        *prediction = offset() + this->predict_apart(ids, this->gather_known(ids, n))[0].margin;
    }

    void refit_row(const Ids& ids, std::size_t n, double y, double importance) final {
        const double score = this->predict_apart(ids, this->gather_known(ids, n), true)[0].margin;
        this->count_members();
        this->learn_apart(y - offset() - score, importance);
    }

    void parts_of_row(const Ids& ids, std::size_t n, std::size_t c, Parts& out) final {
        this->predict_apart(ids, this->gather_known(ids, n));
        this->layer_.add_parts(c, out);
    }

    void learn_row(const Ids& ids, std::size_t n, double y, double importance) final {
        if (n > 0) memory_.admit(ids[n - 1] + 1);
        scale_by_lengths(buffer_, n, true);
        this->gather(ids, n, n);
        const double score = this->predict_apart(ids, n, true)[0].margin;
        if (this->is_new_ && counters_.n_samples > 0) count(y, offset() + score, importance);
        counters_.n_samples += 1;
        counters_.n_with_member += this->layer_.n_members() > 0;
        learner_.add_target(y, importance);
        const double target = y - offset();
        this->learn_apart(target - score, importance);
        this->select(ids, n, target, importance);
    }

    // What is predicted beside the layers.
    double offset() const { return options_.fit_intercept ? learner_.mean_target() : 0.0; }

    void scale(RowBuffer& row, std::size_t n) final { scale_by_lengths(row, n, false); }
    void scale_by_lengths(RowBuffer& row, std::size_t n, bool is_learned) {
        if (options_.norm != Norm::mean) return;
        scale_by_mean(row.raw(), padded(n), learner_, is_learned, row.x());
        if (options_.fit_intercept) row.x()[n] = kInterceptValue;
    }

    // Counts a row by what was predicted before it was learned. The first one had nothing to be predicted by.
    void count(double y, double prediction, double importance) {
        const double error = y - prediction, of_baseline = y - learner_.mean_target();
        counters_.n_predicted += 1;
        counters_.error += importance * error * error;
        counters_.squared_error += error * error;
        counters_.baseline_error += of_baseline * of_baseline;
    }
};

}  // namespace thresher
