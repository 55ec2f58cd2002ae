// How the selectors of a learner are made. What they do once they are there is the same for all: selectors.cpp.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "thresher/concepts.hpp"
#include "thresher/memory/adaptive.hpp"
#include "thresher/memory/sketch.hpp"
#include "thresher/selector/many.hpp"
#include "thresher/selector/merging.hpp"
#include "thresher/selector/number.hpp"
#include "thresher/selector/selector.hpp"
#include "thresher/selector/two.hpp"

namespace thresher::python {

// The features to keep, checked.
std::vector<std::int64_t> features_to_keep(const std::optional<Array<const std::int64_t>>& keep, std::uint64_t budget);

MemoryKind memory_by_name(const std::string& name);

// What two groups of shards have changed, as dicts, added up by `add`.
nb::dict added(const nb::dict& a, const nb::dict& b, Changes (*add)(const Changes&, const Changes&));

// The parameters of a method, by their names in its table; a learner takes its own from them (`Parameters::from`).
struct Given {
    const nb::dict& values;

    double number(const char* name) const { return nb::cast<double>(values[name]); }
    std::string word(const char* name) const { return nb::cast<std::string>(values[name]); }
};

template <class S>
nb::class_<S, Selector> bind_selector(nb::module_& m, const char* name) {
    return nb::class_<S, Selector>(m, name)
        .def(
            "__init__",
            [](S* self, std::size_t n_classes, std::uint64_t budget, const std::string& norm, bool fit_intercept,
               const nb::dict& parameters, const std::optional<Array<const std::int64_t>>& keep,
               const std::string& memory, std::size_t memory_bytes, double decoy_share, std::int64_t decoys_below) {
                if (n_classes < S::kLeastClasses) throw nb::value_error("n_classes is too small for this selector");
                if (budget == 0) throw nb::value_error("budget must be at least 1");
                if (!(decoy_share >= 0.0 && decoy_share <= 1.0)) throw nb::value_error("decoy_share is out of range");
                new (self) S(n_classes, {budget,
                                         {norm_by_name(norm), fit_intercept},
                                         S::LearnerType::Parameters::from(Given{parameters}),
                                         features_to_keep(keep, budget),
                                         {memory_by_name(memory), memory_bytes},
                                         {decoy_share, decoys_below}});
            },
            "n_classes"_a, "budget"_a, "norm"_a, "fit_intercept"_a, "parameters"_a, "keep"_a = nb::none(),
            "memory"_a = "auto", "memory_bytes"_a = 0, "decoy_share"_a = 0.0, "decoys_below"_a = 0)
        .def_static(
            "added",
            [](const nb::dict& a, const nb::dict& b) {
                return added(a, b, &thresher::added<typename S::LearnerType, typename S::MemoryType>);
            },
            "a"_a, "b"_a);
}

template <Learner L, MemoryFor<L> OfTwo, MemoryFor<L> OfMany>
void bind_learner(nb::module_& m, const char* two, const char* many) {
    using Two = TwoClassSelector<L, OfTwo>;
    bind_selector<Two>(m, two).def("swap_classes", &Two::swap_classes, nb::call_guard<nb::gil_scoped_release>());
    bind_selector<ManyClassSelector<L, OfMany>>(m, many);
}

// A learner of numbers.
template <Learner L>
void bind_learner_of_numbers(nb::module_& m, const char* name, const char* with_sketch) {
    bind_selector<NumberSelector<L, AdaptiveMemory<L::kWidth>>>(m, name);
    bind_selector<NumberSelector<L, SketchMemory<SignedTable>>>(m, with_sketch);
}

// A learner whose memory is dense, a hash table, or the one that suits.
template <Learner L>
void bind_adaptive(nb::module_& m, const char* two, const char* many) {
    using OfTwo = AdaptiveMemory<L::kWidth>;
    using OfMany = AdaptiveMemory<L::kWidth, std::dynamic_extent>;
    bind_learner<L, OfTwo, OfMany>(m, two, many);
}

}  // namespace thresher::python
