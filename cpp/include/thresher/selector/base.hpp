// What selectors for two and for many classes have in common: the three parts (see concepts.hpp), how members are
// listed, and how the state is saved and restored.
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
#include "thresher/selector/merging.hpp"
#include "thresher/selector/occurrences.hpp"
#include "thresher/selector/parts.hpp"
#include "thresher/selector/predicting_layer.hpp"
#include "thresher/selector/ranking.hpp"
#include "thresher/selector/selector.hpp"
#include "thresher/selector/state.hpp"

namespace thresher {

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
    };

    static constexpr bool kPredictsApart = L::kHooks.predicts_apart;

    std::size_t n_vectors() const { return kVectors == std::dynamic_extent ? n_vectors_ : kVectors; }

    void reserve(std::int64_t n) final {
        std::lock_guard lock(mutex_);
        memory_.reserve(n);
    }

    Ranking members() const final {
        std::lock_guard lock(mutex_);
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
        Ranking out;
        for (const Ranked& member : ranked) {
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

    std::vector<float> intercept() const final {
        std::lock_guard lock(mutex_);
        if constexpr (kPredictsApart) return layer_.intercept();
        return selecting_intercept(intercept_);
    }

    Counters counters() const final {
        std::lock_guard lock(mutex_);
        return counters_;
    }

    std::size_t n_pages() const final {
        std::lock_guard lock(mutex_);
        if constexpr (kPredictsApart) return memory_.n_pages() + layer_.n_pages();
        return memory_.n_pages();
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
        for (const KeptNumber<L>& number : L::kept()) out.numbers.push_back(learner_.*number.member);
        if constexpr (kPredictsApart) out.predicting = layer_.state();
        return out;
    }

    std::vector<const char*> number_names() const final {
        std::vector<const char*> names;
        for (const KeptNumber<L>& number : L::kept()) names.push_back(number.name);
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
        counters_ = state.counters;
    }

    Changes changes_since(const Selector& other) final {
        const auto* of_this_kind = dynamic_cast<const SelectorBase*>(&other);
        if (of_this_kind == nullptr) throw std::invalid_argument("the start is of another kind");
        const SelectorBase& start = *of_this_kind;
        if (this == &start) throw std::invalid_argument("a selector can't be its own start");
        std::scoped_lock lock(mutex_, start.mutex_);  // waits for neither while it holds the other
        if (n_vectors() != start.n_vectors() || budget_ != start.budget_ || keep_ != start.keep_)
            throw std::invalid_argument("the start is of another kind");
        Changes out;
        if constexpr (Members::kBounded) {
            for_each_member([&](std::int64_t id) { out.members.push_back(id); });
            std::sort(out.members.begin(), out.members.end());
        }
        // Of a sketch's outsiders the table alone knows.
        for (const std::int64_t id : HasTable<M> ? touched() : united(touched(), start.touched())) {
            const std::size_t before = out.changes.size();
            bool is_changed = false;
            for (std::size_t c = 0; c < n_vectors(); ++c) {
                const auto change = L::change(start.real(id, c), real(id, c));
                for (const float number : change) is_changed |= number != 0.0f;
                out.changes.insert(out.changes.end(), change.begin(), change.end());
            }
            if (is_changed)
                out.ids.push_back(id);
            else
                out.changes.resize(before);
        }
        for (std::size_t c = 0; c < n_vectors(); ++c) {
            const auto sum = L::weighed(L::change(start.intercept_[c], intercept_[c]));
            out.intercept.insert(out.intercept.end(), sum.begin(), sum.end());
        }
        out.counters = counters_since(start.counters_, counters_);
        for (const KeptNumber<L>& number : L::kept())
            out.numbers.push_back(number.adds_up ? learner_.*number.member - start.learner_.*number.member : 0.0);
        if constexpr (kPredictsApart) out.predicting = layer_.changes_since(start.layer_);
        if constexpr (HasTable<M>) memory_.note_slots(start.memory_, out);
        return out;
    }

    void merge(const Changes& changes, const MergeSizes& sizes) final {
        std::lock_guard lock(mutex_);
        check(changes);
        const double size = sizes.selecting;
        const Chosen chosen = members_after(changes, size);
        std::vector<std::int64_t> before;  // members that are not in the changes may leave all the same
        if constexpr (Members::kBounded) for_each_member([&](std::int64_t id) { before.push_back(id); });
        std::sort(before.begin(), before.end());
        memory_.make_room(changes.ids);
        if constexpr (HasTable<M>) memory_.merge_slots(changes, size);
        std::size_t next = 0;
        for (const std::int64_t id : united(united(changes.ids, before), ids_of(chosen))) {
            while (next < chosen.members.size() && chosen.members[next].id < id) ++next;
            const bool is_chosen = next < chosen.members.size() && chosen.members[next].id == id;
            for (std::size_t c = 0; c < n_vectors(); ++c) {
                if constexpr (Members::kBounded) {
                    if (is_chosen) {
                        memory_.store(id, c, stored(L::as_member(chosen.cells[next * n_vectors() + c])));
                        continue;
                    }
                    // Outsiders of a sketch are in its table.
                    if (HasTable<M> && !L::is_member(memory_.load(id, c))) continue;
                    memory_.store(id, c, stored(L::as_leaver(merged_cell(id, c, changes, size))));
                } else {
                    memory_.store(id, c, L::as_member(merged_cell(id, c, changes, size)));
                }
            }
        }
        if constexpr (Members::kBounded) {
            members_ = Members(budget_ - keep_.size());
            for (const Ranked& member : chosen.members)
                if (!is_kept(member.id)) members_.add(member.id);
        }
        for (std::size_t c = 0; c < n_vectors(); ++c) intercept_[c] = merged_intercept(c, changes, size);
        if constexpr (kPredictsApart) layer_.merge(changes.predicting, changes.n_shards, sizes.predicting);
        if constexpr (kPredictsApart && HasTable<M>)
            if (layer_.size() > most_known()) forget_leavers();
        counters_ = moved(counters_, changes.counters);
        for (std::size_t k = 0; k < changes.numbers.size(); ++k) learner_.*L::kept()[k].member += changes.numbers[k];
        if constexpr (L::kHooks.folds) fold();
    }

    Preview preview(const Changes& changes, const MergeSizes& sizes, std::span<const std::int64_t> ids) const final {
        std::lock_guard lock(mutex_);
        check(changes);
        const double size = sizes.selecting;
        Preview out;
        if constexpr (Members::kBounded) {
            const Chosen chosen = members_after(changes, size);
            out.members.ids = ids_of(chosen);
            for (const Cell& cell : chosen.cells) out.members.weights.push_back(learner_.weight(stored(cell)));
        } else {
            for (const std::int64_t id : ids) {
                out.members.ids.push_back(id);
                for (std::size_t c = 0; c < n_vectors(); ++c)
                    out.members.weights.push_back(learner_.weight(merged_cell(id, c, changes, size)));
            }
        }
        std::vector<Cell> intercept;
        for (std::size_t c = 0; c < n_vectors(); ++c) intercept.push_back(merged_intercept(c, changes, size));
        out.intercept = selecting_intercept(intercept);
        if constexpr (kPredictsApart) layer_.preview(changes.predicting, changes.n_shards, sizes.predicting, out);
        return out;
    }

  protected:
    SelectorBase(std::size_t n_vectors, const Options& options)
        : Selector(n_vectors, options.rows),
          learner_(options.parameters),
          memory_(n_vectors, options.memory),
          members_(options.budget - options.keep.size()),
          budget_(options.budget),
          keep_(options.keep),
          intercept_(n_vectors, L::as_member(Cell{})),
          layer_(n_vectors, options.rows) {
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

    // The row that the buffer has, as the predicting layer sees it.
    std::span<const Logistic::Score> predict_apart(const Ids& ids, std::size_t n) {
        const Row row = buffer_.row();
        const auto is_member = [&](std::size_t i) { return L::is_member(cell_at(row, i)); };
        ids.visit([&](const auto* each) { layer_.take(each, buffer_.raw(), n, is_member); });
        return layer_.predict();
    }
    // It learns the row that it predicted last. Beside a sketch, whose memory is bounded, it forgets features that have
    // left when it knows too many.
    void learn_apart(std::int32_t code, double importance) {
        layer_.learn(static_cast<std::size_t>(code), importance);
        if constexpr (HasTable<M>)
            if (layer_.size() > most_known()) [[unlikely]]
                forget_leavers();
    }

    // Counts the members of the row that was predicted last, in a refit.
    void count_members() {
        if (!occurrences_) {
            std::vector<std::int64_t> ids;
            for_each_member([&](std::int64_t id) { ids.push_back(id); });
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

    L learner_;
    M memory_;
    Members members_;
    const std::uint64_t budget_;
    const std::vector<std::int64_t> keep_;
    std::vector<Cell> intercept_;
    using Layer = std::conditional_t<kPredictsApart, PredictingLayer<kVectors>, NoLayer>;
    Layer layer_;
    struct BeforeRefit {
        Layer layer;
        MarginScale margins;
    };
    std::optional<BeforeRefit> before_refit_;
    std::optional<Occurrences> occurrences_;  // of a refit
    Counters counters_;
    std::vector<std::size_t> entered_;  // positions in the row at work

  private:
    // The members after a merge, in ascending order of id, and their cells.
    struct Chosen {
        std::vector<Ranked> members;
        std::vector<Cell> cells;
    };

    static std::vector<std::int64_t> ids_of(const Chosen& chosen) {
        std::vector<std::int64_t> ids;
        for (const Ranked& member : chosen.members) ids.push_back(member.id);
        return ids;
    }

    // Cells without the scalar that FOFS's weights share, and with it.
    Cell real(std::int64_t id, std::size_t c) const {
        const Cell cell = id < memory_.n_features() ? memory_.load(id, c) : Cell{};
        if constexpr (L::kHooks.folds) return learner_.real(cell);
        return cell;
    }
    Cell stored(const Cell& cell) const {
        if constexpr (L::kHooks.folds) return learner_.stored(cell);
        return cell;
    }

    std::vector<std::int64_t> touched() const {
        std::vector<std::int64_t> ids;
        memory_.for_each_touched([&](std::int64_t id) { ids.push_back(id); });
        return ids;
    }

    void check(const Changes& changes) const {
        const bool is_one = changes.n_shards == 1;
        bool fits = changes.n_shards > 0 && thresher::fits<L>(changes, changes.n_shards, n_vectors()) &&
                    changes.numbers.size() == L::kept().size();
        if constexpr (HasTable<M>) {
            const std::size_t numbers = is_one ? changes.slot_changes.size() : changes.slot_sums.size();
            const std::size_t width = is_one ? M::kSlotChange : M::kSlotSum;
            fits &= (is_one ? changes.slot_sums : changes.slot_changes).empty();
            fits &= changes.n_slots == memory_.n_slots() &&
                    (changes.slots.empty() || changes.slots.back() < changes.n_slots);
            fits &= numbers == changes.slots.size() * width ||
                    (changes.slots.empty() && numbers == changes.n_slots * width);
        } else {
            fits &= changes.n_slots == 0;
        }
        if constexpr (kPredictsApart) fits &= layer_.fits(changes.predicting, changes.n_shards);
        if (!fits) throw std::invalid_argument("the changes are of another kind");
    }

    // A feature's cell after a merge, without the scalar; its mark is still that of the start.
    Cell merged_cell(std::int64_t id, std::size_t c, const Changes& changes, double size) const {
        const Cell from = real(id, c);
        const auto found = std::lower_bound(changes.ids.begin(), changes.ids.end(), id);
        const bool is_changed = found != changes.ids.end() && *found == id;
        const auto i = static_cast<std::size_t>(found - changes.ids.begin()) * n_vectors() + c;
        const Cell to = is_changed ? L::moved(from, sum_of<L>(changes, changes.n_shards, i), size) : from;
        if constexpr (HasTable<M>) {
            // The shards in which it was an outsider have it in their tables only.
            if (!L::is_member(from)) {
                if (M::kKeepsMeans && is_changed) return to;
                const Cell outsider = memory_.load_merged(id, c, changes, size);
                return {M::kKeepsMeans ? outsider[0] : to[0], outsider[1]};
            }
        }
        return to;
    }

    Cell merged_intercept(std::size_t c, const Changes& changes, double size) const {
        return L::moved(intercept_[c], intercept_sum_of<L>(changes, c), size);
    }

    // The best of all shards' members. Empty without a budget.
    Chosen members_after(const Changes& changes, double size) const {
        Chosen chosen;
        if constexpr (Members::kBounded) {
            for (const std::int64_t id : united(changes.members, keep_)) {
                float rank = 0.0f;
                for (std::size_t c = 0; c < n_vectors(); ++c) rank += L::rank(merged_cell(id, c, changes, size));
                chosen.members.push_back({id, is_kept(id) ? std::numeric_limits<float>::infinity()
                                                          : std::min(rank, std::numeric_limits<float>::max())});
            }
            keep_best(chosen.members, budget_);
            for (const Ranked& member : chosen.members)
                for (std::size_t c = 0; c < n_vectors(); ++c)
                    chosen.cells.push_back(merged_cell(member.id, c, changes, size));
        }
        return chosen;
    }

    static Cell cell_of(std::span<const float> cells, std::size_t i) {
        Cell cell;
        std::memcpy(&cell, cells.data() + i * L::kWidth, sizeof(Cell));
        return cell;
    }

    void restore_numbers(std::span<const double> numbers) {
        constexpr auto kept = L::kept();
        if (numbers.size() != kept.size())
            throw std::invalid_argument("the learner keeps " + std::to_string(kept.size()) + " numbers");
        for (std::size_t k = 0; k < kept.size(); ++k) {
            if (!std::isfinite(numbers[k]) || numbers[k] < 0.0 || (numbers[k] == 0.0 && !kept[k].may_be_zero))
                throw std::invalid_argument("the learner's " + std::string(kept[k].name) + " is out of range");
            learner_.*kept[k].member = numbers[k];
        }
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

    std::vector<float> selecting_intercept(const std::vector<Cell>& cells) const {
        std::vector<float> out;
        for (const Cell& cell : cells) out.push_back(options_.fit_intercept ? kInterceptValue * cell[0] : 0.0f);
        return out;
    }

    template <class Visit>
    void for_each_member(Visit visit) const {
        for (const std::int64_t id : keep_) visit(id);
        members_.for_each(visit);
    }

    [[gnu::noinline]] void fill_places(std::size_t n, std::size_t n_open) {
        for (std::size_t i = 0; i < n && entered_.size() < n_open; ++i) {
            if (!L::is_outsider(buffer_.row(), i)) continue;
            for (std::size_t c = 0; c < n_vectors(); ++c) L::enter(buffer_.row(c), i);
            entered_.push_back(i);
        }
    }

    [[gnu::noinline]] void fold() {
        learner_.begin_fold();
        for_each_member([&](std::int64_t id) {
            for (std::size_t c = 0; c < n_vectors(); ++c) memory_.store(id, c, learner_.folded(memory_.load(id, c)));
        });
        members_.forget_ranks();
    }
};

}  // namespace thresher
