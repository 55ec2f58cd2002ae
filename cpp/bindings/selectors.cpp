// A selector as Python sees it: the same for every learner.
#include "selectors.hpp"

#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <variant>

#include "thresher/readers/text.hpp"
#include "thresher/selector/counters.hpp"
#include "thresher/selector/state.hpp"

namespace thresher::python {
namespace {

template <class T>
void check_size(const char* what, const std::optional<Array<const T>>& array, std::size_t n) {
    if (array && array->size() != n)
        throw nb::value_error((std::string(what) + " must have one entry per row").c_str());
}

using LabelArray = std::variant<Array<const std::int32_t>, Array<const double>>;  // classes, or numbers

RowLabels labels_from(const LabelArray& given, std::size_t n_rows, bool are_numbers) {
    if ((given.index() == 1) != are_numbers) throw nb::type_error("labels are of another kind than the learner takes");
    RowLabels labels;
    const auto size = std::visit([](const auto& array) { return array.size(); }, given);
    if (size != n_rows) throw nb::value_error("labels must have one entry per row");
    if (are_numbers)
        labels.numbers = std::get<1>(given).data();
    else
        labels.classes = std::get<0>(given).data();
    return labels;
}

Lesson lesson_on(const Selector& selector, const BatchArrays& batch, const LabelArray& labels,
                 const std::optional<Array<const double>>& row_weights,
                 const std::optional<Array<const std::int64_t>>& order, std::size_t begin, std::size_t end) {
    batch.check_rows(begin, end);
    check_size("row_weights", row_weights, batch.n_rows());
    check_size("order", order, batch.n_rows());
    return {labels_from(labels, batch.n_rows(), selector.takes_numbers()), row_weights ? row_weights->data() : nullptr,
            order ? order->data() : nullptr, begin, end};
}

// Row numbers and labels must be in range.
void check_lesson(const Lesson& lesson, const BatchArrays& batch, const Selector& selector) {
    const auto n_classes = static_cast<std::uint32_t>(std::max<std::size_t>(2, selector.n_vectors()));
    for (std::size_t k = lesson.begin; k < lesson.end; ++k) {
        if (lesson.order != nullptr && static_cast<std::uint64_t>(lesson.order[k]) >= batch.n_rows())
            throw std::out_of_range("order: a row number is out of range");
        const std::size_t r = lesson.order != nullptr ? static_cast<std::size_t>(lesson.order[k]) : k;
        if (selector.takes_numbers() ? !std::isfinite(lesson.labels.numbers[r])
                                     : static_cast<std::uint32_t>(lesson.labels.classes[r]) >= n_classes)
            throw std::out_of_range("labels: a label is out of range");
        if (lesson.partners != nullptr && lesson.partners[r] >= static_cast<std::int64_t>(batch.n_rows()))
            throw std::out_of_range("partners: a row number is out of range");
    }
}

// Counters by name, as counters and saved states have them.
nb::dict as_dict(const Counters& counters) {
    nb::dict out;
    for (const auto& [name, member] : kCounts) out[name] = counters.*member;
    for (const auto& [name, member] : kSums) out[name] = counters.*member;
    for (const auto& [name, member] : kScales) out[name] = counters.margins.*member;
    return out;
}

// Reads a saved dict of numbers that must have exactly the names that are asked for.
class NamedNumbers {
  public:
    NamedNumbers(const char* what, const nb::dict& given) : what_(what), given_(given) {}

    template <class Number>
    Number take(const char* name) {
        names_.emplace_back(name);
        if (!given_.contains(name)) fail("lacks '" + names_.back() + "'");
        Number number;
        const nb::object value = given_[name];
        if (!nb::try_cast(value, number)) fail("'" + names_.back() + "' has a value of another kind or out of range");
        return number;
    }

