// What ships satisfies the concepts, and a part with a hook that is misspelt, missing or not announced does not.
#include <array>
#include <cstddef>
#include <cstdint>

#include "thresher/concepts.hpp"
#include "thresher/learners/arow.hpp"
#include "thresher/learners/fofs.hpp"
#include "thresher/learners/ogd.hpp"
#include "thresher/learners/pet.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/members/lazy_heap.hpp"
#include "thresher/members/unbounded.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/memory/hash.hpp"

using namespace thresher;

namespace {

template <class L, class M>
concept Works = Learner<L> && MemoryFor<M, L>;

static_assert(Works<Sofs<LazyHeap>, DenseMemory<2>>);
static_assert(Works<ShadowSofs<WatchedPool>, DenseMemory<2>>);
static_assert(Works<Arow<Unbounded>, DenseMemory<2>>);
static_assert(Works<Pet<WatchedPool>, HashMemory<2>> && Works<Pet<WatchedPool>, DenseMemory<2>>);
static_assert(Works<Fofs<WatchedPool>, HashMemory<2>> && Works<Fofs<WatchedPool>, DenseMemory<2>>);
static_assert(Works<Ogd<Unbounded>, DenseMemory<1>>);

// Ranks that never fall are no problem for a set that follows ranks, but the other way round is.
static_assert(!Learner<ShadowSofs<LazyHeap>> && !Learner<Pet<LazyHeap>> && !Learner<Fofs<LazyHeap>>);
// AROW and OGD have no rule by which a feature leaves, so they can't have a budget.
static_assert(!Learner<Arow<WatchedPool>> && !Learner<Ogd<WatchedPool>>);
// A memory for cells of another width.
static_assert(!Works<Sofs<LazyHeap>, DenseMemory<1>>);

// The hooks of a learner with a budget that has no optional ones.
template <class Self>
struct PlainHooks {
    struct Parameters {};
    using Members = WatchedPool;
    using Cell = std::array<float, 1>;
    using Change = std::array<float, 1>;
    using Sum = std::array<double, 1>;
    static constexpr bool kForAllSets = false;
    static constexpr std::size_t kWidth = 1;
    static constexpr Hooks kHooks{};
    static constexpr bool kRanksFall = true;
    static constexpr std::array<KeptNumber<Self>, 0> kept() { return {}; }
    explicit PlainHooks(Parameters);
    static std::array<float*, 1> planes(const Row&);
    Step step(const Row&, std::size_t, double, double, const Members&);
    PairStep pull_apart(const Row&, const Row&, std::size_t, double, double);
    double margin(const Row&, std::size_t) const;
    float weight(const Cell&) const;
    static float rank(const Cell&);
    static float rank(const Row&, std::size_t);
    static bool is_member(const Cell&);
    static bool is_outsider(const Row&, std::size_t);
    static Cell as_member(const Cell&);
    static Cell as_leaver(const Cell&);
    static Cell negated(const Cell&);
    Cell entrant(const Row&, std::size_t) const;
    static Change change(const Cell&, const Cell&);
    static Sum weighed(const Change&);
    static Cell moved(const Cell&, const Sum&, double);
};
struct Plain : PlainHooks<Plain> {
    using PlainHooks::PlainHooks;
};
static_assert(Learner<Plain>);

// A hook that every learner needs, under another name.
struct MisspeltStep : PlainHooks<MisspeltStep> {
    using PlainHooks::PlainHooks;
    Step stepp(const Row&, std::size_t, double, double, const Members&);
    void step() = delete;
};
struct MisspeltEntrant : PlainHooks<MisspeltEntrant> {
    using PlainHooks::PlainHooks;
    Cell entrants(const Row&, std::size_t) const;
    void entrant() = delete;
};
struct MisspeltLeaver : PlainHooks<MisspeltLeaver> {
    using PlainHooks::PlainHooks;
    static Cell as_lever(const Cell&);
    void as_leaver() = delete;
};
struct MisspeltKept : PlainHooks<MisspeltKept> {
    using PlainHooks::PlainHooks;
    static constexpr std::array<KeptNumber<MisspeltKept>, 0> keeps() { return {}; }
    void kept() = delete;
};
struct MisspeltMoved : PlainHooks<MisspeltMoved> {
    using PlainHooks::PlainHooks;
    static Cell move(const Cell&, const Sum&, double);
    void moved() = delete;
};
static_assert(!Learner<MisspeltStep> && !Learner<MisspeltEntrant> && !Learner<MisspeltLeaver> &&
              !Learner<MisspeltKept> && !Learner<MisspeltMoved>);

// Optional hooks: announced and complete, announced and misspelt, not announced.
struct Folding : PlainHooks<Folding> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.folds = true};
    bool must_fold() const;
    void begin_fold();
    Cell folded(const Cell&);
    Cell real(const Cell&) const;
    Cell stored(const Cell&) const;
    double scaled(double) const;
};
struct MisspeltFold : PlainHooks<MisspeltFold> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.folds = true};
    bool must_fold() const;
    void begin_fold();
    Cell foldet(const Cell&);
    Cell real(const Cell&) const;
    Cell stored(const Cell&) const;
    double scaled(double) const;
};
struct UnannouncedFold : PlainHooks<UnannouncedFold> {
    using PlainHooks::PlainHooks;
    bool must_fold() const;
};
static_assert(Learner<Folding> && !Learner<MisspeltFold> && !Learner<UnannouncedFold>);

