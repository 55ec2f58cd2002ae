// Every selector: the same bits on every SIMD path, under every compiler, and through a saved state.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
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
#include "thresher/memory/sketch.hpp"
#include "thresher/selector/many.hpp"
#include "thresher/selector/number.hpp"
#include "thresher/selector/two.hpp"
#include "thresher/synth.hpp"

using namespace thresher;

namespace {

struct Samples {
    std::vector<std::int64_t> starts, ids;
    std::vector<float> values;
    std::vector<std::int32_t> classes;

    // The paper's synthetic rows; with three classes, every fifth row of the second is of the third.
    Samples(std::size_t n, std::size_t n_classes) {
        const Synth synth({1000, 40, 37, 5, true, 3});
        std::vector<std::int32_t> narrow(n * synth.row_size());
        std::vector<std::int64_t> labels(n);
        values.resize(narrow.size());
        synth.rows(0, n, narrow.data(), values.data(), labels.data());
        ids.assign(narrow.begin(), narrow.end());
        for (std::size_t r = 0; r <= n; ++r) starts.push_back(static_cast<std::int64_t>(r * synth.row_size()));
        for (std::size_t r = 0; r < n; ++r)
            classes.push_back(labels[r] > 0 ? (n_classes > 2 && r % 5 == 0 ? 2 : 1) : 0);
    }
    std::size_t n() const { return classes.size(); }
    CsrBatch<std::int64_t> batch() const { return {starts.data(), ids.data(), {values.data(), nullptr}, n()}; }
};

template <class S>
auto trained(Simd simd, bool in_two_halves, std::size_t n_classes,
             const typename S::LearnerType::Parameters& parameters, const DecoyOptions& decoys) {
    const Samples rows(400, n_classes);
    const typename S::Options options{50, {Norm::l2, true}, parameters, {}, {}, decoys};
    simd_choice() = simd;
    S selector(n_classes, options);
    Lesson lesson{{rows.classes.data()}};
    lesson.end = in_two_halves ? rows.n() / 2 : rows.n();
    CHECK(selector.learn(rows.batch(), 1000, lesson).kind == Fault::Kind::none);
    if (!in_two_halves) return selector.state();
    // As a model that was written to disk in between.
    S second(n_classes, options);
    second.restore(selector.state().view());
    lesson.begin = lesson.end, lesson.end = rows.n();
    CHECK(second.learn(rows.batch(), 1000, lesson).kind == Fault::Kind::none);
    return second.state();
}

// FNV-1a over all that learning depends on.
std::uint64_t digest(const State& state, std::size_t n_classes) {
    const std::size_t n_vectors = n_classes == 2 ? 1 : n_classes;
    std::uint64_t hash = 0xcbf29ce484222325u;
    auto add = [&](const void* data, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i)
            hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
    };
    // Class by class, and only what is not in its start state.
    const std::size_t width = state.intercept.size() / n_vectors, n_cells = state.ids.size() * n_vectors;
    const std::vector<float> blank(width, 0.0f);
    std::vector<std::size_t> touched;
    for (std::size_t i = 0; i < n_cells; ++i)
        if (std::memcmp(&state.cells[i * width], blank.data(), width * sizeof(float)) != 0) touched.push_back(i);
    for (const std::size_t i : touched) {
        const std::int64_t key =
            state.ids[i / n_vectors] * static_cast<std::int64_t>(n_vectors) + static_cast<std::int64_t>(i % n_vectors);
        add(&key, sizeof(key));
    }
    for (const std::size_t i : touched) add(&state.cells[i * width], width * sizeof(float));
    add(state.intercept.data(), state.intercept.size() * sizeof(float));
    // The last ones only count rows.
    add(&state.counters, offsetof(Counters, margins) + offsetof(MarginScale, n_rows));
    add(state.numbers.data(), state.numbers.size() * sizeof(double));
    add(state.predicting.ids.data(), state.predicting.ids.size() * sizeof(std::int64_t));
    add(state.predicting.cells.data(), state.predicting.cells.size() * sizeof(float));
    add(state.predicting.intercept.data(), state.predicting.intercept.size() * sizeof(float));
    add(state.decoys.ids.data(), state.decoys.ids.size() * sizeof(std::int64_t));
    add(state.decoys.cells.data(), state.decoys.cells.size() * sizeof(float));
    add(state.decoys.shown_ids.data(), state.decoys.shown_ids.size() * sizeof(std::int64_t));
    add(state.decoys.shown_values.data(), state.decoys.shown_values.size() * sizeof(float));
    return hash;
}

