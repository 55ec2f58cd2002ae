// What selectors for two and for many classes have in common: the three parts (see concepts.hpp), how members are
// listed, and how the state is saved and restored. Merging is in mergeable.hpp.
//
// With two classes a feature has one vector of weights; with C > 2 it has C, and there is one set of members for all of
// them: a feature's rank is the sum of its ranks in the classes, and a leaver leaves in all. The cell of feature j for
// class c is a cell of its own in the memory; all cells of a feature carry the member's mark.
//
// Features that are to be kept are marked from the start and are not in the member set, which shares out the rest of
// the budget: so no feature can push them out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "thresher/concepts.hpp"
#include "thresher/learners/kernels.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/counters.hpp"
#include "thresher/selector/decoys.hpp"
#include "thresher/selector/merging.hpp"
#include "thresher/selector/occurrences.hpp"
#include "thresher/selector/parts.hpp"
#include "thresher/selector/predicting_layer.hpp"
#include "thresher/selector/ranking.hpp"
#include "thresher/selector/selector.hpp"
#include "thresher/selector/state.hpp"

namespace thresher {

// Whether a learner's targets are numbers.
template <class L>
constexpr bool takes_numbers_of() {
    if constexpr (requires { L::Loss::kOfNumbers; }) return L::Loss::kOfNumbers;
    return false;
}

// kVectors is 1, or std::dynamic_extent where only the data tell how many classes there are.
template <Learner L, MemoryFor<L> M, std::size_t kVectors>
class SelectorBase : public Selector {
  public:
    using LearnerType = L;
    using MemoryType = M;
    using Cell = typename L::Cell;
    using Members = typename L::Members;

    struct Options {
        std::uint64_t budget;
        RowOptions rows;
        typename L::Parameters parameters;
        std::vector<std::int64_t> keep = {};  // ids of members from the start that never leave, ascending
        MemoryOptions memory = {};
        DecoyOptions decoys = {};
    };

    static constexpr bool kPredictsApart = L::kHooks.predicts_apart;
    static constexpr bool kHasDecoys = L::kHooks.has_decoys;
    static constexpr bool kOfNumbers = takes_numbers_of<L>();

    std::size_t n_vectors() const { return kVectors == std::dynamic_extent ? n_vectors_ : kVectors; }

    void reserve(std::int64_t n) final {
        std::lock_guard lock(mutex_);
        memory_.reserve(n);
        if constexpr (kHasDecoys)
            if (has_decoys_) decoys_.reserve(n);
    }

    Ranking members() const final {
        std::lock_guard lock(mutex_);
        Ranking out;
        for (const Ranked& member : ranked_members()) {
            if (!remains(member.id)) continue;
            out.ids.push_back(member.id);
            for (std::size_t c = 0; c < n_vectors(); ++c)
                if constexpr (kPredictsApart)
                    out.weights.push_back(layer_.weight(member.id, c));
                else
                    out.weights.push_back(learner_.weight(memory_.load(member.id, c)));
        }
        return out;
    }

    std::vector<float> ranks(std::span<const std::int64_t> ids) const final {
        std::lock_guard lock(mutex_);
        std::vector<float> out;
        for (const std::int64_t id : ids) {
            const float rank = id < memory_.n_features() ? rank_of(id) : 0.0f;
            if constexpr (L::kHooks.folds)
                out.push_back(static_cast<float>(learner_.scaled(static_cast<double>(rank))));
            else
                out.push_back(rank);
        }
        return out;
    }

    std::vector<double> q_values() const final {
        std::lock_guard lock(mutex_);
        if constexpr (kHasDecoys) {
            std::vector<double> out;
            for (const auto& [id, q] : members_with_q())
                if (remains(id)) out.push_back(q);
            return out;
        } else {
            return {};
        }
    }

    DecoyRanks strongest_decoys(std::size_t n) const final {
        std::lock_guard lock(mutex_);
        if constexpr (kHasDecoys)
            return decoys_.strongest(n);
        else
            return {};
    }

    void trim(double max_fdr) final {
        std::lock_guard lock(mutex_);
        trim_to(max_fdr);
    }

    std::vector<std::int64_t> member_ids() const final {
        std::lock_guard lock(mutex_);
        std::vector<std::int64_t> ids;
        if constexpr (Members::kBounded) for_each_member([&](std::int64_t id) { ids.push_back(id); });
        return ids;
    }

