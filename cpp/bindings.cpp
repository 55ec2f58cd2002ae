// The only file that knows both languages: numpy arrays in, core types out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thresher/columns.hpp"
#include "thresher/learners/sofs.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/normal.hpp"
#include "thresher/readers/ranges.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/readers/vw.hpp"
#include "thresher/row.hpp"
#include "thresher/selector.hpp"
#include "thresher/simd.hpp"
#include "thresher/synth.hpp"
#include "thresher/writers/svmlight.hpp"

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
            pointers_.narrow = static_cast<const float*>(values_.data());
        else if (values_.dtype() == nb::dtype<double>())
            pointers_.wide = static_cast<const double*>(values_.data());
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

    // Ids index memory, so only rows that were looked at may be used: checked here, or made by our own readers.
    void trust() { trusted_ = true; }
    void demand_trust() const {
        if (!trusted_) throw nb::value_error("the batch was not checked");
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
    bool trusted_ = false;
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
            "check",
            [](const S& self, Batch& batch) {
                Fault fault;
                {
                    nb::gil_scoped_release release;
                    fault = batch.visit([&](const auto& csr) { return self.check(csr, batch.n_features()); });
                }
                if (fault.kind == Fault::Kind::none) batch.trust();
                return describe(fault);
            },
            "batch"_a)
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

template <class T>
NewArray<T> new_array(Column<T>& column) {
    const std::size_t n = column.size();
    T* data = column.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewArray<T>(data, {n}, owner);
}

// Text from a file need not be UTF-8; what is not shows as \\x….
nb::object as_text(const std::string& bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

template <class Id>
nb::object describe(TextRows<Id>& rows) {
    nb::list bad, texts;
    for (const BadLine& line : rows.bad) bad.append(nb::make_tuple(line.line, as_text(line.what)));
    for (const std::string& text : rows.texts) texts.append(as_text(text));
    nb::object labels = texts;
    if (rows.texts.empty()) labels = nb::cast(new_array(rows.labels));
    nb::object importances = rows.weighted ? nb::cast(new_array(rows.importances)) : nb::none();
    return nb::make_tuple(new_array(rows.starts), new_array(rows.ids), new_array(rows.values), labels, importances,
                          new_array(rows.lines), bad, rows.n_lines, rows.largest_id, rows.zero_seen);
}

// Reads text whose last byte is followed by '\0', with narrow ids if they do and wide ones if they must.
nb::object read_text(const std::string& format, std::string_view text, bool skip_bad) {
    auto read = [&]<class Id>(Id) {
        return format == "vw" ? read_vw<Id>(text, skip_bad) : read_svmlight<Id>(text, skip_bad);
    };
    std::optional<TextRows<std::int32_t>> narrow;
    std::optional<TextRows<std::int64_t>> wide;
    {
        nb::gil_scoped_release release;
        narrow.emplace(read(std::int32_t{}));
        if (narrow->ids_too_wide) wide.emplace(read(std::int64_t{}));
    }
    return wide ? describe(*wide) : describe(*narrow);
}

void bind_readers(nb::module_& m) {
    m.def(
        "read_text",
        [](const std::string& format, nb::bytes text, bool skip_bad) {
            return read_text(format, {text.c_str(), text.size()}, skip_bad);
        },
        "format"_a, "text"_a, "skip_bad"_a);
    m.def(
        "read_text_range",
        [](const std::string& format, int file, std::int64_t begin, std::int64_t end, bool skip_bad) {
            LineRange range;
            {
                nb::gil_scoped_release release;
                range = read_line_range(file, begin, end);
            }
            return read_text(format, range.text(), skip_bad);
        },
        "format"_a, "file"_a, "begin"_a, "end"_a, "skip_bad"_a);
}

void bind_writers(nb::module_& m) {
    m.def(
        "write_svmlight",
        [](const Batch& batch, std::int64_t shift, const std::vector<std::string>& labels) {
            if (labels.size() != batch.n_rows()) throw nb::value_error("labels must have one entry a row");
            std::string text;
            {
                nb::gil_scoped_release release;
                text = batch.visit([&](const auto& csr) {
                    if (csr.values.narrow == nullptr) throw std::invalid_argument("values must be float32");
                    return write_svmlight(csr, shift, [&](std::size_t r) { return std::string_view(labels[r]); });
                });
            }
            return nb::bytes(text.data(), text.size());
        },
        "batch"_a, "shift"_a, "labels"_a);
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
            "first"_a, "ids"_a.noconvert(), "values"_a.noconvert(), "labels"_a.noconvert());
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The C++ core of thresher.";
    nb::class_<Batch>(m, "Batch")
        .def(nb::init<AnyArray, AnyArray, AnyArray, std::int64_t>(), "indptr"_a, "indices"_a, "values"_a,
             "n_features"_a)
        .def("trust", &Batch::trust);
    bind_simd(m);
    bind_columns(m);
    bind_normal(m);
    bind_readers(m);
    bind_writers(m);
    bind_synth(m);

    using SofsSelector = Selector<Sofs, DenseMemory<Sofs::kWidth>>;
    bind_selector<Sofs, DenseMemory<Sofs::kWidth>>(
        m, "Sofs", "__init__",
        [](SofsSelector* self, std::uint64_t budget, const std::string& norm, bool fit_intercept, double gamma) {
            if (budget == 0) throw nb::value_error("budget must be at least 1");
            new (self) SofsSelector({budget, norm_by_name(norm), fit_intercept, {gamma}});
        },
        "budget"_a, "norm"_a, "fit_intercept"_a, "gamma"_a);
}
