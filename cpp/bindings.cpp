// The only file that knows both languages: numpy arrays in, core types out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "thresher/columns.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/normal.hpp"
#include "thresher/row.hpp"
#include "thresher/selector.hpp"
#include "thresher/simd.hpp"
#include "thresher/synth.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace thresher;

namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
NewArray<T> new_array(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NewArray<T>(owned->data(), {owned->size()}, owner);
}

// A CSR batch of either id width. Holds the arrays, so that the pointers stay valid while the interpreter is free.
class Batch {
  public:
    template <class Visitor>
    auto visit(Visitor visitor) const {
        return is<std::int32_t>() ? visitor(csr<std::int32_t>()) : visitor(csr<std::int64_t>());
    }

    Batch(AnyArray starts, AnyArray ids, AnyArray values, std::int64_t n_features)
        : starts_(std::move(starts)), ids_(std::move(ids)), values_(std::move(values)), n_features_(n_features) {
        if (values_.dtype() == nb::dtype<float>())
            pointers_.single = static_cast<const float*>(values_.data());
        else if (values_.dtype() == nb::dtype<double>())
            pointers_.twice = static_cast<const double*>(values_.data());
        else
            throw nb::type_error("values must be float32 or float64");
        if (starts_.dtype() != ids_.dtype() || (!is<std::int32_t>() && !is<std::int64_t>()))
            throw nb::type_error("indptr and indices must both be int32 or both int64");
        if (starts_.size() == 0) throw nb::value_error("indptr must have at least one entry");
        visit([&](const auto& batch) { check_starts(batch); });
    }

    std::size_t n_rows() const { return starts_.size() - 1; }
    std::int64_t n_features() const { return n_features_; }

    void check_rows(std::size_t begin, std::size_t end) const {
        if (begin > end || end > n_rows()) throw nb::index_error("rows out of range");
    }

  private:
    template <class Id>
    bool is() const {
        return ids_.dtype() == nb::dtype<Id>();
    }

    template <class Id>
    CsrBatch<Id> csr() const {
        return {static_cast<const Id*>(starts_.data()), static_cast<const Id*>(ids_.data()), pointers_, n_rows()};
    }

    template <class Id>
    void check_starts(const CsrBatch<Id>& batch) const {
        bool bad = batch.starts[0] < 0;
        for (std::size_t r = 0; r < batch.n_rows; ++r) bad |= batch.starts[r + 1] < batch.starts[r];
        const auto nnz = std::min(ids_.size(), values_.size());
        if (bad || static_cast<std::uint64_t>(batch.starts[batch.n_rows]) > nnz)
            throw nb::value_error("indptr must rise from 0 to at most the number of stored values");
    }

    AnyArray starts_, ids_, values_;
    Values pointers_;
    std::int64_t n_features_;
};

const char* name(Fault::Kind kind) {
    switch (kind) {
        case Fault::Kind::none:
            return "none";
        case Fault::Kind::not_finite:
            return "not_finite";
        case Fault::Kind::too_large:
            return "too_large";
        case Fault::Kind::negative_id:
            return "negative_id";
        case Fault::Kind::id_too_large:
            return "id_too_large";
        case Fault::Kind::unsorted:
            return "unsorted";
    }
    return "none";
}

// None, or (kind, row, id, value).
nb::object describe(const Fault& fault) {
    if (fault.kind == Fault::Kind::none) return nb::none();
    return nb::make_tuple(name(fault.kind), fault.row, fault.id, fault.value);
}

Norm norm_by_name(const std::string& name) {
    if (name == "l2") return Norm::l2;
    if (name == "none") return Norm::none;
    throw nb::value_error("norm must be 'l2' or 'none'");
}