// The digest of a trained model, which must be the same on every SIMD path and in one go or two.
template <class S>
std::uint64_t common_digest(const char* name, std::size_t n_classes,
                            const typename S::LearnerType::Parameters& parameters, const DecoyOptions& decoys) {
    const std::uint64_t scalar = digest(trained<S>(Simd::scalar, false, n_classes, parameters, decoys), n_classes);
    std::printf("%-10s of %zu classes: %016llx\n", name, n_classes, static_cast<unsigned long long>(scalar));
    for (const Simd simd : {Simd::scalar, Simd::avx2, Simd::avx512}) {
        if (simd > best_simd()) continue;
        CHECK(digest(trained<S>(simd, false, n_classes, parameters, decoys), n_classes) == scalar);
        CHECK(digest(trained<S>(simd, true, n_classes, parameters, decoys), n_classes) == scalar);
    }
    return scalar;
}

template <Learner L, template <std::size_t, std::size_t> class Memory_>
void both(const char* name, const typename L::Parameters& parameters, std::uint64_t two, std::uint64_t many,
          const DecoyOptions& decoys = {}) {
    using OfTwo = Memory_<L::kWidth, 1>;
    using OfMany = Memory_<L::kWidth, std::dynamic_extent>;
    const std::uint64_t of_two = common_digest<TwoClassSelector<L, OfTwo>>(name, 2, parameters, decoys);
    const std::uint64_t of_many = common_digest<ManyClassSelector<L, OfMany>>(name, 3, parameters, decoys);
    CHECK(of_two == two);
    CHECK(of_many == many);
}

TEST(sofs_gives_its_bits) {
    both<Sofs<LazyHeap>, DenseMemory>("SOFS", {1.0}, 0xed63ac02dc07ee05u, 0xc75603a366b0c82bu);
}

TEST(shadow_sofs_gives_its_bits) {
    both<ShadowSofs<WatchedPool>, DenseMemory>("ShadowSOFS", {1.0}, 0x95f4f7dc1d5bac3du, 0xcb0f9bdd8ab7ca23u);
}

TEST(a_decoy_gives_its_bits) {
    using L = ShadowSofs<WatchedPool>;
    both<L, DenseMemory>("decoys", {1.0}, 0xeef0205ea777aa8cu, 0x0df9e2925e653b27u, {0.5});
    both<L, HashMemory>("decoys", {1.0}, 0xeef0205ea777aa8cu, 0x0df9e2925e653b27u, {0.5});
}

TEST(arow_gives_its_bits) {
    both<Arow<Unbounded>, DenseMemory>("AROW", {1.0}, 0x303f6295666eecbfu, 0xbfa592bcc33892eeu);
}

// The memory is not part of the result.
TEST(pet_gives_its_bits) {
    using L = Pet<WatchedPool>;
    both<L, DenseMemory>("PET", {1.0, Loss::perceptron}, 0x2cd6d23f29474c33u, 0x25c3c8332d79ba1bu);
    both<L, HashMemory>("PET", {1.0, Loss::perceptron}, 0x2cd6d23f29474c33u, 0x25c3c8332d79ba1bu);
}

TEST(fofs_gives_its_bits) {
    using L = Fofs<WatchedPool>;
    both<L, DenseMemory>("FOFS", {0.2, 0.3, Loss::hinge}, 0x06d141ea5e6eafb2u, 0x02d297083fc7a95cu);
    both<L, HashMemory>("FOFS", {0.2, 0.3, Loss::hinge}, 0x06d141ea5e6eafb2u, 0x02d297083fc7a95cu);
}

TEST(ogd_gives_its_bits) { both<Ogd<Unbounded>, DenseMemory>("OGD", {1.0}, 0x9b4cc5203207ec5bu, 0xe8ded57a89a7e319u); }

template <class S>
std::uint64_t digest_of_numbers(Simd simd, bool in_two_halves, const typename S::Options& options) {
    const Samples rows(400, 2);
    std::vector<double> numbers;
    for (std::size_t r = 0; r < rows.n(); ++r)
        numbers.push_back(1e3 + rows.classes[r] + 0.01 * static_cast<double>(r * r % 97));
    simd_choice() = simd;
    Lesson lesson{{.numbers = numbers.data()}};
    lesson.end = in_two_halves ? rows.n() / 2 : rows.n();
    S selector(2, options);
    CHECK(selector.learn(rows.batch(), 1000, lesson).kind == Fault::Kind::none);
    if (!in_two_halves) return digest(selector.state(), 2);
    S second(2, options);
    second.restore(selector.state().view());
    lesson.begin = lesson.end, lesson.end = rows.n();
    CHECK(second.learn(rows.batch(), 1000, lesson).kind == Fault::Kind::none);
    return digest(second.state(), 2);
}

