// What the exchangeable parts of a selector must offer, as C++20 concepts.
//
//   Learner    one algorithm: scores a row and takes its step, on the planes of that row; knows neither ids nor memory
//   Memory     where the state of features lies: gathers the cells of a row into planes, scatters them back
//   MemberSet  which features are selected: offer(id, rank)
//
// The selector knows all three. None of them knows another, except that a learner asks the member set for its
// thresholds.
//
// Every hook that a selector calls is declared here. Hooks that not every part needs come in groups; a part says by a
// constant (`kHooks`, `kBounded`, `kReports`) which groups it has, and the concept then demands the whole group, and no
// hook of any other group. So a hook that is misspelt, missing, or not announced is a compile error.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "thresher/learners/step.hpp"
#include "thresher/members/admission.hpp"
#include "thresher/memory/options.hpp"
#include "thresher/row.hpp"

namespace thresher {

// How a member set follows ranks that change between offers.
enum class RankReports {
    none,  // it does not: for ranks that never fall, or for a set that no feature leaves
    low,   // lower(rank of the row's lowest member), and moved(id, rank) for each member of it that is below watched()
    all    // moved(id, rank) for each member of the row
};

// What a member set asks the selector: rank_of(id) is the feature's rank now, or -1 if it is not a member;
// rank_of.expect(id) announces that it will be asked for soon.
struct RankOfArchetype {
    float operator()(std::int64_t id) const;
    void expect(std::int64_t id) const;
};

// kBounded: the set has a budget, so features are offered a place.
template <class S>
concept OffersPlaces = requires(S set, const S fixed, std::int64_t id, float rank, std::size_t n,
                                RankOfArchetype rank_of, void (*visit)(std::int64_t)) {
    { fixed.size() } -> std::same_as<std::size_t>;
    { fixed.n_open() } -> std::same_as<std::size_t>;  // how many places are free
    { fixed.threshold() } -> std::same_as<float>;     // no outsider at or below it can enter; -1 while places are open
    { set.offer(id, rank, rank_of) } -> std::same_as<Admission>;
    { fixed.expect(n, rank_of) } -> std::same_as<void>;  // n offers are about to come: prefetch what they will need
    { fixed.for_each(visit) } -> std::same_as<void>;     // in any order
    { set.add(id) } -> std::same_as<void>;               // a member without an offer; there must be a free place
};
template <class S>
concept OffersSomePlaces = requires(S set, std::int64_t id) { set.add(id); } ||
                           requires(S set, std::int64_t id, RankOfArchetype rank_of) { set.offer(id, 0.0f, rank_of); };

// kReports = low
template <class S>
concept Watches = requires(S set, const S fixed, float rank) {
    { fixed.watched() } -> std::same_as<float>;
    { set.lower(rank) } -> std::same_as<void>;
};
template <class S>
concept WatchesSome = requires(const S fixed) { fixed.watched(); } || requires(S set) { set.lower(0.0f); };

// kReports = low or all
template <class S>
concept TakesReports = requires(S set, std::int64_t id, float rank) {
    { set.moved(id, rank) } -> std::same_as<void>;
};

// kReports = low or all: all ranks have changed, or a saved state was restored; the ids of the members still hold.
template <class S>
concept ForgetsRanks = requires(S set) {
    { set.forget_ranks() } -> std::same_as<void>;
};

template <class S>
concept MemberSet =
    std::constructible_from<S, std::uint64_t> &&  // from the budget
    requires(const S fixed) {
        { S::kBounded } -> std::same_as<const bool&>;
        { S::kReports } -> std::same_as<const RankReports&>;
    } && (S::kBounded ? OffersPlaces<S> : !OffersSomePlaces<S>) &&
    (S::kReports == RankReports::low ? Watches<S> : !WatchesSome<S>) &&
    (TakesReports<S> == (S::kReports != RankReports::none)) && (ForgetsRanks<S> == (S::kReports != RankReports::none));

// `Cell` is what is kept of a feature for a class, an array of floats; all zeros is the start state. With two classes a
// feature has one cell; c is the place of the class.
template <class M>
concept Memory =
    std::constructible_from<M, std::size_t, const MemoryOptions&> &&  // from the number of cells per feature
    requires(M memory, const M fixed, const std::int32_t* narrow, const std::int64_t* wide, std::size_t n,
             std::size_t c, std::int64_t id, std::span<const std::int64_t> ids, typename M::Cell cell,
             void (*visit)(std::int64_t), typename M::Cell (*change)(const typename M::Cell&),
             std::array<float*, std::tuple_size_v<typename M::Cell>> planes) {
        { fixed.n_features() } -> std::same_as<std::int64_t>;  // ids below it can be gathered
        { memory.reserve(id) } -> std::same_as<void>;          // address space for ids below it, or std::bad_alloc
        { memory.admit(id) } -> std::same_as<void>;            // a row with ids below it is about to be learned
        { memory.make_room(ids) } -> std::same_as<void>;       // these, in ascending order, are about to be stored
        { fixed.load(id, c) } -> std::same_as<typename M::Cell>;
        { memory.store(id, c, cell) } -> std::same_as<void>;
        { fixed.prefetch(id) } -> std::same_as<void>;
        { memory.locate(narrow, n) } -> std::same_as<void>;  // the features of the row at work, before its first …
        { memory.locate(wide, n) } -> std::same_as<void>;
        { memory.gather(narrow, n, c, planes) } -> std::same_as<void>;  // … gather
        { memory.gather(wide, n, c, planes) } -> std::same_as<void>;
        { memory.scatter(narrow, n, c, planes) } -> std::same_as<void>;
        { memory.scatter(wide, n, c, planes) } -> std::same_as<void>;
        { fixed.n_touched() } -> std::same_as<std::size_t>;       // features not in their start state …
        { fixed.for_each_touched(visit) } -> std::same_as<void>;  // … in ascending order of id
        { memory.update(change) } -> std::same_as<void>;          // every cell becomes change(cell)
        { fixed.n_pages() } -> std::same_as<std::size_t>;         // of 4 KiB that it takes; depends on the rows alone
    };

// Which groups of optional hooks a learner has.
struct Hooks {
    bool folds = false;            // a scalar that all weights share is folded into them when it gets too small
    bool follows_members = false;  // it is called with each cell that enters or leaves
    bool enters_first = false;     // while places are open, the outsiders of a row with a loss enter before its step
    bool predicts_apart = false;   // its members predict by a layer of their own: selector/predicting_layer.hpp
    bool has_decoys = false;       // decoys can follow its steps: selector/decoys.hpp
    bool marks_touched = false;    // of many classes, a touched feature must be marked in those that took no step too
};

// A number that a learner keeps beside its features, as saved states know it.
template <class L>
struct KeptNumber {
    const char* name;
    double L::* member;
    bool may_be_zero;
    bool adds_up;  // over shards that are merged; else a merge leaves it to `fold`
    bool may_be_negative = false;
};

// kHooks.folds: if must_fold(), the selector calls begin_fold(), then replaces every member's cell by folded(cell).
template <class L>
concept Folds = requires(L learner, const L fixed, typename L::Cell cell, double number) {
    { fixed.must_fold() } -> std::same_as<bool>;
    { learner.begin_fold() } -> std::same_as<void>;
    { learner.folded(cell) } -> std::same_as<typename L::Cell>;
    // A cell as it would be without the scalar, and back: what shards change is compared without it.
    { fixed.real(cell) } -> std::same_as<typename L::Cell>;
    { fixed.stored(cell) } -> std::same_as<typename L::Cell>;
    { fixed.scaled(number) } -> std::same_as<double>;  // the product of a stored weight and a value, with the scalar
};
template <class L>
concept FoldsSome = requires(const L fixed) { fixed.must_fold(); } || requires(L learner) { learner.begin_fold(); } ||
                    requires(L learner, typename L::Cell cell) { learner.folded(cell); };

// kHooks.follows_members: after a step, the cell of each feature that entered, and of each that left as it was before.
template <class L>
concept FollowsMembers = requires(L learner, typename L::Cell cell) {
    { learner.entered(cell) } -> std::same_as<void>;
    { learner.left(cell) } -> std::same_as<void>;
};
template <class L>
concept FollowsSomeMembers = requires(L learner, typename L::Cell cell) { learner.entered(cell); } ||
                             requires(L learner, typename L::Cell cell) { learner.left(cell); };

// kHooks.enters_first: position i of a row becomes a member's, in its start state. A weight of 0 does not change the
// margin, so this may be done before it is known whether the row has a loss.
template <class L>
concept EntersFirst = requires(Row row, std::size_t i) {
    { L::enter(row, i) } -> std::same_as<void>;
};

// kHooks.has_decoys: the outsiders' step that was taken last is taken by the features of another row; of two classes,
// and of the true one and the best wrong one of many.
template <class L>
concept LeadsDecoys = requires(const L fixed, Row row) {
    { fixed.follow(row) } -> std::same_as<void>;
    { fixed.follow(row, row) } -> std::same_as<void>;
    { fixed.has_stepped() } -> std::same_as<bool>;  // or else the row had no loss
};
template <class L>
concept LeadsSomeDecoys = requires(const L fixed, Row row) { fixed.follow(row); } ||
                          requires(const L fixed, Row row) { fixed.follow(row, row); };

// kHooks.marks_touched
template <class L>
concept MarksTouched = requires(Row row) {
    { L::mark_touched(row) } -> std::same_as<void>;
};

// Merging shards: what is noted of a cell that a shard changed, notes that add up, and where a cell moves for their
// sum, by `size` times the mean move (selector/changes.hpp).
template <class L>
concept Merges = requires(typename L::Cell cell, typename L::Change change, typename L::Sum sum, double size) {
    { L::change(cell, cell) } -> std::same_as<typename L::Change>;
    { L::weighed(change) } -> std::same_as<typename L::Sum>;
    { L::moved(cell, sum, size) } -> std::same_as<typename L::Cell>;
};

// For learners with a budget. Position i of a row that was just stepped on:
template <class L>
concept Competes = requires(const L fixed, typename L::Cell cell, Row row, std::size_t i) {
    { L::is_outsider(row, i) } -> std::same_as<bool>;             // not a member, and x is not 0
    { L::rank(row, i) } -> std::same_as<float>;                   // its rank, as an outsider's, too
    { fixed.entrant(row, i) } -> std::same_as<typename L::Cell>;  // its cell if it enters
    { L::as_leaver(cell) } -> std::same_as<typename L::Cell>;     // a member's cell after it leaves
};

template <class L>
concept Learner =
    MemberSet<typename L::Members> && std::constructible_from<L, typename L::Parameters> &&
    requires(L learner, const L fixed, typename L::Cell cell, Row row, std::size_t n, double number,
             const typename L::Members members) {
        { L::kWidth } -> std::same_as<const std::size_t&>;  // floats per cell
        { L::kHooks } -> std::same_as<const Hooks&>;
        { L::kForAllSets } -> std::same_as<const bool&>;  // whether its loops are compiled for all instruction sets
        { L::kRanksFall } -> std::same_as<const bool&>;   // a member's rank can fall
        { L::kept()[0] } -> std::convertible_to<KeptNumber<L>>;
        { L::planes(row) } -> std::same_as<std::array<float*, L::kWidth>>;  // where a row's cells are gathered

        // Two classes: y is 1 or -1; `n` features, maybe an intercept behind them; `importance` is the
        // sample weight.
        { learner.step(row, n, number, number, members) } -> std::same_as<Step>;
        // More: the true class's row and the best wrong one's, the difference of their scores, and the
        // importance.
        { learner.pull_apart(row, row, n, number, number) } -> std::same_as<PairStep>;
        { fixed.margin(row, n) } -> std::same_as<double>;  // over members only

        { fixed.weight(cell) } -> std::same_as<float>;
        { L::rank(cell) } -> std::same_as<float>;
        { L::is_member(cell) } -> std::same_as<bool>;
        { L::as_member(cell) } -> std::same_as<typename L::Cell>;
        { L::negated(cell) } -> std::same_as<typename L::Cell>;  // the classes swapped
    } &&
    Merges<L> && (L::kHooks.folds ? Folds<L> && ForgetsRanks<typename L::Members> : !FoldsSome<L>) &&
    (L::kHooks.follows_members ? FollowsMembers<L> : !FollowsSomeMembers<L>) &&
    (L::kHooks.has_decoys ? LeadsDecoys<L> : !LeadsSomeDecoys<L>) && (EntersFirst<L> == L::kHooks.enters_first) &&
    (MarksTouched<L> == L::kHooks.marks_touched) && (!L::Members::kBounded || Competes<L>) &&
    // A set without reports relies on ranks that never fall.
    (!L::Members::kBounded || !L::kRanksFall || L::Members::kReports != RankReports::none);

template <class M, class L>
concept MemoryFor = Memory<M> && std::same_as<typename M::Cell, typename L::Cell>;

}  // namespace thresher
