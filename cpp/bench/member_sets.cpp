// What it costs to keep the lowest member exact: ShadowSOFS with WatchedPool, which ships, and with each alternative.
//
//   member_sets ROWS ROUNDS [FILE.svm BUDGET]…
//
// Learns X1 of so many rows, plain and permuted, at several budgets, and the rows of svmlight files if there are any,
// shuffled. Learner and selector are the library's own; only the member set differs. All sets must lead to the same
// members and weights, bit for bit; if not, the program says which one does not and exits with 1. Prints one Markdown
// table for each run: the least of several, interleaved.
#include "member_sets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/selector/two.hpp"
#include "thresher/synth.hpp"

using namespace thresher;
using namespace thresher::bench;

namespace {

template <MemberSet Set>
using SelectorWith = TwoClassSelector<ShadowSofs<Set>, DenseMemory<2>>;
using Contenders = std::tuple<Shipped, PooledHeap, FullScan, FlatRanks, BoundHeap, Tournament, EagerHeap>;

// Rows of unit length, so that no time goes into scaling.
struct Data {
    std::string name;
    std::vector<std::int32_t> starts, ids, classes;
    std::vector<float> values;
    std::int64_t n_features = 0;

    std::size_t n_rows() const { return classes.size(); }
    CsrBatch<std::int32_t> batch() const { return {starts.data(), ids.data(), {values.data(), nullptr}, n_rows()}; }

    void scale_rows() {
        for (std::size_t r = 0; r < n_rows(); ++r) {
            double squares = 0.0;
            const auto begin = static_cast<std::size_t>(starts[r]), end = static_cast<std::size_t>(starts[r + 1]);
            for (std::size_t i = begin; i < end; ++i) squares += static_cast<double>(values[i]) * values[i];
            for (std::size_t i = begin; i < end; ++i)
                values[i] = static_cast<float>(values[i] / std::max(std::sqrt(squares), 1e-30));
        }
    }
};

Data x1(std::size_t n_rows, bool permute) {
    Data data;
    data.name = permute ? "X1, ids permuted" : "X1";
    data.n_features = 20'000;
    const Synth synth({data.n_features, 200, 400, 0, permute, 0});
    data.ids.resize(n_rows * synth.row_size());
    data.values.resize(n_rows * synth.row_size());
    std::vector<std::int64_t> labels(n_rows);
    synth.rows(0, n_rows, data.ids.data(), data.values.data(), labels.data());
    for (std::size_t r = 0; r <= n_rows; ++r) data.starts.push_back(static_cast<std::int32_t>(r * synth.row_size()));
    for (const std::int64_t label : labels) data.classes.push_back(label > 0);
    data.scale_rows();
    return data;
}

Data from_file(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const ParsedText<std::int32_t> rows = read_svmlight<std::int32_t>(text.str(), false);
    if (rows.n_rows() == 0 || !rows.bad.empty()) {
        std::fprintf(stderr, "%s: no rows of svmlight text\n", path.c_str());
        std::exit(1);
    }
    Data data;
    data.name = path.substr(path.find_last_of('/') + 1);
    data.name = data.name.substr(0, data.name.find('.'));
    data.n_features = rows.largest_id + 1;
    std::vector<std::size_t> order(rows.n_rows());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(0));
    data.starts.push_back(0);
    for (const std::size_t r : order) {
        const std::int32_t begin = rows.starts.data()[r], end = rows.starts.data()[r + 1];
        data.ids.insert(data.ids.end(), rows.ids.data() + begin, rows.ids.data() + end);
        data.values.insert(data.values.end(), rows.values.data() + begin, rows.values.data() + end);
        data.starts.push_back(static_cast<std::int32_t>(data.ids.size()));
        data.classes.push_back(rows.labels.data()[r] > 0.0);
    }
    data.scale_rows();
    return data;
}

// CPU time: the work is one thread's, and waits for nothing.
double seconds_of(auto work) {
    const std::clock_t started = std::clock();
    work();
    return static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
}

template <class S>
typename S::Options options(std::uint64_t budget) {
    return {budget, {Norm::none, false}, {1.0}};
}

void learn(auto& selector, const Data& data) {
    selector.learn(data.batch(), data.n_features, {data.classes.data(), nullptr, nullptr, 0, data.n_rows(), false});
}

struct Line {
    const char* name = "";
    double seconds = std::numeric_limits<double>::infinity();
    std::uint64_t n_looks = 0;
};

// Slow ones are not worth a second run.
constexpr double kPatience = 2.0;

template <MemberSet Set>
void measure(const Data& data, std::uint64_t budget, const State& expected, Line& line) {
    if (budget > Set::kLargestBudget || (line.n_looks > 0 && line.seconds > kPatience)) return;
    using S = SelectorWith<Set>;
    S selector(2, options<S>(budget));
    selector.reserve(data.n_features);
    line.name = Set::kName;
    line.seconds = std::min(line.seconds, seconds_of([&] { learn(selector, data); }));
    line.n_looks = selector.n_looks();
    const State state = selector.state();
    if (state.ids != expected.ids || state.cells != expected.cells) {
        std::fprintf(stderr, "%s, B = %llu: \"%s\" gives other members or weights\n", data.name.c_str(),
                     static_cast<unsigned long long>(budget), Set::kName);
        std::exit(1);
    }
}

void compare(const Data& data, std::uint64_t budget, int rounds) {
    Counting::counts() = {};
    using S = SelectorWith<Counting>;
    S counted(2, options<S>(budget));
    learn(counted, data);
    const State expected = counted.state();

    std::vector<Line> lines(std::tuple_size_v<Contenders>);
    for (int round = 0; round < rounds; ++round)
        [&]<class... Set>(std::tuple<Set...>*) {
            std::size_t k = 0;
            (measure<Set>(data, budget, expected, lines[k++]), ...);
        }(static_cast<Contenders*>(nullptr));

    const double n_nonzeros = static_cast<double>(data.ids.size());
    std::printf("## %s, B = %llu\n\n", data.name.c_str(), static_cast<unsigned long long>(budget));
    std::printf("%zu rows, %.1fM nonzeros; rows touched members %.2fM times; %llu entered.\n\n", data.n_rows(),
                n_nonzeros / 1e6, static_cast<double>(Counting::counts().n_touched_members) / 1e6,
                static_cast<unsigned long long>(Counting::counts().n_entered));
    std::printf("| | ns per nonzero | × what ships | looks |\n|---|---|---|---|\n");
    for (const Line& line : lines)
        if (line.n_looks > 0)
            std::printf("| %s | %.2f | %.2f | %.3fM |\n", line.name, line.seconds / n_nonzeros * 1e9,
                        line.seconds / lines[0].seconds, static_cast<double>(line.n_looks) / 1e6);
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: member_sets ROWS ROUNDS [FILE.svm BUDGET]...\n");
        return 2;
    }
    const auto n_rows = static_cast<std::size_t>(std::atoll(argv[1]));
    const int rounds = std::atoi(argv[2]);
    for (const bool permute : {false, true}) {
        if (n_rows == 0) break;
        const Data data = x1(n_rows, permute);
        compare(data, 200, rounds);
        if (permute) continue;
        compare(data, 10, rounds);
        compare(data, 2'000, rounds);
    }
    for (int k = 3; k + 1 < argc; k += 2)
        compare(from_file(argv[k]), static_cast<std::uint64_t>(std::atoll(argv[k + 1])), rounds);
    return 0;
}