TEST(shadow_sofs_of_numbers_gives_its_bits) {
    using L = ShadowSofs<WatchedPool, Squared>;
    const std::pair<DecoyOptions, std::uint64_t> cases[] = {{{}, 0x653569b2d7e822d8u}, {{0.5}, 0x341b14c21388d6ddu}};
    for (const auto& [decoys, bits] : cases)
        for (const Simd simd : {Simd::scalar, Simd::avx2, Simd::avx512})
            for (const bool in_two_halves : {false, true}) {
                if (simd > best_simd()) continue;
                using S = NumberSelector<L, DenseMemory<2>>;
                const std::uint64_t found =
                    digest_of_numbers<S>(simd, in_two_halves, {50, {Norm::mean, true}, {0.5}, {}, {}, decoys});
                if (simd == Simd::scalar && !in_two_halves)
                    std::printf("%-10s of numbers: %016llx\n", decoys.share > 0.0 ? "decoys" : "ShadowSOFS",
                                static_cast<unsigned long long>(found));
                CHECK(found == bits);
            }
}

using Shadow = TwoClassSelector<ShadowSofs<WatchedPool>, DenseMemory<2>>;

void learn_or_refit(Shadow& selector, const Samples& rows, bool is_refit) {
    Lesson lesson{{rows.classes.data()}};
    lesson.end = rows.n();
    if (is_refit) {
        selector.start_refit();
        selector.refit(rows.batch(), 1000, lesson);
    } else {
        CHECK(selector.learn(rows.batch(), 1000, lesson).kind == Fault::Kind::none);
    }
}

// A closing pass changes the predicting layer alone, and starts it again: twice is as good as once.
TEST(a_refit_leaves_the_selection_alone) {
    const Samples rows(400, 2);
    Shadow selector(2, {50, {Norm::l2, true}, {1.0}});
    learn_or_refit(selector, rows, false);
    const State before = selector.state();
    learn_or_refit(selector, rows, true);
    const State once = selector.state();
    CHECK(once.ids == before.ids && once.cells == before.cells && once.intercept == before.intercept);
    CHECK(std::memcmp(&once.counters, &before.counters, sizeof(Counters)) == 0);
    CHECK(once.predicting.ids == selector.member_ids() || once.predicting.ids.size() == 50);
    CHECK(once.predicting.cells != before.predicting.cells);
    learn_or_refit(selector, rows, true);
    CHECK(selector.state().predicting.cells == once.predicting.cells);
}

// In how many rows of the refit each member occurs; what was taken is not counted twice.
TEST(a_refit_counts_the_rows_of_its_members) {
    const Samples rows(400, 2);
    Shadow selector(2, {50, {Norm::l2, true}, {1.0}, {999}});
    learn_or_refit(selector, rows, false);
    CHECK(!selector.take_occurrences());
    learn_or_refit(selector, rows, true);
    const auto found = selector.take_occurrences();
    CHECK(found && found->ids.size() == 50 && !selector.take_occurrences());
    for (std::size_t k = 0; found && k < found->ids.size(); ++k)
        CHECK(found->n_rows[k] == std::count(rows.ids.begin(), rows.ids.end(), found->ids[k]));
    learn_or_refit(selector, rows, true);
    selector.end_refit(false);
    CHECK(!selector.take_occurrences());
}

// The sum that the score of a row of `n` values is: of its parts, in lanes by their places in the row, and the
// intercept's, either in the lane of the place behind them or after all.
double sum_of_parts(const std::vector<std::size_t>& places, const double* parts, std::size_t n, double intercept,
                    bool intercept_is_last) {
    LaneSum sum;
    for (std::size_t k = 0; k < places.size(); ++k) sum.lane[places[k] % kLanes] += parts[k];
    if (intercept_is_last) return sum.total() + intercept;
    sum.lane[n % kLanes] += intercept;
    return sum.total();
}

template <class S>
void check_parts(const typename S::LearnerType::Parameters& parameters, std::size_t n_classes, bool intercept_is_last) {
    const Samples rows(400, n_classes);
    S selector(n_classes, {50, {Norm::l2, true}, parameters});
    Lesson lesson{{rows.classes.data()}};
    lesson.end = rows.n();
    CHECK(selector.learn(rows.batch(), 1000, lesson).kind == Fault::Kind::none);
    const std::size_t n_vectors = selector.n_vectors();
    std::vector<double> scores(rows.n() * n_vectors);
    selector.score(rows.batch(), {0, rows.n()}, scores.data());
    const Parts found = selector.parts(rows.batch(), {0, rows.n()}, rows.classes.data());
    CHECK(found.starts.size() == rows.n() + 1);
    for (std::size_t r = 0; r < rows.n(); ++r) {
        const auto begin = static_cast<std::size_t>(found.starts[r]),
                   end = static_cast<std::size_t>(found.starts[r + 1]);
        const auto first = rows.ids.begin() + rows.starts[r], last = rows.ids.begin() + rows.starts[r + 1];
        std::vector<std::size_t> places;
        for (std::size_t k = begin; k < end; ++k)
            places.push_back(S::kPredictsApart
                                 ? k - begin
                                 : static_cast<std::size_t>(std::lower_bound(first, last, found.ids[k]) - first));
        const std::size_t n = S::kPredictsApart ? places.size() : static_cast<std::size_t>(last - first);
        const std::size_t c = n_vectors > 1 ? static_cast<std::size_t>(rows.classes[r]) : 0;
        const auto intercept = selector.intercept()[c];
        const double sum = sum_of_parts(places, found.parts.data() + begin, n, intercept, intercept_is_last);
        CHECK(sum == scores[r * n_vectors + c]);
    }
}

