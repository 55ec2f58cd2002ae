// Work, counted in instructions: run under callgrind, it learns a little of X1 with the learner that it is told, or
// reads as much as text. The count is the same on every run, so a slip in complexity or in the hot loop shows at once.
//
//   valgrind --tool=callgrind instructions sofs
//
// Without an argument it prints the number of nonzeros, to divide by. tests/system/instructions.py has the limits.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "thresher/learners/arow.hpp"
#include "thresher/learners/fofs.hpp"
#include "thresher/learners/ogd.hpp"
#include "thresher/learners/pet.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/selector.hpp"
#include "thresher/synth.hpp"
#include "thresher/writers/svmlight.hpp"

using namespace thresher;

namespace {

constexpr std::size_t kRows = 500;

struct Data {
    std::vector<std::int32_t> starts, ids, classes;
    std::vector<float> values;
    CsrBatch<std::int32_t> batch() const { return {starts.data(), ids.data(), {values.data(), nullptr}, kRows}; }
};

Data x1() {
    const Synth synth({20'000, 200, 400, 0, true, 1});
    Data data;
    data.ids.resize(kRows * synth.row_size());
    data.values.resize(data.ids.size());
    std::vector<std::int64_t> labels(kRows);
    synth.rows(0, kRows, data.ids.data(), data.values.data(), labels.data());
    for (std::size_t r = 0; r <= kRows; ++r) data.starts.push_back(static_cast<std::int32_t>(r * synth.row_size()));
    for (const std::int64_t label : labels) data.classes.push_back(label > 0);
    return data;
}

template <class Learner, class Memory>
void learn(const Data& data, const typename Learner::Parameters& parameters) {
    Selector<Learner, Memory> selector(2, {200, {Norm::l2, false}, parameters});
    Lesson lesson{data.classes.data()};
    lesson.end = kRows;
    selector.learn(data.batch(), 20'000, lesson);
}

}  // namespace

int main(int n_arguments, char** arguments) {
    const Data data = x1();
    const std::string what = n_arguments > 1 ? arguments[1] : "";
    simd_choice() = Simd::scalar;  // what callgrind knows on every machine
    if (what == "sofs") learn<Sofs, DenseMemory<2>>(data, {1.0});
    if (what == "shadow_sofs") learn<ShadowSofs, DenseMemory<2>>(data, {1.0});
    if (what == "arow") learn<Arow, DenseMemory<2>>(data, {1.0});
    if (what == "pet") learn<Pet, HashMemory<2>>(data, {1.0, Loss::perceptron});
    if (what == "fofs") learn<Fofs, HashMemory<2>>(data, {0.2, 0.01, Loss::hinge});
    if (what == "ogd") learn<Ogd, DenseMemory<1>>(data, {1.0});
    const std::string text = write_svmlight(data.batch(), 1, [](std::size_t) { return std::string_view("1"); });
    if (what == "svmlight" && read_svmlight<std::int32_t>(text, false).n_rows() != kRows) return 1;
    if (what.empty()) std::printf("%zu\n", data.ids.size());
    return 0;
}
