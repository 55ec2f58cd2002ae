// The linear scorer as Python sees it: it predicts as a selector does.
#include "thresher/linear_scorer.hpp"

#include <nanobind/stl/string.h>

#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace thresher::python {
namespace {

std::vector<double> as_doubles(const AnyArray& numbers) {
    const std::size_t n = numbers.size();
    if (numbers.dtype() == nb::dtype<float>()) {
        const auto* data = static_cast<const float*>(numbers.data());
        return {data, data + n};
    }
    if (numbers.dtype() != nb::dtype<double>()) throw nb::type_error("intercept must be float32 or float64");
    const auto* data = static_cast<const double*>(numbers.data());
    return {data, data + n};
}

}  // namespace

void bind_linear_scorer(nb::module_& m) {
    nb::class_<LinearScorer>(m, "LinearScorer")
        .def(
            "__init__",
            [](LinearScorer* self, std::size_t n_vectors, const std::string& norm, Array<const std::int64_t> ids,
               Array<const float> weights, const AnyArray& intercept) {
                Ranking ranking{{ids.data(), ids.data() + ids.size()},
                                {weights.data(), weights.data() + weights.size()}};
                new (self) LinearScorer(n_vectors, norm_by_name(norm), std::move(ranking), as_doubles(intercept));
            },
            "n_vectors"_a, "norm"_a, "ids"_a, "weights"_a, "intercept"_a)
        .def(
            "score",
            [](const LinearScorer& self, const BatchArrays& batch, std::size_t begin, std::size_t end,
               const OptionalOrder& order) { return scores_of(self, batch, begin, end, order); },
            "batch"_a, "begin"_a, "end"_a, "order"_a = nb::none())
        .def(
            "parts",
            [](const LinearScorer& self, const BatchArrays& batch, const Array<const std::int32_t>& classes) {
                return parts_of(self, batch, classes);
            },
            "batch"_a, "classes"_a)
        .def("members",
             [](const LinearScorer& self) {
                 Ranking members = self.members();
                 return nb::make_tuple(new_array(std::move(members.ids)), new_array(std::move(members.weights)));
             })
        .def_prop_ro(
            "intercept", [](const LinearScorer& self) { return new_array(std::vector(self.intercept())); },
            nb::rv_policy::move);
}

}  // namespace thresher::python
