// The learners as Python sees them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/readers/text.hpp"
#include "thresher/selector.hpp"

namespace thresher::python {
namespace {

template <class T>
void check_size(const char* what, const std::optional<Array<const T>>& array, std::size_t n) {
    if (array && array->size() != n) throw nb::value_error((std::string(what) + " must have one entry a row").c_str());
}

constexpr std::array<std::pair<const char*, std::uint64_t Counters::*>, 6> kCounters{{
    {"n_samples", &Counters::n_samples},
    {"n_updates", &Counters::n_updates},
    {"n_mistakes", &Counters::n_mistakes},
    {"n_undecided_first", &Counters::n_undecided_first},
    {"n_undecided_second", &Counters::n_undecided_second},
    {"n_saturated", &Counters::n_saturated},
}};

// As float64, exact up to 2^53: the counts in the order above, then the loss.
std::vector<double> as_numbers(const Counters& counters) {
    std::vector<double> out;
    for (const auto& [name, counter] : kCounters) out.push_back(static_cast<double>(counters.*counter));
    out.push_back(counters.loss);
    return out;
}

Counters from_numbers(const double* numbers) {
    Counters counters;
    for (const auto& [name, counter] : kCounters) counters.*counter = static_cast<std::uint64_t>(*numbers++);
    counters.loss = *numbers;
    return counters;
}

// The Python face of a selector; the same for every learner.
template <class Learner, class Memory, class... Make>
void bind_selector(nb::module_& m, const char* name, Make&&... make) {
    using S = Selector<Learner, Memory>;
    constexpr std::size_t width = Learner::kWidth;

    nb::class_<S>(m, name)
        .def(std::forward<Make>(make)...)
        .def("reserve", &S::reserve, "n_features"_a, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "learn",
            [](S& self, const Batch& batch, Array<const std::int32_t> classes,
               std::optional<Array<const double>> importances, std::optional<Array<const std::int64_t>> order,
               std::size_t begin, std::size_t end, bool check) {
                batch.check_rows(begin, end);
                check_size<std::int32_t>("classes", classes, batch.n_rows());
                check_size("importances", importances, batch.n_rows());
                check_size("order", order, batch.n_rows());
                if (!check) batch.demand_trust();
                Lesson lesson{classes.data(),
                              importances ? importances->data() : nullptr,
                              order ? order->data() : nullptr,
                              begin,
                              end,
                              check};
                Fault fault;
                {
                    nb::gil_scoped_release release;
                    if (order)
                        for (std::size_t k = begin; k < end; ++k)
                            if (static_cast<std::uint64_t>(lesson.order[k]) >= batch.n_rows())
                                throw std::out_of_range("order names a row that the batch does not have");
                    fault = batch.visit([&](const auto& csr) { return self.learn(csr, batch.n_features(), lesson); });
                }
                return describe(fault);
            },
            "batch"_a, "classes"_a, "importances"_a.none(), "order"_a.none(), "begin"_a, "end"_a, "check"_a)
        .def(
            "score",
            [](S& self, const Batch& batch, std::size_t begin, std::size_t end, bool with_variance) {
                batch.check_rows(begin, end);
                batch.demand_trust();
                std::vector<double> margins(end - begin), variances(with_variance ? end - begin : 0);
                {
                    nb::gil_scoped_release release;
                    batch.visit([&](const auto& csr) {
                        self.score(csr, begin, end, margins.data(), with_variance ? variances.data() : nullptr);
                    });
                }
                return nb::make_tuple(new_array(std::move(margins)), new_array(std::move(variances)));
            },
            "batch"_a, "begin"_a, "end"_a, "with_variance"_a)
        .def("swap_classes", &S::swap_classes, nb::call_guard<nb::gil_scoped_release>())
        .def("members",
             [](const S& self) {
                 auto members = self.members();
                 return nb::make_tuple(new_array(std::move(members.ids)), new_array(std::move(members.weights)));
             })
        .def_prop_ro("intercept", &S::intercept)
        .def_prop_ro("n_sifts", &S::n_sifts)
        .def_prop_ro("counters",
                     [](const S& self) {
                         const Counters counters = self.counters();
                         nb::dict out;
                         for (const auto& [name, counter] : kCounters) out[name] = counters.*counter;
                         out["loss"] = counters.loss;
                         return out;
                     })
        .def("state",
             [](const S& self) {
                 typename S::State state;
                 {
                     nb::gil_scoped_release release;
                     state = self.state();
                 }
                 std::vector<float> cells(state.cells.size() * width), intercept(width);
                 if (!cells.empty()) std::memcpy(cells.data(), state.cells.data(), cells.size() * sizeof(float));
                 std::memcpy(intercept.data(), &state.intercept, sizeof(state.intercept));
                 return nb::make_tuple(new_array(std::move(state.ids)), new_array(std::move(cells)),
                                       new_array(std::move(intercept)), new_array(as_numbers(state.counters)));
             })
        .def(
            "restore",
            [](S& self, Array<const std::int64_t> ids, Array<const float> cells, Array<const float> intercept,
               Array<const double> counters) {
                if (cells.size() != ids.size() * width || intercept.size() != width ||
                    counters.size() != kCounters.size() + 1)
                    throw nb::value_error("the saved state has arrays of the wrong size");
                for (std::size_t i = 0; i < ids.size(); ++i)
                    if (ids.data()[i] < 0 || ids.data()[i] >= static_cast<std::int64_t>(kIdLimit) ||
                        (i > 0 && ids.data()[i] <= ids.data()[i - 1]))
                        throw nb::value_error("the saved ids must be ascending and in range");
                typename S::State state;
                state.ids.assign(ids.data(), ids.data() + ids.size());
                state.cells.resize(ids.size());
                if (!state.cells.empty()) std::memcpy(state.cells.data(), cells.data(), cells.size() * sizeof(float));
                std::memcpy(&state.intercept, intercept.data(), sizeof(state.intercept));
                state.counters = from_numbers(counters.data());
                nb::gil_scoped_release release;
                self.restore(state);
            },
            "ids"_a, "cells"_a, "intercept"_a, "counters"_a);
}

template <class Learner>
void bind_second_order(nb::module_& m, const char* name) {
    using S = Selector<Learner, DenseMemory<Learner::kWidth>>;
    bind_selector<Learner, DenseMemory<Learner::kWidth>>(
        m, name, "__init__",
        [](S* self, std::uint64_t budget, const std::string& norm, bool fit_intercept, double gamma) {
            if (budget == 0) throw nb::value_error("budget must be at least 1");
            new (self) S({budget, norm_by_name(norm), fit_intercept, {gamma}});
        },
        "budget"_a, "norm"_a, "fit_intercept"_a, "gamma"_a);
}

}  // namespace

void bind_selectors(nb::module_& m) {
    bind_second_order<Sofs>(m, "Sofs");
    bind_second_order<ShadowSofs>(m, "ShadowSofs");
}

}  // namespace thresher::python
