// An online feature selector, whatever its learner, its memory and the number of its classes are.
//
// It reads the rows and hands them on one by one, as a buffer and the row's ids, so that reading is compiled once and
// not for each learner; a virtual call per row costs nothing beside the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "thresher/csr.hpp"
#include "thresher/fork_safe_mutex.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/changes.hpp"
#include "thresher/selector/lesson.hpp"
#include "thresher/selector/occurrences.hpp"
#include "thresher/selector/parts.hpp"
#include "thresher/selector/ranking.hpp"
#include "thresher/selector/state.hpp"

namespace thresher {

// What the members and their weights would be after a merge, and the intercept; and the same of the predicting layer.
struct Preview {
    Ranking members;
    std::vector<double> intercept;
    std::vector<float> predicting_weights = {};
    std::vector<double> predicting_intercept = {};
};

// How far a merge goes.
struct MergeSizes {
    double selecting;   // in means of the shards' moves
    double predicting;  // of a predicting layer, as a share of all that the shards have learned
};

class Selector {
  public:
    virtual ~Selector() = default;

    // How many weights a feature has, and how many scores a row.
    std::size_t n_vectors() const { return n_vectors_; }
    // Whether labels are numbers, not classes, and their mean then.
    virtual bool takes_numbers() const { return false; }
    virtual double mean_target() const { return 0.0; }

    // Makes room for ids below n. Takes address space, not memory.
    virtual void reserve(std::int64_t n) = 0;

    // Learns the lesson's rows in their order, up to the first fault.
    template <class Id>
    Fault learn(const CsrBatch<Id>& batch, std::int64_t n_features, const Lesson& lesson) {
        std::lock_guard lock(mutex_);
        is_new_ = lesson.is_new;
        max_fdr_ = 1.0, remaining_.reset();
        return for_each_row(batch, n_features, lesson, options_, buffer_,
                            [&](const Ids& ids, std::size_t n, std::size_t r, double importance) {
                                learn_row(ids, n, lesson.labels[r], importance);
                                if (has_decoys_) learn_decoys(batch, ids, n, r, lesson);
                            });
    }

    // Lets the predicting layer start again; `refit` then teaches it rows, and nothing else changes. Unless it is to be
    // kept, `end_refit` puts the layer back that was there before; returns false if it did. One that was started before
    // the state was restored can only be kept.
    virtual void start_refit() = 0;
    virtual bool end_refit(bool keep) = 0;
    // The members' rows in the refit under way since the last call; empty if there were none.
    virtual std::optional<Occurrences> take_occurrences() = 0;
    template <class Id>
    void refit(const CsrBatch<Id>& batch, std::int64_t n_features, const Lesson& lesson) {
        std::lock_guard lock(mutex_);
        for_each_row(batch, n_features, lesson, options_, buffer_,
                     [&](const Ids& ids, std::size_t n, std::size_t r, double importance) {
                         refit_row(ids, n, lesson.labels[r], importance);
                     });
    }

    // Scores of the rows, n_vectors() per row. Ids never seen are ignored.
    template <class Id>
    void score(const CsrBatch<Id>& batch, const RowRange& rows, double* scores) {
        std::lock_guard lock(mutex_);
        for_each_row(batch, rows, options_, buffer_, [&](const Ids& ids, std::size_t n, std::size_t at) {
            score_row(ids, n, scores + at * n_vectors_);
        });
    }

    // What the rows' members add to their scores: row begin + k to that of class classes[k], if there are more than
    // two.
    template <class Id>
    Parts parts(const CsrBatch<Id>& batch, const RowRange& rows, const std::int32_t* classes) {
        std::lock_guard lock(mutex_);
        Parts out;
        for_each_row(batch, rows, options_, buffer_, [&](const Ids& ids, std::size_t n, std::size_t at) {
            parts_of_row(ids, n, n_vectors_ > 1 ? static_cast<std::size_t>(classes[at]) : 0, out);
            out.end_row();
        });
        return out;
    }

    // The next row has no row before it: decoys start with the one after it.
    void begin_pass() {
        std::lock_guard lock(mutex_);
        forget_shown();
    }