TEST(parts_add_up_to_the_score) {
    check_parts<Shadow>({1.0}, 2, false);
    check_parts<ManyClassSelector<ShadowSofs<WatchedPool>, DenseMemory<2, std::dynamic_extent>>>({1.0}, 3, false);
    check_parts<TwoClassSelector<Sofs<LazyHeap>, HashMemory<2>>>({1.0}, 2, false);
    check_parts<ManyClassSelector<Arow<Unbounded>, DenseMemory<2, std::dynamic_extent>>>({1.0}, 3, false);
    check_parts<TwoClassSelector<Pet<WatchedPool>, DenseMemory<2>>>({1.0, Loss::hinge}, 2, true);
    check_parts<ManyClassSelector<Ogd<Unbounded>, DenseMemory<1, std::dynamic_extent>>>({1.0}, 3, true);
}

TEST(members_are_in_the_order_of_their_ranks) {
    const Samples rows(400, 2);
    TwoClassSelector<Fofs<WatchedPool>, DenseMemory<2>> selector(2, {50, {Norm::l2, true}, {0.2, 0.01, Loss::hinge}});
    Lesson lesson{{rows.classes.data()}};
    lesson.end = rows.n();
    selector.learn(rows.batch(), 1000, lesson);
    const Ranking members = selector.members();
    const std::vector<float> ranks = selector.ranks(members.ids);
    for (std::size_t k = 0; k < ranks.size(); ++k)
        CHECK(ranks[k] == std::fabs(members.weights[k]) && (k == 0 || ranks[k] <= ranks[k - 1]));
}

// Every feature enters with its first row and is worth nothing after its second, of the other class: all are members
// once. A predicting layer that knew all of them would take memory without end.
TEST(beside_a_sketch_the_predicting_layer_forgets) {
    using S = TwoClassSelector<ShadowSofs<WatchedPool>, SketchMemory<SignedTable>>;
    S selector(2, {2, {Norm::none, false}, {1.0}, {}, {MemoryKind::automatic, 1 << 16}});
    std::size_t most_known = 0;
    for (std::int64_t id = 0; id < 10'000; ++id) {
        const std::int64_t starts[] = {0, 1};
        const float value = 1.0f;
        for (const std::int32_t code : {1, 0}) {
            Lesson lesson{{&code}};
            lesson.end = 1;
            selector.learn(CsrBatch<std::int64_t>{starts, &id, {&value, nullptr}, 1}, 1 << 20, lesson);
        }
        if (id % 500 != 499) continue;
        most_known = std::max(most_known, selector.state().predicting.ids.size());
    }
    CHECK(most_known > 3000 && most_known <= 4096);
}

template <class S>
std::string refusal(S&& selector, const State& state) {
    try {
        selector.restore(state.view());
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(states_that_do_not_fit_are_refused) {
    using S = TwoClassSelector<Fofs<WatchedPool>, HashMemory<2>>;
    const S::Options options{2, {Norm::l2, true}, {0.2, 0.3, Loss::hinge}};
    CHECK(refusal(S(2, options), {}) == "intercept has the wrong size: 2");
    const State good{{3, 7}, {1.0f, 1.0f, 2.0f, 1.0f}, {0.5f, 1.0f}, {}, {0.5, 5.0}};
    CHECK(refusal(S(2, options), good).empty());
    State bad = good;
    bad.cells.pop_back();
    CHECK(refusal(S(2, options), bad) == "cells has the wrong size: 2 per id");
    bad = good, bad.numbers = {1.0};
    CHECK(refusal(S(2, options), bad) == "the learner keeps 2 numbers");
    bad = good, bad.numbers = {0.0, 1.0};
    CHECK(refusal(S(2, options), bad) == "the learner's scale is out of range");
    bad = good, bad.numbers = {1.0, -1.0};
    CHECK(refusal(S(2, options), bad) == "the learner's sum_of_squares is out of range");
    bad = good, bad.ids.push_back(9), bad.cells.insert(bad.cells.end(), {1.0f, 1.0f});
    CHECK(refusal(S(2, options), bad) == "it has 3 members, more than its budget of 2");
}

}  // namespace
