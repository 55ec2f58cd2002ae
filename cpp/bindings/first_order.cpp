// The first-order learners as Python sees them: each with its member set and its memory.
#include <string>

#include "selectors.hpp"
#include "thresher/learners/fofs.hpp"
#include "thresher/learners/ogd.hpp"
#include "thresher/learners/pet.hpp"
#include "thresher/members/unbounded.hpp"
#include "thresher/members/watched_pool.hpp"

namespace thresher::python {
namespace {

double number(const nb::dict& given, const char* name) { return nb::cast<double>(given[name]); }

Loss loss(const nb::dict& given) {
    const auto name = nb::cast<std::string>(given["loss"]);
    if (name == "perceptron") return Loss::perceptron;
    if (name == "hinge") return Loss::hinge;
    throw nb::value_error("loss must be 'perceptron' or 'hinge'");
}

}  // namespace

void bind_first_order(nb::module_& m) {
    bind_adaptive<Pet<WatchedPool>>(m, "Pet", "ManyPet", [](const nb::dict& given) {
        return Pet<WatchedPool>::Parameters{number(given, "eta"), loss(given)};
    });
    bind_adaptive<Fofs<WatchedPool>>(m, "Fofs", "ManyFofs", [](const nb::dict& given) {
        return Fofs<WatchedPool>::Parameters{number(given, "eta"), number(given, "lam"), loss(given)};
    });
    bind_adaptive<Ogd<Unbounded>>(
        m, "Ogd", "ManyOgd", [](const nb::dict& given) { return Ogd<Unbounded>::Parameters{number(given, "eta")}; });
}

}  // namespace thresher::python