    void demand_no_more() const {
        for (const auto& [key, value] : given_) {
            const auto name = nb::cast<std::string>(nb::str(key));
            if (std::find(names_.begin(), names_.end(), name) == names_.end())
                fail("has '" + name + "', which is not known here");
        }
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        throw nb::value_error(("the saved " + what_ + ": " + why).c_str());
    }

    std::string what_;
    const nb::dict& given_;
    std::vector<std::string> names_;
};

Counters counters_from(const nb::dict& given) {
    NamedNumbers saved("counters", given);
    Counters counters;
    for (const auto& [name, member] : kCounts) counters.*member = saved.take<std::uint64_t>(name);
    for (const auto& [name, member] : kSums) counters.*member = saved.take<double>(name);
    for (const auto& [name, member] : kScales) counters.margins.*member = saved.take<double>(name);
    saved.demand_no_more();
    return counters;
}

std::vector<double> numbers_from(const nb::dict& given, const std::vector<const char*>& names) {
    NamedNumbers saved("numbers of the learner", given);
    std::vector<double> numbers;
    for (const char* name : names) numbers.push_back(saved.take<double>(name));
    saved.demand_no_more();
    return numbers;
}

// Changes as arrays by name; those of a layer or of decoys have a prefix.
void put(nb::dict& out, const std::string& prefix, FeatureChanges&& changes) {
    out[(prefix + "ids").c_str()] = new_array(std::move(changes.ids));
    out[(prefix + "changes").c_str()] = new_array(std::move(changes.changes));
    out[(prefix + "sums").c_str()] = new_array(std::move(changes.sums));
}
void put(nb::dict& out, const std::string& prefix, SlotChanges&& changes) {
    out[(prefix + "n_slots").c_str()] = changes.n_slots;
    out[(prefix + "slots").c_str()] = new_array(std::move(changes.slots));
    out[(prefix + "slot_changes").c_str()] = new_array(std::move(changes.slot_changes));
    out[(prefix + "slot_sums").c_str()] = new_array(std::move(changes.slot_sums));
}
nb::dict as_dict(Changes&& changes) {
    nb::dict out;
    put(out, "", static_cast<FeatureChanges&&>(changes));
    put(out, "", static_cast<SlotChanges&&>(changes));
    out["n_shards"] = changes.n_shards;
    out["members"] = new_array(std::move(changes.members));
    out["intercept"] = new_array(std::move(changes.intercept));
    out["counters"] = as_dict(changes.counters);
    out["numbers"] = new_array(std::move(changes.numbers));
    put(out, "predicting_", static_cast<FeatureChanges&&>(changes.predicting));
    out["predicting_intercept"] = new_array(std::move(changes.predicting.intercept));
    put(out, "decoy_", static_cast<FeatureChanges&&>(changes.decoys));
    put(out, "decoy_", static_cast<SlotChanges&&>(changes.decoys));
    return out;
}

template <class T>
std::vector<T> vector_from(const nb::dict& given, const std::string& name) {
    const auto array = nb::cast<Array<const T>>(given[name.c_str()]);
    return {array.data(), array.data() + array.size()};
}

void take(const nb::dict& given, const std::string& prefix, FeatureChanges& changes) {
    changes.ids = vector_from<std::int64_t>(given, prefix + "ids");
    changes.changes = vector_from<float>(given, prefix + "changes");
    changes.sums = vector_from<double>(given, prefix + "sums");
}
void take(const nb::dict& given, const std::string& prefix, SlotChanges& changes) {
    changes.n_slots = nb::cast<std::uint64_t>(given[(prefix + "n_slots").c_str()]);
    changes.slots = vector_from<std::uint32_t>(given, prefix + "slots");
    changes.slot_changes = vector_from<float>(given, prefix + "slot_changes");
    changes.slot_sums = vector_from<float>(given, prefix + "slot_sums");
}
Changes changes_from(const nb::dict& given) {
    Changes changes;
    take(given, "", static_cast<FeatureChanges&>(changes));
    take(given, "", static_cast<SlotChanges&>(changes));
    changes.n_shards = nb::cast<std::uint64_t>(given["n_shards"]);
    changes.members = vector_from<std::int64_t>(given, "members");
    changes.intercept = vector_from<double>(given, "intercept");
    changes.counters = counters_from(given["counters"]);
    changes.numbers = vector_from<double>(given, "numbers");
    take(given, "predicting_", changes.predicting);
    changes.predicting.intercept = vector_from<double>(given, "predicting_intercept");
    take(given, "decoy_", static_cast<FeatureChanges&>(changes.decoys));
    take(given, "decoy_", static_cast<SlotChanges&>(changes.decoys));
    return changes;
}

std::span<const std::int64_t> ids_from(const Array<const std::int64_t>& ids) {
    for (std::size_t k = 0; k < ids.size(); ++k)
        if (ids.data()[k] < 0) throw nb::value_error("ids must not be negative");
    return {ids.data(), ids.size()};
}

}  // namespace

std::vector<std::int64_t> features_to_keep(const std::optional<Array<const std::int64_t>>& keep, std::uint64_t budget) {
    std::vector<std::int64_t> ids;
    if (keep) ids.assign(keep->data(), keep->data() + keep->size());
    if (ids.size() > budget) throw nb::value_error("keep has more ids than the budget");
    if (std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) != ids.end() ||
        (!ids.empty() && ids.front() < 0))
        throw nb::value_error("keep must have ids in ascending order");
    return ids;
}

