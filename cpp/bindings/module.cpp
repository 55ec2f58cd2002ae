// The Python module `thresher._core`. Only this folder knows both languages.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "thresher/simd.hpp"

namespace thresher::python {
namespace {

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
            throw nb::value_error(
                ("name: this machine has no SIMD path '" + wanted + "'; simd_paths() lists those it has").c_str());
        },
        "name"_a);
}

}  // namespace
}  // namespace thresher::python

NB_MODULE(_core, m) {
    using namespace thresher;
    using namespace thresher::python;
    m.doc() = "The C++ core of thresher.";
#if !defined(THRESHER_CHECKED)
    // What somebody still holds when Python ends is no leak, and nothing that a user could fix.
    nb::set_leak_warnings(false);
#endif
    nb::class_<BatchArrays>(m, "CsrBatch")
        .def(nb::init<AnyArray, AnyArray, AnyArray, std::int64_t>(), "indptr"_a, "indices"_a, "values"_a,
             "n_features"_a)
        .def(
            "check",
            [](BatchArrays& batch, const std::string& norm) {
                const Norm by = norm_by_name(norm);
                Fault fault;
                {
                    nb::gil_scoped_release release;
                    fault = batch.visit([&](const auto& csr) { return batch_fault(csr, batch.n_features(), by); });
                }
                if (fault.kind == Fault::Kind::none) batch.trust();
                return describe(fault);
            },
            "norm"_a)
        .def("trust", &BatchArrays::trust);
    bind_simd(m);
    bind_selectors(m);
    bind_sofs(m);
    bind_shadow_sofs(m);
    bind_shadow_sofs_regressor(m);
    bind_arow(m);
    bind_pet(m);
    bind_fofs(m);
    bind_ogd(m);
    bind_linear_scorer(m);
    bind_readers(m);
    bind_data(m);
    bind_batch(m);
    bind_names(m);
}