    std::vector<float> cells(std::span<const std::int64_t> ids) const final {
        std::lock_guard lock(mutex_);
        std::vector<float> out;
        out.reserve(ids.size() * n_vectors() * L::kWidth);
        for (const std::int64_t id : ids)
            for (std::size_t c = 0; c < n_vectors(); ++c) {
                const Cell cell = id < memory_.n_features() ? memory_.load(id, c) : Cell{};
                out.insert(out.end(), cell.begin(), cell.end());
            }
        return out;
    }

    std::vector<double> intercept() const final {
        std::lock_guard lock(mutex_);
        if constexpr (kPredictsApart)
            return with_mean_target(layer_.intercept(), learner_);
        else
            return selecting_intercept(intercept_);
    }

    Counters counters() const final {
        std::lock_guard lock(mutex_);
        return counters_;
    }

    std::size_t n_pages() const final {
        std::lock_guard lock(mutex_);
        std::size_t n = memory_.n_pages();
        if constexpr (kPredictsApart) n += layer_.n_pages();
        if constexpr (kHasDecoys)
            if (has_decoys_) n += decoys_.n_pages();
        return n;
    }

    void start_refit() final {
        std::lock_guard lock(mutex_);
        if constexpr (!kPredictsApart) throw std::logic_error("this learner has no predicting layer");
        before_refit_ = {std::exchange(layer_, Layer(n_vectors_, options_)), counters_.margins};
        occurrences_.reset();
        // With many classes the layer of the first reading is so much weaker that its scale does not fit the new one.
        // With two the first reading's is the better one: its rows had not yet helped to select the features.
        if constexpr (kVectors != 1) counters_.margins = {.scale = 1.0};
    }

    bool end_refit(bool keep) final {
        std::lock_guard lock(mutex_);
        const bool goes_back = !keep && before_refit_.has_value();
        if (goes_back) {
            layer_ = std::move(before_refit_->layer);
            counters_.margins = before_refit_->margins;
        }
        before_refit_.reset();
        occurrences_.reset();
        return !goes_back;
    }

    std::optional<Occurrences> take_occurrences() final {
        std::lock_guard lock(mutex_);
        return std::exchange(occurrences_, std::nullopt);
    }

    State state() const final {
        std::lock_guard lock(mutex_);
        State out;
        // Counted first: arrays that grow would need twice the room.
        const std::size_t n = memory_.n_touched();
        out.ids.reserve(n);
        out.cells.reserve(n * n_vectors() * L::kWidth);
        memory_.for_each_touched([&](std::int64_t id) {
            out.ids.push_back(id);
            for (std::size_t c = 0; c < n_vectors(); ++c) {
                const Cell cell = memory_.load(id, c);
                out.cells.insert(out.cells.end(), cell.begin(), cell.end());
            }
        });
        if constexpr (HasTable<M>) out.table.assign(memory_.table().begin(), memory_.table().end());
        for (const Cell& cell : intercept_) out.intercept.insert(out.intercept.end(), cell.begin(), cell.end());
        out.counters = counters_;
        out.numbers = numbers();
        if constexpr (kPredictsApart) out.predicting = layer_.state();
        if constexpr (kHasDecoys) out.decoys = decoys_.state();
        out.max_fdr = max_fdr_;
        return out;
    }

    std::vector<const char*> number_names() const final {
        std::vector<const char*> names;
        for (const KeptNumber<L>& number : L::kept()) names.push_back(number.name);
        if constexpr (kOfNumbers)
            for (const auto& number : Layer::kept()) names.push_back(number.name);
        return names;
    }

