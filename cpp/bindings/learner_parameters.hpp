// The parameters of learners, from Python's dicts.
#pragma once

#include <string>

#include "arrays.hpp"
#include "thresher/learners/first_order.hpp"
#include "thresher/learners/second_order.hpp"

namespace thresher::python {

inline double number(const nb::dict& given, const char* name) { return nb::cast<double>(given[name]); }

inline Loss loss(const nb::dict& given) {
    const auto name = nb::cast<std::string>(given["loss"]);
    if (name == "perceptron") return Loss::perceptron;
    if (name == "hinge") return Loss::hinge;
    throw nb::value_error("loss must be 'perceptron' or 'hinge'");
}

inline SecondOrder::Parameters second_order(const nb::dict& given) { return {number(given, "gamma")}; }

}  // namespace thresher::python
