// Generated data and picked columns.
#include "arrays.hpp"
#include "thresher/columns.hpp"
#include "thresher/synth.hpp"

namespace thresher::python {

void bind_data(nb::module_& m) {
    nb::class_<ColumnIndex>(m, "ColumnIndex")
        .def(
            "__init__",
            [](ColumnIndex* self, Array<const std::int64_t> ids) { new (self) ColumnIndex(ids.data(), ids.size()); },
            "ids"_a)
        .def(
            "pick",
            [](const ColumnIndex& index, const BatchArrays& batch) {
                std::vector<std::int64_t> starts(batch.n_rows() + 1), places;
                std::vector<std::int32_t> columns;
                {
                    nb::gil_scoped_release release;
                    batch.visit([&](const auto& csr) { pick_columns(csr, index, starts.data(), columns, places); });
                }
                return nb::make_tuple(new_array(std::move(starts)), new_array(std::move(columns)),
                                      new_array(std::move(places)));
            },
            "batch"_a)
        .def(
            "count_rows_with",
            [](const ColumnIndex& index, const BatchArrays& batch) {
                nb::gil_scoped_release release;
                std::size_t n = 0;
                batch.visit([&](const auto& csr) { n = count_rows_with(csr, index); });
                return n;
            },
            "batch"_a);
    nb::class_<Synth>(m, "Synth")
        .def(
            "__init__",
            [](Synth* self, std::int64_t n_features, std::int64_t n_informative, std::int64_t n_noise,
               std::int64_t n_dense_noise, bool permute, std::uint64_t seed) {
                new (self) Synth({n_features, n_informative, n_noise, n_dense_noise, permute, seed});
            },
            "n_features"_a, "n_informative"_a, "n_noise"_a, "n_dense_noise"_a, "permute"_a, "seed"_a)
        .def_prop_ro("row_size", &Synth::row_size)
        .def_prop_ro(
            "informative", [](const Synth& self) { return new_array(std::vector(self.informative())); },
            nb::rv_policy::move)
        .def(
            "rows",
            [](const Synth& self, std::uint64_t first, Array<std::int32_t> ids, Array<float> values,
               Array<std::int64_t> labels) {
                const std::size_t n = labels.size();
                if (ids.size() != n * self.row_size() || values.size() != n * self.row_size())
                    throw nb::value_error("ids and values must have row_size entries per label");
                nb::gil_scoped_release release;
                self.rows(first, n, ids.data(), values.data(), labels.data());
            },
            "first"_a, "ids"_a.noconvert(), "values"_a.noconvert(), "labels"_a.noconvert());
}

}  // namespace thresher::python
