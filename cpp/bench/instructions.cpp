// Work, counted in instructions. Run under callgrind, it learns a small X1 with the named learner, or reads it as text
// with the named reader. The count is the same on every run (within a thousandth where ids are found by a hash that is
// keyed by a secret), so a slower hot loop or a worse complexity shows at once.
//
//   valgrind --tool=callgrind instructions sofs [ROWS]
//
// Without an argument it prints the number of nonzeros, to divide by; with ROWS the readers are left out.
// tests/system/instructions.py has the limits.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/learners/arow.hpp"
#include "thresher/learners/fofs.hpp"
#include "thresher/learners/ogd.hpp"
#include "thresher/learners/pet.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/members/lazy_heap.hpp"
#include "thresher/members/unbounded.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/adaptive.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/memory/sketch.hpp"
#include "thresher/names/naming.hpp"
#include "thresher/readers/json_lines.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/readers/vw.hpp"
#include "thresher/selector/two.hpp"
#include "thresher/synth.hpp"
#include "thresher/writers/svmlight.hpp"

using namespace thresher;

namespace {

struct Data {
    std::vector<std::int32_t> starts, ids, classes;
    std::vector<float> values;
    std::size_t n_rows() const { return classes.size(); }
    CsrBatch<std::int32_t> batch() const { return {starts.data(), ids.data(), {values.data(), nullptr}, n_rows()}; }
};

Data x1(std::size_t n_rows) {
    const Synth synth({20'000, 200, 400, 0, true, 1});
    Data data;
    data.ids.resize(n_rows * synth.row_size());
    data.values.resize(data.ids.size());
    std::vector<std::int64_t> labels(n_rows);
    synth.rows(0, n_rows, data.ids.data(), data.values.data(), labels.data());
    for (std::size_t r = 0; r <= n_rows; ++r) data.starts.push_back(static_cast<std::int32_t>(r * synth.row_size()));
    for (const std::int64_t label : labels) data.classes.push_back(label > 0);
    return data;
}

// The rows as text, a word for each nonzero.
std::string words(const Data& data, std::string_view begin, std::string_view end) {
    std::string text;
    for (std::size_t r = 0; r < data.n_rows(); ++r) {
        text += begin;
        for (auto i = data.starts[r]; i < data.starts[r + 1]; ++i)
            text += " Word" + std::to_string(data.ids[static_cast<std::size_t>(i)]);
        text += end;
    }
    return text;
}

template <Learner L, MemoryFor<L> M>
void learn(const Data& data, const typename L::Parameters& parameters, bool fit_intercept = false) {
    TwoClassSelector<L, M> selector(2, {200, {Norm::l2, fit_intercept}, parameters, {}, {MemoryKind::dense, 1 << 20}});
    Lesson lesson{{data.classes.data()}};
    lesson.end = data.n_rows();
    selector.learn(data.batch(), 20'000, lesson);
}

}  // namespace

int main(int n_arguments, char** arguments) {
    const std::string what = n_arguments > 1 ? arguments[1] : "";
    const Data data = x1(n_arguments > 2 ? std::stoul(arguments[2]) : 500);
    simd_choice() = Simd::scalar;  // the one that callgrind supports on every machine
    if (what == "sofs") learn<Sofs<LazyHeap>, AdaptiveMemory<2>>(data, {1.0});
    if (what == "sofs_hash") learn<Sofs<LazyHeap>, HashMemory<2>>(data, {1.0});
    if (what == "sofs_sketch") learn<Sofs<LazyHeap>, SketchMemory<CountMinTable>>(data, {1.0});
    if (what == "shadow_sketch") learn<ShadowSofs<WatchedPool>, SketchMemory<SignedTable>>(data, {1.0});
    if (what == "shadow_sofs") learn<ShadowSofs<WatchedPool>, AdaptiveMemory<2>>(data, {1.0});
    if (what == "shadow_intercept") learn<ShadowSofs<WatchedPool>, AdaptiveMemory<2>>(data, {1.0}, true);
    if (what == "arow") learn<Arow<Unbounded>, AdaptiveMemory<2>>(data, {1.0});
    if (what == "pet") learn<Pet<WatchedPool>, HashMemory<2>>(data, {1.0, Loss::perceptron});
    if (what == "fofs") learn<Fofs<WatchedPool>, HashMemory<2>>(data, {0.2, 0.01, Loss::hinge});
    if (what == "ogd") learn<Ogd<Unbounded>, AdaptiveMemory<1>>(data, {1.0});
    if (n_arguments > 2) return 0;
    const std::string text = write_svmlight(data.batch(), 1, [](std::size_t) { return std::string_view("1"); });
    if (what == "svmlight" && read_svmlight<std::int32_t>(text, false).n_rows() != data.n_rows()) return 1;
    const std::string vw = write_svmlight(data.batch(), 1, [](std::size_t) { return std::string_view("1 |"); });
    if (what == "vw" && read_vw<std::int32_t>(vw, false).n_rows() != data.n_rows()) return 1;
    const std::string json = words(data, "{\"label\": 1, \"text\": \"", "\"}\n"), named = words(data, "1 |", "\n");
    const Naming naming({{"text", ColumnKind::text}}, {1, 2});
    if (what == "json_2grams" && JsonLines(naming, {"label", ""}).read(json, false).n_rows() != data.n_rows()) return 1;
    if (what == "vw_names" && read_named_vw(named, false, Labels::required, false).n_rows() != data.n_rows()) return 1;
    if (what.empty()) std::printf("%zu\n", data.ids.size());
    return 0;
}