MemoryKind memory_by_name(const std::string& name) {
    if (name == "dense") return MemoryKind::dense;
    if (name == "hash") return MemoryKind::hash;
    if (name == "auto" || name == "sketch") return MemoryKind::automatic;
    throw std::invalid_argument("there is no memory '" + name + "'");
}

nb::dict added(const nb::dict& a, const nb::dict& b, Changes (*add)(const Changes&, const Changes&)) {
    Changes first = changes_from(a);
    const Changes second = changes_from(b);
    {
        nb::gil_scoped_release release;
        first = add(first, second);
    }
    return as_dict(std::move(first));
}

void bind_selectors(nb::module_& m) {
    nb::class_<Selector>(m, "Selector")
        .def("reserve", &Selector::reserve, "n_features"_a, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "learn",
            [](Selector& self, const BatchArrays& batch, const LabelArray& labels,
               std::optional<Array<const double>> row_weights, std::optional<Array<const std::int64_t>> order,
               std::size_t begin, std::size_t end, bool check, bool is_new,
               const std::optional<Array<const std::int64_t>>& partners) {
                Lesson lesson = lesson_on(self, batch, labels, row_weights, order, begin, end);
                check_size("partners", partners, batch.n_rows());
                lesson.check = check, lesson.is_new = is_new;
                if (partners) lesson.partners = partners->data();
                if (!check) batch.demand_trust();
                Fault fault;
                {
                    nb::gil_scoped_release release;
                    check_lesson(lesson, batch, self);
                    fault = batch.visit([&](const auto& csr) { return self.learn(csr, batch.n_features(), lesson); });
                }
                return describe(fault);
            },
            "batch"_a, "labels"_a, "row_weights"_a.none(), "order"_a.none(), "begin"_a, "end"_a, "check"_a,
            "is_new"_a = true, "partners"_a = nb::none())
        .def("begin_pass", &Selector::begin_pass)
        .def("q_values", [](const Selector& self) { return new_array(self.q_values()); })
        .def(
            "strongest_decoys",
            [](const Selector& self, std::size_t n) {
                DecoyRanks found = self.strongest_decoys(n);
                return nb::make_tuple(new_array(std::move(found.ranks)), new_array(std::move(found.stand_for)));
            },
            "n"_a)
        .def("trim", &Selector::trim, "max_fdr"_a)
        .def("start_refit", &Selector::start_refit)
        .def("end_refit", &Selector::end_refit, "keep"_a)
        .def(
            "refit",
            [](Selector& self, const BatchArrays& batch, const LabelArray& labels,
               std::optional<Array<const double>> row_weights, std::optional<Array<const std::int64_t>> order,
               std::size_t begin, std::size_t end) {
                Lesson lesson = lesson_on(self, batch, labels, row_weights, order, begin, end);
                lesson.check = false;
                batch.demand_trust();
                nb::gil_scoped_release release;
                check_lesson(lesson, batch, self);
                batch.visit([&](const auto& csr) { self.refit(csr, batch.n_features(), lesson); });
            },
            "batch"_a, "labels"_a, "row_weights"_a.none(), "order"_a.none(), "begin"_a, "end"_a)
        .def(
            "score",
            [](Selector& self, const BatchArrays& batch, std::size_t begin, std::size_t end,
               const OptionalOrder& order) { return scores_of(self, batch, begin, end, order); },
            "batch"_a, "begin"_a, "end"_a, "order"_a = nb::none())
        .def(
            "parts",
            [](Selector& self, const BatchArrays& batch, const Array<const std::int32_t>& classes) {
                return parts_of(self, batch, classes);
            },
            "batch"_a, "classes"_a)
        .def("take_occurrences",
             [](Selector& self) {
                 std::optional<Occurrences> found = self.take_occurrences();
                 if (!found) found.emplace(std::vector<std::int64_t>{});
                 return nb::make_tuple(new_array(std::move(found->ids)), new_array(std::move(found->n_rows)));
             })
        .def("members",
             [](const Selector& self) {
                 Ranking members;
                 {
                     nb::gil_scoped_release release;
                     members = self.members();
                 }
                 return nb::make_tuple(new_array(std::move(members.ids)), new_array(std::move(members.weights)));
             })
        .def("member_ids", [](const Selector& self) { return new_array(self.member_ids()); })
        .def(
            "cells",
            [](const Selector& self, Array<const std::int64_t> ids) { return new_array(self.cells(ids_from(ids))); },
            "ids"_a)
        .def(
            "ranks",
            [](const Selector& self, Array<const std::int64_t> ids) { return new_array(self.ranks(ids_from(ids))); },
            "ids"_a)
        .def_prop_ro(
            "intercept", [](const Selector& self) { return new_array(self.intercept()); }, nb::rv_policy::move)
        .def_prop_ro("mean_target", &Selector::mean_target)
        .def_prop_ro("counters", [](const Selector& self) { return as_dict(self.counters()); })
        .def("n_pages", &Selector::n_pages, nb::call_guard<nb::gil_scoped_release>())
        .def("state",
             [](const Selector& self) {
                 State state;
                 {
                     nb::gil_scoped_release release;
                     state = self.state();
                 }
                 nb::dict learner, out;
                 const std::vector<const char*> names = self.number_names();
                 for (std::size_t k = 0; k < names.size(); ++k) learner[names[k]] = state.numbers[k];
                 out["ids"] = new_array(std::move(state.ids));
                 out["cells"] = new_array(std::move(state.cells));
                 out["intercept"] = new_array(std::move(state.intercept));
                 out["counters"] = as_dict(state.counters);
                 out["learner"] = learner;
                 out["table"] = new_array(std::move(state.table));
                 out["predicting_ids"] = new_array(std::move(state.predicting.ids));
                 out["predicting_cells"] = new_array(std::move(state.predicting.cells));
                 out["predicting_intercept"] = new_array(std::move(state.predicting.intercept));
                 out["decoy_ids"] = new_array(std::move(state.decoys.ids));
                 out["decoy_cells"] = new_array(std::move(state.decoys.cells));
                 out["decoy_table"] = new_array(std::move(state.decoys.table));
                 out["shown_ids"] = new_array(std::move(state.decoys.shown_ids));
                 out["shown_values"] = new_array(std::move(state.decoys.shown_values));
                 out["max_fdr"] = state.max_fdr;
                 return out;
             })
        .def(
            "restore",
            [](Selector& self, Array<const std::int64_t> ids, Array<const float> cells, Array<const float> intercept,
               const nb::dict& counters, const nb::dict& learner, Array<const float> table,
               Array<const std::int64_t> predicting_ids, Array<const float> predicting_cells,
               Array<const float> predicting_intercept, Array<const std::int64_t> decoy_ids,
               Array<const float> decoy_cells, Array<const float> decoy_table, Array<const std::int64_t> shown_ids,
               Array<const float> shown_values, double max_fdr) {
                const std::vector<double> numbers = numbers_from(learner, self.number_names());
                const StateView state{{ids.data(), ids.size()},
                                      {cells.data(), cells.size()},
                                      {intercept.data(), intercept.size()},
                                      counters_from(counters),
                                      numbers,
                                      {table.data(), table.size()},
                                      {{predicting_ids.data(), predicting_ids.size()},
                                       {predicting_cells.data(), predicting_cells.size()},
                                       {predicting_intercept.data(), predicting_intercept.size()}},
                                      {{decoy_ids.data(), decoy_ids.size()},
                                       {decoy_cells.data(), decoy_cells.size()},
                                       {decoy_table.data(), decoy_table.size()},
                                       {shown_ids.data(), shown_ids.size()},
                                       {shown_values.data(), shown_values.size()}},
                                      max_fdr};
                nb::gil_scoped_release release;
                for (const auto ids_of : {state.ids, state.predicting.ids, state.decoys.ids, state.decoys.shown_ids})
                    for (std::size_t i = 0; i < ids_of.size(); ++i)
                        if (ids_of[i] < 0 || ids_of[i] >= static_cast<std::int64_t>(kIdLimit) ||
                            (i > 0 && ids_of[i] <= ids_of[i - 1]))
                            throw std::invalid_argument("ids must be ascending and in range");
                self.restore(state);
            },
            // The arrays are read where they lie; one of another type would be converted, which is a copy.
            "ids"_a.noconvert(), "cells"_a.noconvert(), "intercept"_a.noconvert(), "counters"_a, "learner"_a,
            "table"_a.noconvert(), "predicting_ids"_a.noconvert(), "predicting_cells"_a.noconvert(),
            "predicting_intercept"_a.noconvert(), "decoy_ids"_a.noconvert(), "decoy_cells"_a.noconvert(),
            "decoy_table"_a.noconvert(), "shown_ids"_a.noconvert(), "shown_values"_a.noconvert(), "max_fdr"_a)
        .def(
            "changes_since",
            [](Selector& self, const Selector& start) {
                Changes changes;
                {
                    nb::gil_scoped_release release;
                    changes = self.changes_since(start);
                }
                return as_dict(std::move(changes));
            },
            "start"_a)
        .def(
            "merge",
            [](Selector& self, const nb::dict& given, double size, double predicting_size) {
                const Changes changes = changes_from(given);
                nb::gil_scoped_release release;
                self.merge(changes, {size, predicting_size});
            },
            "changes"_a, "size"_a, "predicting_size"_a)
        .def(
            "preview",
            [](const Selector& self, const nb::dict& given, double size, double predicting_size,
               Array<const std::int64_t> ids) {
                const Changes changes = changes_from(given);
                Preview out;
                {
                    nb::gil_scoped_release release;
                    out = self.preview(changes, {size, predicting_size}, {ids.data(), ids.size()});
                }
                return nb::make_tuple(new_array(std::move(out.members.ids)), new_array(std::move(out.members.weights)),
                                      new_array(std::move(out.intercept)), new_array(std::move(out.predicting_weights)),
                                      new_array(std::move(out.predicting_intercept)));
            },
            "changes"_a, "size"_a, "predicting_size"_a, "ids"_a);
}

}  // namespace thresher::python
