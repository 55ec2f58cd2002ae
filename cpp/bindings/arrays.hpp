// numpy arrays in, core types out: what all bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "thresher/csr.hpp"
#include "thresher/row.hpp"
#include "thresher/selector/parts.hpp"

namespace thresher::python {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Hands the vector's memory to numpy; nothing is copied.
template <class T>
NewArray<T> new_array(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NewArray<T>(owned->data(), {owned->size()}, owner);
}

// What Python calls CsrBatch: ids of 32 or 64 bits, values of either float type. It holds the arrays, so that the
// pointers stay valid while Python's lock is released.
class BatchArrays {
  public:
    template <class Visitor>
    auto visit(Visitor visitor) const {
        return is<std::int32_t>() ? visitor(csr<std::int32_t>()) : visitor(csr<std::int64_t>());
    }

    BatchArrays(AnyArray starts, AnyArray ids, AnyArray values, std::int64_t n_features)
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
        if (!visit([&](const auto& batch) { return starts_fit(batch, std::min(ids_.size(), values_.size())); }))
            throw nb::value_error("indptr must rise from 0 to at most the number of stored values");
    }

    std::size_t n_rows() const { return starts_.size() - 1; }
    std::int64_t n_features() const { return n_features_; }

    void check_rows(std::size_t begin, std::size_t end) const {
        if (begin > end || end > n_rows()) throw nb::index_error("rows out of range");
    }

    // Ids index memory, so only rows that were checked may be used: by `check`, or by our own readers that made them.
    void trust() { trusted_ = true; }
    void demand_trust() const {
        if (!trusted_) throw nb::value_error("the batch was not checked: call check() or trust() first");
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

    AnyArray starts_, ids_, values_;
    Values pointers_;
    std::int64_t n_features_;
    bool trusted_ = false;
};

inline const char* name(Fault::Kind kind) {
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
inline nb::object describe(const Fault& fault) {
    if (fault.kind == Fault::Kind::none) return nb::none();
    return nb::make_tuple(name(fault.kind), fault.row, fault.id, fault.value);
}

inline Norm norm_by_name(const std::string& name) {
    if (name == "l2") return Norm::l2;
    if (name == "none") return Norm::none;
    if (name == "mean") return Norm::mean;
    throw nb::value_error("norm must be 'l2' or 'none'");
}

// Each is defined in a file of its own.
void bind_selectors(nb::module_& m);  // before the learners' own
void bind_sofs(nb::module_& m);
void bind_shadow_sofs(nb::module_& m);
void bind_shadow_sofs_regressor(nb::module_& m);
void bind_arow(nb::module_& m);
void bind_pet(nb::module_& m);
void bind_fofs(nb::module_& m);
void bind_ogd(nb::module_& m);
void bind_linear_scorer(nb::module_& m);
void bind_readers(nb::module_& m);
void bind_data(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_names(nb::module_& m);

using OptionalOrder = std::optional<Array<const std::int64_t>>;

// The scores of rows begin … end - 1 or, with an order, of the rows that it lists there.
template <class Scorer>
NewArray<double> scores_of(Scorer& scorer, const BatchArrays& batch, std::size_t begin, std::size_t end,
                           const OptionalOrder& order) {
    if (order) {
        if (begin > end || end > order->size()) throw std::out_of_range("order: begin and end are out of range");
        for (std::size_t k = begin; k < end; ++k)
            if (static_cast<std::uint64_t>(order->data()[k]) >= batch.n_rows())
                throw std::out_of_range("order: a row number is out of range");
    } else {
        batch.check_rows(begin, end);
    }
    batch.demand_trust();
    std::vector<double> scores((end - begin) * scorer.n_vectors());
    {
        nb::gil_scoped_release release;
        const RowRange rows{begin, end, order ? order->data() : nullptr};
        batch.visit([&](const auto& csr) { scorer.score(csr, rows, scores.data()); });
    }
    return new_array(std::move(scores));
}

// The parts of all rows' scores: where those of each row start, their ids, and they themselves.
template <class Scorer>
nb::tuple parts_of(Scorer& scorer, const BatchArrays& batch, const Array<const std::int32_t>& classes) {
    batch.demand_trust();
    if (classes.size() != batch.n_rows()) throw nb::value_error("classes must have one entry per row");
    Parts out;
    {
        nb::gil_scoped_release release;
        if (scorer.n_vectors() > 1)
            for (std::size_t r = 0; r < classes.size(); ++r)
                if (static_cast<std::size_t>(classes.data()[r]) >= scorer.n_vectors())
                    throw std::out_of_range("classes: a class is out of range");
        const RowRange rows{0, batch.n_rows()};
        batch.visit([&](const auto& csr) { out = scorer.parts(csr, rows, classes.data()); });
    }
    return nb::make_tuple(new_array(std::move(out.starts)), new_array(std::move(out.ids)),
                          new_array(std::move(out.parts)));
}

}  // namespace thresher::python