    void restore(const StateView& state) final {
        std::lock_guard lock(mutex_);
        if (state.cells.size() != state.ids.size() * n_vectors() * L::kWidth)
            throw std::invalid_argument("cells has the wrong size: " + std::to_string(n_vectors() * L::kWidth) +
                                        " per id");
        if (state.intercept.size() != n_vectors() * L::kWidth)
            throw std::invalid_argument("intercept has the wrong size: " + std::to_string(n_vectors() * L::kWidth));
        for (const auto& [name, sum] : kSums)
            if (!std::isfinite(state.counters.*sum) || state.counters.*sum < 0.0)
                throw std::invalid_argument("the counter " + std::string(name) + " is out of range");
        for (const auto& [name, number] : kScales)
            if (const double value = state.counters.margins.*number;
                !std::isfinite(value) || value < 0.0 || (value == 0.0 && number == &MarginScale::scale))
                throw std::invalid_argument("the counter " + std::string(name) + " is out of range");
        restore_numbers(state.numbers);
        memory_.make_room(state.ids);
        for (std::size_t i = 0; i < state.ids.size(); ++i)
            for (std::size_t c = 0; c < n_vectors(); ++c)
                memory_.store(state.ids[i], c, cell_of(state.cells, i * n_vectors() + c));
        restore_table(state.table);  // after the members, whose shares it does not have
        if constexpr (Members::kBounded) restore_members(state);
        for (std::size_t c = 0; c < n_vectors(); ++c) intercept_[c] = cell_of(state.intercept, c);
        restore_layer(state.predicting);
        restore_decoys(state.decoys);
        counters_ = state.counters;
        trim_to(state.max_fdr);
    }

  protected:
    SelectorBase(std::size_t n_vectors, const Options& options)
        : Selector(n_vectors, options.rows, options.decoys.share > 0.0),
          learner_(options.parameters),
          memory_(n_vectors, options.memory),
          members_(options.budget - options.keep.size()),
          budget_(options.budget),
          keep_(options.keep),
          intercept_(n_vectors, L::as_member(Cell{})),
          layer_(n_vectors, options.rows),
          decoys_(n_vectors, options.decoys, options.memory) {
        if constexpr (kPredictsApart) counters_.margins.scale = 1.0;  // its scores are log odds already
        memory_.make_room(keep_);
        for (const std::int64_t id : keep_)
            for (std::size_t c = 0; c < n_vectors; ++c) memory_.store(id, c, L::as_member(Cell{}));
    }

    static Cell cell_at(const Row& row, std::size_t i) {
        const auto planes = L::planes(row);
        Cell cell;
        for (std::size_t k = 0; k < planes.size(); ++k) cell[k] = planes[k][i];
        return cell;
    }

    // The row that the buffer has, as the predicting layer sees it, and may learn it next.
    std::span<const Logistic::Score> predict_apart(const Ids& ids, std::size_t n, bool is_learned = false) {
        const Row row = buffer_.row();
        const auto is_member = [&](std::size_t i)
                                   __attribute__((always_inline)) { return L::is_member(cell_at(row, i)); };
        if (remaining_) [[unlikely]]
            ids.visit([&](const auto* each) {
                layer_.take(each, buffer_.raw(), n, is_learned,
                            [&](std::size_t i) { return is_member(i) && remains(ids[i]); });
            });
        else
            ids.visit([&](const auto* each) { layer_.take(each, buffer_.raw(), n, is_learned, is_member); });
        return layer_.predict();
    }
    // It learns the row that it predicted last, with its class or what is left of its number. Beside a sketch, whose
    // memory is bounded, it forgets features that have left when it knows too many.
    void learn_apart(double label, double importance) {
        if constexpr (kOfNumbers)
            layer_.learn_number(label, importance);
        else
            layer_.learn_class(static_cast<std::size_t>(label), importance);
        if constexpr (HasTable<M>)
            if (layer_.size() > most_known()) [[unlikely]]
                forget_leavers();
    }

    // Counts the members of the row that was predicted last, in a refit.
    void count_members() {
        if (!occurrences_) {
            std::vector<std::int64_t> ids;
            for_each_member([&](std::int64_t id) {
                if (remains(id)) ids.push_back(id);
            });
            occurrences_.emplace(std::move(ids));
        }
        occurrences_->add(layer_.row_members());
    }

    // What the members among n features, which were gathered, add to the score of class c. FOFS's weights share a
    // factor.
    void add_parts(const Ids& ids, std::size_t n, std::size_t c, Parts& out) {
        const Row row = buffer_.row(c);
        for (std::size_t i = 0; i < n; ++i) {
            if (!L::is_member(cell_at(row, i))) continue;
            const auto product = static_cast<double>(L::planes(row)[0][i] * row.x()[i]);
            if constexpr (L::kHooks.folds)
                out.add(ids[i], learner_.scaled(product));
            else
                out.add(ids[i], product);
        }
    }

