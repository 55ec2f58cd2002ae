// A selector as Python sees it: the same for every learner.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "thresher/many_selector.hpp"
#include "thresher/readers/text.hpp"
#include "thresher/selector.hpp"

namespace thresher::python {

template <class T>
void check_size(const char* what, const std::optional<Array<const T>>& array, std::size_t n) {
    if (array && array->size() != n) throw nb::value_error((std::string(what) + " must have one entry a row").c_str());
}

inline constexpr std::array<std::pair<const char*, std::uint64_t Counters::*>, 6> kCounters{{
    {"n_samples", &Counters::n_samples},
    {"n_updates", &Counters::n_updates},
    {"n_mistakes", &Counters::n_mistakes},
    {"n_undecided_first", &Counters::n_undecided_first},
    {"n_undecided_second", &Counters::n_undecided_second},
    {"n_saturated", &Counters::n_saturated},
}};

// As float64, exact up to 2^53: the counts in the order above, the loss, then what the learner keeps.
template <class Cell>
std::vector<double> as_numbers(const State<Cell>& state) {
    std::vector<double> out;
    for (const auto& [name, counter] : kCounters) out.push_back(static_cast<double>(state.counters.*counter));
    out.push_back(state.counters.loss);
    out.insert(out.end(), state.scalars.begin(), state.scalars.end());
    return out;
}

template <class Cell>
void take_numbers(State<Cell>& state, const Array<const double>& numbers) {
    if (numbers.size() <= kCounters.size()) throw nb::value_error("the saved state has arrays of the wrong size");
    const double* next = numbers.data();
    for (const auto& [name, counter] : kCounters) state.counters.*counter = static_cast<std::uint64_t>(*next++);
    state.counters.loss = *next++;
    state.scalars.assign(next, numbers.data() + numbers.size());
}

template <class Cell>
NewArray<float> flattened(const std::vector<Cell>& cells) {
    std::vector<float> out;
    for (const Cell& cell : cells) out.insert(out.end(), cell.begin(), cell.end());
    return new_array(std::move(out));
}

template <class Cell>
std::vector<Cell> in_cells(const Array<const float>& numbers) {
    std::vector<Cell> cells(numbers.size() / std::tuple_size_v<Cell>);
    if (!cells.empty()) std::memcpy(cells.data(), numbers.data(), cells.size() * sizeof(Cell));
    return cells;
}

// The face of a selector, for two classes as for many. `parameters_from` makes a learner's own parameters of a dict.
template <class S, class ParametersFrom>
nb::class_<S> bind_selector(nb::module_& m, const char* name, ParametersFrom parameters_from) {
    using Cell = typename S::Cell;
    constexpr std::size_t width = S::Learner::kWidth;

    return nb::class_<S>(m, name)
        .def(
            "__init__",
            [parameters_from](S* self, std::size_t n_classes, std::uint64_t budget, const std::string& norm,
                              bool fit_intercept, const nb::dict& parameters) {
                if (n_classes < S::kLeastClasses) throw nb::value_error("n_classes is too small for this selector");
                if (budget == 0) throw nb::value_error("budget must be at least 1");
                new (self) S(n_classes, {budget, {norm_by_name(norm), fit_intercept}, parameters_from(parameters)});
            },
            "n_classes"_a, "budget"_a, "norm"_a, "fit_intercept"_a, "parameters"_a)
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
                    const auto n_classes = static_cast<std::uint32_t>(std::max<std::size_t>(2, self.n_vectors()));
                    for (std::size_t k = begin; k < end; ++k) {
                        if (order && static_cast<std::uint64_t>(lesson.order[k]) >= batch.n_rows())
                            throw std::out_of_range("order names a row that the batch does not have");
                        const std::size_t r = order ? static_cast<std::size_t>(lesson.order[k]) : k;
                        if (static_cast<std::uint32_t>(lesson.classes[r]) >= n_classes)
                            throw std::out_of_range("classes holds a class that there is not");
                    }
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
                const std::size_t n = (end - begin) * self.n_vectors();
                std::vector<double> margins(n), variances(with_variance ? n : 0);
                {
                    nb::gil_scoped_release release;
                    batch.visit([&](const auto& csr) {
                        self.score(csr, begin, end, margins.data(), with_variance ? variances.data() : nullptr);
                    });
                }
                return nb::make_tuple(new_array(std::move(margins)), new_array(std::move(variances)));
            },
            "batch"_a, "begin"_a, "end"_a, "with_variance"_a)
        .def("members",
             [](const S& self) {
                 Ranking members;
                 {
                     nb::gil_scoped_release release;
                     members = self.members();
                 }
                 return nb::make_tuple(new_array(std::move(members.ids)), new_array(std::move(members.weights)));
             })
        .def_prop_ro(
            "intercept", [](const S& self) { return new_array(self.intercept()); }, nb::rv_policy::move)
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
                 State<Cell> state;
                 {
                     nb::gil_scoped_release release;
                     state = self.state();
                 }
                 return nb::make_tuple(new_array(std::move(state.keys)), flattened(state.cells),
                                       flattened(state.intercept), new_array(as_numbers(state)));
             })
        .def(
            "restore",
            [](S& self, Array<const std::int64_t> keys, Array<const float> cells, Array<const float> intercept,
               Array<const double> numbers) {
                if (cells.size() != keys.size() * width || intercept.size() % width != 0)
                    throw nb::value_error("the saved state has arrays of the wrong size");
                for (std::size_t i = 0; i < keys.size(); ++i)
                    if (keys.data()[i] < 0 || keys.data()[i] >= static_cast<std::int64_t>(kIdLimit) ||
                        (i > 0 && keys.data()[i] <= keys.data()[i - 1]))
                        throw nb::value_error("the saved ids must be ascending and in range");
                State<Cell> state;
                state.keys.assign(keys.data(), keys.data() + keys.size());
                state.cells = in_cells<Cell>(cells);
                state.intercept = in_cells<Cell>(intercept);
                take_numbers(state, numbers);
                nb::gil_scoped_release release;
                self.restore(state);
            },
            "keys"_a, "cells"_a, "intercept"_a, "numbers"_a);
}

template <class Learner, class Memory, class ParametersFrom>
void bind_learner(nb::module_& m, const char* two, const char* many, ParametersFrom parameters_from) {
    using Two = Selector<Learner, Memory>;
    bind_selector<Two>(m, two, parameters_from)
        .def("swap_classes", &Two::swap_classes, nb::call_guard<nb::gil_scoped_release>());
    bind_selector<ManySelector<Learner, Memory>>(m, many, parameters_from);
}

}  // namespace thresher::python
