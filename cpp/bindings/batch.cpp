// The batch methods' own kernels.
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "thresher/batch/mrmr.hpp"

namespace thresher::python {
namespace {

// A choice of features under way, with the arrays that it reads.
class Choice {
  public:
    Choice(Array<const std::int64_t> starts, Array<const std::int32_t> ids, Array<const std::uint8_t> values,
           std::int64_t n_features, Array<const std::int32_t> classes, std::int64_t n_classes,
           const std::string& scheme, Array<const std::int64_t> keep)
        : starts_(starts), ids_(ids), values_(values) {
        if (scheme != "MID" && scheme != "MIQ") throw nb::value_error("scheme must be 'MID' or 'MIQ'");
        if (starts.size() != classes.size() + 1) throw nb::value_error("classes must have one entry per row");
        const Levels rows{starts.data(), ids.data(), values.data(), classes.size(),
                          static_cast<std::size_t>(n_features)};
        nb::gil_scoped_release release;
        if (!fits(rows, classes, n_classes)) throw nb::value_error("starts, ids, values or classes out of range");
        std::vector<std::size_t> first;
        for (std::size_t k = 0; k < keep.size(); ++k) {
            if (keep.data()[k] < 0 || keep.data()[k] >= n_features) throw nb::value_error("keep: out of range");
            first.push_back(static_cast<std::size_t>(keep.data()[k]));
        }
        mrmr_ = std::make_unique<Mrmr>(rows, classes.data(), static_cast<std::size_t>(n_classes),
                                       scheme == "MID" ? Mrmr::Scheme::difference : Mrmr::Scheme::quotient,
                                       std::move(first));
    }

    Mrmr& mrmr() { return *mrmr_; }

  private:
    bool fits(const Levels& rows, const Array<const std::int32_t>& classes, std::int64_t n_classes) const {
        bool good = rows.starts[0] == 0 && rows.n_rows < (std::uint64_t{1} << 32) && ids_.size() == values_.size() &&
                    static_cast<std::size_t>(rows.starts[rows.n_rows]) == ids_.size();
        for (std::size_t r = 0; r < rows.n_rows; ++r)
            good &= rows.starts[r] <= rows.starts[r + 1] && classes.data()[r] >= 0 && classes.data()[r] < n_classes;
        for (std::size_t i = 0; good && i < ids_.size(); ++i)
            good &= rows.ids[i] >= 0 && static_cast<std::size_t>(rows.ids[i]) < rows.n_features &&
                    rows.values[i] >= 1 && rows.values[i] <= 2;
        return good;
    }

    Array<const std::int64_t> starts_;
    Array<const std::int32_t> ids_;
    Array<const std::uint8_t> values_;
    std::unique_ptr<Mrmr> mrmr_;
};

}  // namespace

void bind_batch(nb::module_& m) {
    nb::class_<Choice>(m, "Mrmr")
        .def(nb::init<Array<const std::int64_t>, Array<const std::int32_t>, Array<const std::uint8_t>, std::int64_t,
                      Array<const std::int32_t>, std::int64_t, const std::string&, Array<const std::int64_t>>(),
             "starts"_a, "ids"_a, "values"_a, "n_features"_a, "classes"_a, "n_classes"_a, "scheme"_a, "keep"_a)
        .def(
            "work",
            [](Choice& self, std::size_t n_entries, std::size_t budget) {
                nb::gil_scoped_release release;
                self.mrmr().work(n_entries, budget);
            },
            "n_entries"_a, "budget"_a)
        .def_prop_ro(
            "chosen", [](Choice& self) { return new_array(std::vector(self.mrmr().chosen())); }, nb::rv_policy::move)
        .def_prop_ro("exhausted", [](Choice& self) { return self.mrmr().exhausted(); });
}

}  // namespace thresher::python