    // Learns the scale of margins from those of a row, as they were before it was learned. The scores of a predicting
    // layer change with its members: those of the first rows say little about those at the end, so that a row counts by
    // the square of its number.
    template <class... Margins>
    void learn_scale(double importance, const Margins&... margins) {
        counters_.margins.n_rows += 1.0;
        const double number = kPredictsApart ? counters_.margins.n_rows : 1.0;
        counters_.margins.learn(margins..., importance * number * number);
    }

    void show_to_decoys(const Ids& ids, std::size_t n, const float* x) final {
        if constexpr (kHasDecoys) ids.visit([&](const auto* each) { decoys_.show(each, x, n); });
    }
    void forget_shown() final {
        if constexpr (kHasDecoys) decoys_.show_nothing();
    }

    // Trims the selection to the members up to this q-value.
    void trim_to(double max_fdr) {
        max_fdr_ = max_fdr;
        remaining_.reset();
        if constexpr (kHasDecoys) {
            if (max_fdr >= 1.0) return;
            std::vector<std::int64_t> ids;
            for (const auto& [id, q] : members_with_q())
                if (is_kept(id) || q <= max_fdr) ids.push_back(id);
            std::sort(ids.begin(), ids.end());
            remaining_ = std::move(ids);
        }
    }

    // Whether a member is still selected after trimming.
    bool remains(std::int64_t id) const {
        return !remaining_ || std::binary_search(remaining_->begin(), remaining_->end(), id);
    }

    // Whether a member never leaves.
    bool is_kept(std::int64_t id) const { return !keep_.empty() && std::binary_search(keep_.begin(), keep_.end(), id); }

    // A feature's rank, as the memory has it.
    float rank_of(std::int64_t id) const {
        float sum = 0.0f;
        for (std::size_t c = 0; c < n_vectors(); ++c) sum += L::rank(memory_.load(id, c));
        return std::min(sum, std::numeric_limits<float>::max());
    }

    // The row's margins, one per vector of weights.
    void margins(std::size_t n, double* out) { Kernels<L>::margins(learner_, buffer_, n, n_vectors(), out); }

    // The planes of class c around what the memory gathered for the first `known` of n features: the rest, and the
    // padding, read as untouched.
    void complete_planes(std::size_t c, std::size_t n, std::size_t known) {
        const auto planes = L::planes(buffer_.row(c));
        for (std::size_t k = 0; k < planes.size(); ++k) {
            for (std::size_t i = known; i < buffer_.blocks(); ++i) planes[k][i] = 0.0f;
            if (options_.fit_intercept) planes[k][n] = intercept_[c][k];
        }
    }

    // The margin of a row without members, exactly as learners add it up. So only rows that have this one need a look
    // at their features to know whether there is a member among them.
    double intercept_margin(std::size_t c) const {
        return options_.fit_intercept ? static_cast<double>(kInterceptValue * intercept_[c][0]) : 0.0;
    }
    // Those that entered with the row itself do not count. All classes have the same members if there is a budget.
    [[gnu::noinline]] bool has_member(std::size_t n) {
        std::size_t n_members = 0;
        for (std::size_t c = 0; c < (Members::kBounded ? 1 : n_vectors()); ++c) {
            const Row row = buffer_.row(c);
            for (std::size_t i = 0; i < n; ++i) {
                const bool is_member = L::is_member(cell_at(row, i)), is_touched = row.x()[i] != 0.0f;
                n_members += static_cast<std::size_t>(is_member & is_touched);
            }
        }
        return n_members > entered_.size();
    }

    void fold_if_needed() {
        if constexpr (L::kHooks.folds)
            if (learner_.must_fold()) fold();
    }

    // While places are open, the row's first outsiders take them; their positions are noted. The planes alone change:
    // if the row has no loss, they are forgotten with it.
    void enter_first(std::size_t n) {
        entered_.clear();
        if (const std::size_t n_open = members_.n_open(); n_open > 0) fill_places(n, n_open);
    }