    virtual Ranking members() const = 0;
    // The q-values of the members, in the same order: NaN for those that are kept in any case. Empty without decoys.
    virtual std::vector<double> q_values() const = 0;
    // Up to n decoys of the highest ranks above 0; none without decoys.
    virtual DecoyRanks strongest_decoys(std::size_t n) const = 0;
    // Leaves only the members up to this q-value, and those that are kept, to be listed and to predict, until more rows
    // are learned; all of them if it is 1.
    virtual void trim(double max_fdr) = 0;
    // The ranks of the given features, which order the members.
    virtual std::vector<float> ranks(std::span<const std::int64_t> ids) const = 0;
    // The ids of the members, in any order; empty without a budget, where every feature is one.
    virtual std::vector<std::int64_t> member_ids() const = 0;
    // The cells of the given features, class after class, as the learner keeps them; of a feature that was never
    // learned, the start state.
    virtual std::vector<float> cells(std::span<const std::int64_t> ids) const = 0;
    virtual std::vector<double> intercept() const = 0;
    virtual Counters counters() const = 0;
    // Pages of 4 KiB that the state takes; depends on the rows alone.
    virtual std::size_t n_pages() const = 0;

    virtual State state() const = 0;
    // The names of the state's `numbers`.
    virtual std::vector<const char*> number_names() const = 0;
    // Only for a selector that has learned nothing yet.
    virtual void restore(const StateView& state) = 0;

    // What was learned since `start`, which this selector was restored from. It can learn no more then: the members of
    // a sketch have brought their shares back.
    virtual Changes changes_since(const Selector& start) = 0;
    // Moves this selector, the start, by what shards have changed.
    virtual void merge(const Changes& changes, const MergeSizes& sizes) = 0;
    // What merge() would lead to. Without a budget the weights of the given features, else of the members.
    virtual Preview preview(const Changes& changes, const MergeSizes& sizes,
                            std::span<const std::int64_t> ids) const = 0;

  protected:
    Selector(std::size_t n_vectors, const RowOptions& options, bool has_decoys)
        : options_(options), n_vectors_(n_vectors), has_decoys_(has_decoys), buffer_(n_vectors) {}

    // The row of n features that the buffer has; `label` is its class or number.
    virtual void learn_row(const Ids& ids, std::size_t n, double label, double importance) = 0;
    virtual void refit_row(const Ids& ids, std::size_t n, double label, double importance) = 0;
    virtual void score_row(const Ids& ids, std::size_t n, double* scores) = 0;
    virtual void parts_of_row(const Ids& ids, std::size_t n, std::size_t c, Parts& out) = 0;

    // Scales n features of a row that was loaded as rows that are learned; the norm l2 has been applied already.
    virtual void scale(RowBuffer&, std::size_t) {}
    // Decoys: what features they are of next, and the step that the row learned last had.
    virtual void show_to_decoys(const Ids& ids, std::size_t n, const float* x) = 0;
    virtual void forget_shown() = 0;
    virtual void teach_decoys() = 0;

    const RowOptions options_;
    const std::size_t n_vectors_;
    const bool has_decoys_;
    RowBuffer buffer_;
    bool is_new_ = true;  // the lesson's
    double max_fdr_ = 1.0;
    std::optional<std::vector<std::int64_t>> remaining_;  // of the members, ascending, after `trim` to max_fdr_
    // Python's lock is released while rows are learned, so two threads may call the same selector.
    mutable ForkSafeMutex mutex_;

  private:
    // Row r was learned, and is still in the buffer. Its decoys are the features of its partner.
    template <class Id>
    void learn_decoys(const CsrBatch<Id>& batch, const Ids& ids, std::size_t n, std::size_t r, const Lesson& lesson) {
        if (lesson.partners == nullptr) {
            teach_decoys();
            show_to_decoys(ids, n, buffer_.x());
        } else if (const std::int64_t partner = lesson.partners[r]; partner >= 0) {
            std::vector<Id> others;
            const LoadedRow row = load_row(batch, static_cast<std::size_t>(partner), options_, partner_, others);
            scale(partner_, row.n);
            show_to_decoys(row.ids, row.n, partner_.x());
            teach_decoys();
        }
    }

    RowBuffer partner_;
};

}  // namespace thresher