template <class T>
void check_size(const char* what, const std::optional<Array<const T>>& array, std::size_t n) {
    if (array && array->size() != n) throw nb::value_error((std::string(what) + " must have one entry a row").c_str());
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
            "check",
            [](const S& self, const Batch& batch, std::size_t begin, std::size_t end) {
                batch.check_rows(begin, end);
                Fault fault;
                {
                    nb::gil_scoped_release release;
                    fault =
                        batch.visit([&](const auto& csr) { return self.check(csr, batch.n_features(), begin, end); });
                }
                return describe(fault);
            },
            "batch"_a, "begin"_a, "end"_a)
        .def(
            "learn",
            [](S& self, const Batch& batch, Array<const std::int32_t> classes,
               std::optional<Array<const double>> importances, std::optional<Array<const std::int64_t>> order,
               std::size_t begin, std::size_t end, bool check) {
                batch.check_rows(begin, end);
                check_size<std::int32_t>("classes", classes, batch.n_rows());
                check_size("importances", importances, batch.n_rows());
                check_size("order", order, batch.n_rows());
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
        .def("members",
             [](const S& self) {
                 auto members = self.members();
                 return nb::make_tuple(new_array(std::move(members.ids)), new_array(std::move(members.weights)));
             })
        .def_prop_ro("intercept", &S::intercept)
        .def_prop_ro("n_sifts", &S::n_sifts)
        .def_prop_ro("counters",
                     [](const S& self) {
                         const Counters c = self.counters();
                         nb::dict out;
                         out["n_samples"] = c.n_samples;
                         out["n_updates"] = c.n_updates;
                         out["n_mistakes"] = c.n_mistakes;
                         out["n_saturated"] = c.n_saturated;
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
                 const Counters& c = state.counters;
                 return nb::make_tuple(
                     new_array(std::move(state.ids)), new_array(std::move(cells)), new_array(std::move(intercept)),
                     new_array(std::vector<std::uint64_t>{c.n_samples, c.n_updates, c.n_mistakes, c.n_saturated}));
             })
        .def(
            "restore",
            [](S& self, Array<const std::int64_t> ids, Array<const float> cells, Array<const float> intercept,
               Array<const std::uint64_t> counters) {
                if (cells.size() != ids.size() * width || intercept.size() != width || counters.size() != 4)
                    throw nb::value_error("the saved state has arrays of the wrong size");
                for (std::size_t i = 0; i < ids.size(); ++i)
                    if (ids.data()[i] < 0 || (i > 0 && ids.data()[i] <= ids.data()[i - 1]))
                        throw nb::value_error("the saved ids must be ascending and not negative");
                typename S::State state;
                state.ids.assign(ids.data(), ids.data() + ids.size());
                state.cells.resize(ids.size());
                if (!state.cells.empty()) std::memcpy(state.cells.data(), cells.data(), cells.size() * sizeof(float));
                std::memcpy(&state.intercept, intercept.data(), sizeof(state.intercept));
                const std::uint64_t* c = counters.data();
                state.counters = {c[0], c[1], c[2], c[3]};
                nb::gil_scoped_release release;
                self.restore(state);
            },
            "ids"_a, "cells"_a, "intercept"_a, "counters"_a);
}

constexpr std::pair<const char*, Simd> kSimdNames[] = {
    {"scalar", Simd::scalar}, {"avx2", Simd::avx2}, {"avx512", Simd::avx512}};

void bind_simd(nb::module_& m) {
    m.def("simd_paths", [] {
        std::vector<std::string> names;
        for (const auto& [name, simd] : kSimdNames)
            if (simd <= best_simd()) names.emplace_back(name);
        return names;
    });
    m.def("simd_in_use", [] {
        for (const auto& [name, simd] : kSimdNames)
            if (simd == simd_in_use()) return std::string(name);
        return std::string();
    });
    m.def(
        "use_simd",
        [](const std::string& wanted) {
            for (const auto& [name, simd] : kSimdNames)
                if (wanted == name && simd <= best_simd()) {
                    simd_choice() = simd;
                    return;
                }
            throw nb::value_error(("this machine has no SIMD path '" + wanted + "'").c_str());
        },
        "name"_a);
}

void bind_columns(nb::module_& m) {
    m.def(
        "pick_columns",
        [](const Batch& batch, Array<const std::int64_t> ids) {
            std::vector<std::int64_t> starts(batch.n_rows() + 1), places;
            std::vector<std::int32_t> columns;
            {
                nb::gil_scoped_release release;
                const ColumnPicker picker(ids.data(), ids.size());
                batch.visit([&](const auto& csr) { picker.pick(csr, starts.data(), columns, places); });
            }
            return nb::make_tuple(new_array(std::move(starts)), new_array(std::move(columns)),
                                  new_array(std::move(places)));
        },
        "batch"_a, "ids"_a);
}

void bind_normal(nb::module_& m) {
    m.def(
        "normal_cdf",
        [](Array<const double> z) {
            std::vector<double> out(z.data(), z.data() + z.size());
            for (double& value : out) value = normal::cdf(value);
            return new_array(std::move(out));
        },
        "z"_a);
}

void bind_synth(nb::module_& m) {
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
                    throw nb::value_error("ids and values must have row_size entries a label");
                nb::gil_scoped_release release;
                self.rows(first, n, ids.data(), values.data(), labels.data());
            },
            "first"_a, "ids"_a, "values"_a, "labels"_a);
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The C++ core of thresher.";
    nb::class_<Batch>(m, "Batch")
        .def(nb::init<AnyArray, AnyArray, AnyArray, std::int64_t>(), "indptr"_a, "indices"_a, "values"_a,
             "n_features"_a);
    bind_simd(m);
    bind_columns(m);
    bind_normal(m);
    bind_synth(m);

    using SofsSelector = Selector<Sofs, DenseMemory<Sofs::kWidth>>;
    bind_selector<Sofs, DenseMemory<Sofs::kWidth>>(
        m, "Sofs", "__init__",
        [](SofsSelector* self, std::uint64_t budget, const std::string& norm, bool fit_intercept, double gamma) {
            new (self) SofsSelector({budget, norm_by_name(norm), fit_intercept, {gamma}});
        },
        "budget"_a, "norm"_a, "fit_intercept"_a, "gamma"_a);
}