struct Following : PlainHooks<Following> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.follows_members = true};
    void entered(const Cell&);
    void left(const Cell&);
};
struct MisspeltEntered : PlainHooks<MisspeltEntered> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.follows_members = true};
    void enterd(const Cell&);
    void left(const Cell&);
};
struct UnannouncedLeft : PlainHooks<UnannouncedLeft> {
    using PlainHooks::PlainHooks;
    void left(const Cell&);
};
static_assert(Learner<Following> && !Learner<MisspeltEntered> && !Learner<UnannouncedLeft>);

struct Entering : PlainHooks<Entering> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.enters_first = true};
    static void enter(const Row&, std::size_t);
};
struct MisspeltEnter : PlainHooks<MisspeltEnter> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.enters_first = true};
    static void enters(const Row&, std::size_t);
};
struct UnannouncedEnter : PlainHooks<UnannouncedEnter> {
    using PlainHooks::PlainHooks;
    static void enter(const Row&, std::size_t);
};
static_assert(Learner<Entering> && !Learner<MisspeltEnter> && !Learner<UnannouncedEnter>);

struct Marking : PlainHooks<Marking> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.marks_touched = true};
    static void mark_touched(const Row&);
};
struct MisspeltMark : PlainHooks<MisspeltMark> {
    using PlainHooks::PlainHooks;
    static constexpr Hooks kHooks{.marks_touched = true};
    static void marks_touched(const Row&);
};
struct UnannouncedMark : PlainHooks<UnannouncedMark> {
    using PlainHooks::PlainHooks;
    static void mark_touched(const Row&);
};
static_assert(Learner<Marking> && !Learner<MisspeltMark> && !Learner<UnannouncedMark>);

// Member sets.
struct MisspeltExpect : LazyHeap {
    using LazyHeap::LazyHeap;
    template <class RankOf>
    void expects(std::size_t, RankOf) const;
    void expect() = delete;
};
struct MisspeltLower : WatchedPool {
    using WatchedPool::WatchedPool;
    void lowered(float);
    void lower() = delete;
};
struct UnannouncedMoves : LazyHeap {
    using LazyHeap::LazyHeap;
    void moved(std::int64_t, float);
};
struct UnannouncedOffers : Unbounded {
    using Unbounded::Unbounded;
    void add(std::int64_t);
};
static_assert(!MemberSet<MisspeltExpect> && !MemberSet<MisspeltLower>);
static_assert(!MemberSet<UnannouncedMoves> && !MemberSet<UnannouncedOffers>);

// Memories.
struct MisspeltPrefetch : DenseMemory<2> {
    using DenseMemory<2>::DenseMemory;
    void pre_fetch(std::int64_t) const;
    void prefetch() = delete;
};
static_assert(!Memory<MisspeltPrefetch>);

}  // namespace