    // What the member set asks about a feature.
    struct RankOf {
        const SelectorBase& selector;
        // Below all ranks if the feature is no longer a member.
        float operator()(std::int64_t id) const {
            const Cell cell = selector.memory_.load(id, 0);
            return L::is_member(cell) ? selector.rank_of(id) : -1.0f;
        }
        void expect(std::int64_t id) const { selector.memory_.prefetch(id); }
    };

    // Offers an outsider to the set; if it enters, its cells are stored and the leaver's are marked. `entrant_of(c)` is
    // the cell of class c that it would enter with.
    template <class EntrantOf>
    void offer(std::int64_t id, float rank, EntrantOf entrant_of) {
        const Admission answer = members_.offer(id, rank, RankOf{*this});
        if (!answer.enters) return;
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell entrant = entrant_of(c);
            memory_.store(id, c, entrant);
            if constexpr (L::kHooks.follows_members) learner_.entered(entrant);
        }
        if (answer.leaver == kNoFeature) return;
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const Cell leaver = memory_.load(answer.leaver, c);
            memory_.store(answer.leaver, c, L::as_leaver(leaver));
            if constexpr (L::kHooks.follows_members) learner_.left(leaver);
        }
    }

    // Of how many features the predicting layer may know something beside a sketch.
    std::size_t most_known() const {
        constexpr std::uint64_t kFew = 4096, kMany = std::uint64_t{1} << 31;
        return static_cast<std::size_t>(std::max(kFew, 4 * std::min(budget_, kMany)));
    }
    [[gnu::noinline]] void forget_leavers() {
        std::vector<std::int64_t> ids;
        for_each_member([&](std::int64_t id) { ids.push_back(id); });
        std::sort(ids.begin(), ids.end());
        layer_.keep_only(ids);
    }

    std::vector<double> selecting_intercept(const std::vector<Cell>& cells) const {
        std::vector<double> out;
        for (const Cell& cell : cells)
            out.push_back(options_.fit_intercept ? static_cast<double>(kInterceptValue * cell[0]) : 0.0);
        return out;
    }

    // Of numbers, the mean of the targets is part of the intercept.
    template <class Means>
    std::vector<double> with_mean_target(std::vector<double> intercept, const Means& means) const {
        if constexpr (kOfNumbers)
            if (options_.fit_intercept) intercept[0] += means.mean_target();
        return intercept;
    }

    // All numbers that are kept beside features: visit(KeptNumber, value).
    template <class Visit>
    void for_each_number(Visit visit) {
        for (const KeptNumber<L>& number : L::kept()) visit(number, learner_.*number.member);
        if constexpr (kOfNumbers)
            for (const auto& number : Layer::kept()) visit(number, layer_.lengths().*number.member);
    }
    std::vector<double> numbers() const {
        std::vector<double> out;
        for (const KeptNumber<L>& number : L::kept()) out.push_back(learner_.*number.member);
        if constexpr (kOfNumbers)
            for (const auto& number : Layer::kept()) out.push_back(layer_.lengths().*number.member);
        return out;
    }
    static constexpr std::size_t n_numbers() {
        if constexpr (kOfNumbers) return L::kept().size() + Layer::kept().size();
        return L::kept().size();
    }

    template <class Visit>
    void for_each_member(Visit visit) const {
        for (const std::int64_t id : keep_) visit(id);
        members_.for_each(visit);
    }

    [[gnu::noinline]] void fold() {
        learner_.begin_fold();
        for_each_member([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors(); ++c) memory_.store(id, c, learner_.folded(memory_.load(id, c)));
        });
        members_.forget_ranks();
    }

    L learner_;
    M memory_;
    Members members_;
    const std::uint64_t budget_;
    const std::vector<std::int64_t> keep_;
    std::vector<Cell> intercept_;
    using Layer = std::conditional_t<kPredictsApart, PredictingLayer<kVectors>, NoLayer>;
    Layer layer_;
    using OwnDecoys = std::conditional_t<kHasDecoys, Decoys<L, M>, NoDecoys<L, M>>;
    OwnDecoys decoys_;
    struct BeforeRefit {
        Layer layer;
        MarginScale margins;
    };
    std::optional<BeforeRefit> before_refit_;
    std::optional<Occurrences> occurrences_;  // of a refit
    Counters counters_;
    std::vector<std::size_t> entered_;  // positions in the row at work

  private:
    static Cell cell_of(std::span<const float> cells, std::size_t i) {
        Cell cell;
        std::memcpy(&cell, cells.data() + i * L::kWidth, sizeof(Cell));
        return cell;
    }

    void restore_numbers(std::span<const double> numbers) {
        if (numbers.size() != n_numbers())
            throw std::invalid_argument("the learner keeps " + std::to_string(n_numbers()) + " numbers");
        auto given = numbers.begin();
        for_each_number([&](const auto& kept, double& number) {
            number = *given++;
            if (!std::isfinite(number) || (number < 0.0 && !kept.may_be_negative) ||
                (number == 0.0 && !kept.may_be_zero))
                throw std::invalid_argument("the learner's " + std::string(kept.name) + " is out of range");
        });
    }

    void restore_table(std::span<const float> table) {
        std::size_t size = 0;
        if constexpr (HasTable<M>) size = memory_.table().size();
        if (table.size() != size)
            throw std::invalid_argument("the table has " + std::to_string(table.size()) + " numbers, not " +
                                        std::to_string(size));
        if constexpr (HasTable<M>) {
            if (!M::is_valid(table)) throw std::invalid_argument("the table has a value that is out of range");
            std::copy(table.begin(), table.end(), memory_.table().begin());
        }
    }

    void restore_members(const StateView& state) {
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < state.ids.size(); ++i) {
            std::size_t n_marked = 0;
            for (std::size_t c = 0; c < n_vectors(); ++c)
                n_marked += L::is_member(cell_of(state.cells, i * n_vectors() + c));
            if (n_marked == 0) continue;
            if (n_marked < n_vectors())
                throw std::invalid_argument("a feature is a member for some of the classes only");
            if (!is_kept(state.ids[i])) ids.push_back(state.ids[i]);
        }
        if (const std::size_t n = ids.size() + keep_.size(); n > budget_)
            throw std::invalid_argument("it has " + std::to_string(n) + " members, more than its budget of " +
                                        std::to_string(budget_));
        for (const std::int64_t id : ids) members_.add(id);
    }

    void restore_layer(const LayerView& state) {
        if constexpr (kPredictsApart)
            layer_.restore(state);
        else if (!state.ids.empty() || !state.cells.empty() || !state.intercept.empty())
            throw std::invalid_argument("this learner has no predicting layer");
    }

    void restore_decoys(const DecoyView& state) {
        if constexpr (kHasDecoys)
            decoys_.restore(state);
        else if (!state.ids.empty() || !state.table.empty() || !state.shown_ids.empty())
            throw std::invalid_argument("this learner has no decoys");
    }

    // The members, best first.
    std::vector<Ranked> ranked_members() const {
        std::vector<Ranked> ranked;
        if constexpr (Members::kBounded) {
            for_each_member([&](std::int64_t id) { ranked.push_back({id, rank_of(id)}); });
        } else {
            memory_.for_each_touched([&](std::int64_t id) {
                bool is_member = false;
                for (std::size_t c = 0; c < n_vectors(); ++c) is_member |= L::is_member(memory_.load(id, c));
                if (is_member) ranked.push_back({id, rank_of(id)});
            });
        }
        sort_best_first(ranked);
        return ranked;
    }

    // The members, best first, each with its q-value. Those that are kept in any case have none, and don't count.
    struct Told {
        std::int64_t id;
        double q;
    };
    std::vector<Told> members_with_q() const {
        std::vector<Told> out;
        std::vector<float> ranks;
        const std::vector<Ranked> ranked = ranked_members();
        for (const Ranked& member : ranked)
            if (!is_kept(member.id)) ranks.push_back(member.rank);
        const std::vector<double> qs = decoys_.q_values(ranks);
        std::size_t k = 0;
        for (const Ranked& member : ranked)
            out.push_back({member.id, is_kept(member.id) ? std::numeric_limits<double>::quiet_NaN() : qs[k++]});
        return out;
    }

    [[gnu::noinline]] void fill_places(std::size_t n, std::size_t n_open) {
        for (std::size_t i = 0; i < n && entered_.size() < n_open; ++i) {
            if (!L::is_outsider(buffer_.row(), i)) continue;
            for (std::size_t c = 0; c < n_vectors(); ++c) L::enter(buffer_.row(c), i);
            entered_.push_back(i);
        }
    }
};

}  // namespace thresher
