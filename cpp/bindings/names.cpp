// Names of features: strings to ids, columns to rows, and the names of what was selected.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "parsed_text.hpp"
#include "thresher/names/hash.hpp"
#include "thresher/names/name_book.hpp"
#include "thresher/names/naming.hpp"
#include "thresher/readers/json_lines.hpp"
#include "thresher/readers/line_range.hpp"

namespace thresher::python {
namespace {

ColumnKind kind_by_name(const std::string& name) {
    if (name == "text") return ColumnKind::text;
    if (name == "category") return ColumnKind::category;
    if (name == "number") return ColumnKind::number;
    throw nb::value_error("a column's kind must be 'text', 'category' or 'number'");
}

// A column of numbers, its mean and deviation, and whether it tells that a number is missing.
using Scale = std::tuple<std::size_t, double, double, bool>;

// The UTF-8 bytes of Python strings, which stay valid while the list is held. A string that is not text (it has a lone
// surrogate) raises UnicodeEncodeError.
std::vector<std::string_view> views_of(const nb::list& strings) {
    std::vector<std::string_view> views;
    views.reserve(strings.size());
    for (const nb::handle each : strings) {
        if (!PyUnicode_Check(each.ptr())) throw nb::type_error("a list of str is needed");
        Py_ssize_t size = 0;
        const char* const bytes = PyUnicode_AsUTF8AndSize(each.ptr(), &size);
        if (bytes == nullptr) throw nb::python_error();
        views.emplace_back(bytes, static_cast<std::size_t>(size));
    }
    return views;
}

// A column of a table, in Arrow's layout: strings behind each other, or numbers. With `lists`, a row has several. With
// both strings and numbers, they are the keys and values of a dictionary in each row.
struct TableColumn {
    std::optional<Array<const double>> numbers;
    std::optional<Array<const std::int64_t>> starts, lists;
    std::optional<Array<const std::uint8_t>> bytes, valid;

    bool fits(std::size_t n_rows) const {
        if (numbers && !starts) return numbers->size() == n_rows;
        if (!starts || !bytes || starts->size() == 0 || !rises(*starts, bytes->size())) return false;
        const std::size_t n_values = starts->size() - 1;
        if (valid && valid->size() != n_values) return false;
        if (numbers && (!lists || numbers->size() != n_values)) return false;
        return lists ? lists->size() == n_rows + 1 && rises(*lists, n_values) : n_values == n_rows;
    }

    static bool rises(const Array<const std::int64_t>& offsets, std::size_t limit) {
        bool bad = offsets.data()[0] < 0;
        for (std::size_t i = 1; i < offsets.size(); ++i) bad |= offsets.data()[i] < offsets.data()[i - 1];
        return !bad && static_cast<std::uint64_t>(offsets.data()[offsets.size() - 1]) <= limit;
    }

    std::size_t begin(std::size_t row) const { return lists ? static_cast<std::size_t>(lists->data()[row]) : row; }
    std::size_t end(std::size_t row) const {
        return lists ? static_cast<std::size_t>(lists->data()[row + 1]) : row + 1;
    }
    bool has(std::size_t i) const { return !valid || valid->data()[i] != 0; }
    std::string_view operator[](std::size_t i) const {
        const auto from = static_cast<std::size_t>(starts->data()[i]),
                   to = static_cast<std::size_t>(starts->data()[i + 1]);
        return {reinterpret_cast<const char*>(bytes->data()) + from, to - from};
    }
};

// Rows of n, each read by read_row(row, namer, why). A bad one is reported, and is skipped or ends the reading.
template <class ReadRow>
ParsedText<std::int64_t> named_rows(const Naming& naming, std::size_t n_rows, bool skip_bad, ReadRow read_row) {
    ParsedText<std::int64_t> rows(n_rows, 0);
    RowNamer namer(naming, rows.names.emplace());
    std::string why;
    for (std::size_t row = 0; row < n_rows; ++row, ++rows.n_lines) {
        namer.start_row();
        bool good = read_row(row, namer, why) && namer.finish_row(why);
        if (good && !namer.row.move_to(rows.ids, rows.values, *rows.names)) why = kSumTooLarge, good = false;
        if (good) {
            rows.end_row(0.0, 1.0, {});
            continue;
        }
        rows.drop_row();
        rows.bad.push_back({rows.n_lines, std::exchange(why, {})});
        if (!skip_bad) break;
    }
    return rows;
}

void bind_naming(nb::module_& m) {
    nb::class_<TableColumn>(m, "TableColumn")
        .def(
            "__init__",
            [](TableColumn* self, Array<const std::int64_t> starts, Array<const std::uint8_t> bytes,
               std::optional<Array<const std::uint8_t>> valid, std::optional<Array<const std::int64_t>> lists) {
                new (self) TableColumn{{}, std::move(starts), std::move(lists), std::move(bytes), std::move(valid)};
            },
            "starts"_a, "bytes"_a, "valid"_a.none(), "lists"_a.none())
        .def_static(
            "of_numbers", [](Array<const double> numbers) { return TableColumn{std::move(numbers), {}, {}, {}, {}}; },
            "numbers"_a)
        .def_static(
            "of_entries",
            [](Array<const std::int64_t> starts, Array<const std::uint8_t> bytes, Array<const std::int64_t> lists,
               Array<const double> numbers) {
                return TableColumn{std::move(numbers), std::move(starts), std::move(lists), std::move(bytes), {}};
            },
            "starts"_a, "bytes"_a, "lists"_a, "numbers"_a);
    nb::class_<Naming>(m, "Naming")
        .def(
            "__init__",
            [](Naming* self, const std::vector<std::pair<std::string, std::string>>& columns, std::size_t least,
               std::size_t most, bool characters, bool counts, bool lowercase, const std::vector<Scale>& scales,
               std::vector<Cross> crosses) {
                std::vector<NamedColumn> named;
                for (const auto& [name, kind] : columns) named.push_back({name, kind_by_name(kind)});
                if (least < 1 || most < least) throw nb::value_error("n-grams must have lengths 1 ≤ least ≤ most");
                if (named.size() > kMostPrefixes - 2) throw nb::value_error("at most 65,533 columns can be read");
                for (const auto& [column, mean, deviation, tells_missing] : scales) {
                    if (column >= named.size() || named[column].kind != ColumnKind::number)
                        throw nb::value_error("only numbers have a scale");
                    if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation <= 0.0)
                        throw nb::value_error("a mean must be finite, and a deviation above 0");
                    named[column].mean = mean, named[column].deviation = deviation;
                    named[column].tells_missing = tells_missing;
                }
                for (const auto& [one, other] : crosses)
                    if (one >= named.size() || other >= named.size() || one == other)
                        throw nb::value_error("a cross is of two columns");
                new (self) Naming(std::move(named), {least, most, characters, counts, lowercase}, std::move(crosses));
            },
            "columns"_a, "least"_a, "most"_a, "characters"_a, "counts"_a, "lowercase"_a, "scales"_a = nb::list(),
            "crosses"_a = nb::list())
        .def(
            "read_json",
            [](const Naming& naming, nb::bytes text, bool skip_bad, bool first, const std::string& label,
               const std::string& weight, const std::string& labels) {
                std::string_view whole(text.c_str(), text.size());
                if (first) whole = without_byte_order_mark(whole);
                JsonLines reader(naming, {label, weight, labels_by_name(labels)});
                std::optional<ParsedText<std::int64_t>> rows;
                {
                    nb::gil_scoped_release release;
                    rows.emplace(reader.read(whole, skip_bad));
                }
                return describe(*rows);
            },
            "text"_a, "skip_bad"_a, "first"_a, "label"_a, "weight"_a, "labels"_a)
        .def(
            "read_json_range",
            [](const Naming& naming, const TextFile& file, std::int64_t begin, std::int64_t end, bool skip_bad,
               const std::string& label, const std::string& weight, const std::string& labels) {
                JsonLines reader(naming, {label, weight, labels_by_name(labels)});
                std::optional<ParsedText<std::int64_t>> rows;
                LineRange range;
                {
                    nb::gil_scoped_release release;
                    range = read_line_range(file, begin, end);
                    rows.emplace(reader.read(range.text(), skip_bad));
                }
                return describe(*rows, range.ends_too_long);
            },
            "file"_a, "begin"_a, "end"_a, "skip_bad"_a, "label"_a, "weight"_a, "labels"_a)
        .def(
            "read_strings",
            [](const Naming& naming, nb::list strings, bool skip_bad) {
                if (naming.columns().size() != 1) throw nb::value_error("one column is needed");
                const auto views = views_of(strings);
                std::optional<ParsedText<std::int64_t>> rows;
                {
                    nb::gil_scoped_release release;
                    rows.emplace(named_rows(naming, views.size(), skip_bad,
                                            [&](std::size_t row, RowNamer& namer, std::string& why) {
                                                return namer.add_text(0, views[row], why);
                                            }));
                }
                return describe(*rows);
            },
            "strings"_a, "skip_bad"_a = false)
        .def(
            "read_columns",
            [](const Naming& naming, const std::vector<const TableColumn*>& columns, std::size_t n_rows,
               bool skip_bad) {
                if (columns.size() != naming.columns().size()) throw nb::value_error("one array per column is needed");
                for (std::size_t k = 0; k < columns.size(); ++k)
                    if (!columns[k]->fits(n_rows) ||
                        columns[k]->numbers.has_value() != (naming.columns()[k].kind == ColumnKind::number))
                        throw nb::value_error("a column has the wrong size or kind");
                std::optional<ParsedText<std::int64_t>> rows;
                {
                    nb::gil_scoped_release release;
                    auto read_row = [&](std::size_t row, RowNamer& namer, std::string& why) {
                        for (std::size_t k = 0; k < columns.size(); ++k) {
                            const TableColumn& column = *columns[k];
                            if (column.numbers && !column.starts) {
                                if (!namer.add_number(k, column.numbers->data()[row], why)) return false;
                                continue;
                            }
                            if (column.numbers) {
                                for (std::size_t i = column.begin(row); i < column.end(row); ++i)
                                    if (!namer.add_entry(k, column[i], column.numbers->data()[i], why)) return false;
                                continue;
                            }
                            const bool is_text = naming.columns()[k].kind == ColumnKind::text;
                            for (std::size_t i = column.begin(row); i < column.end(row); ++i)
                                if (column.has(i) && !(is_text ? namer.add_text(k, column[i], why)
                                                               : namer.add_category(k, column[i], why)))
                                    return false;
                        }
                        return true;
                    };
                    rows.emplace(named_rows(naming, n_rows, skip_bad, read_row));
                }
                return describe(*rows);
            },
            "columns"_a, "n_rows"_a, "skip_bad"_a);
}

// Calls a function with ids of 32 or 64 bits, without the interpreter's lock.
template <class Visit>
void visit_ids(const AnyArray& ids, Visit visit) {
    const bool is_narrow = ids.dtype() == nb::dtype<std::int32_t>();
    if (!is_narrow && ids.dtype() != nb::dtype<std::int64_t>()) throw nb::type_error("ids must be int32 or int64");
    nb::gil_scoped_release release;
    if (is_narrow)
        visit(std::span(static_cast<const std::int32_t*>(ids.data()), ids.size()));
    else
        visit(std::span(static_cast<const std::int64_t*>(ids.data()), ids.size()));
}

WrittenNames written_names(const AnyArray& ids, const Array<const std::uint64_t>& marks,
                           const Array<const std::uint8_t>& text, const std::vector<std::string>& prefixes,
                           const std::optional<Array<const std::int64_t>>& bases) {
    if (ids.size() != marks.size() || (bases && bases->size() != ids.size()))
        throw nb::value_error("ids, marks and bases differ in length");
    return {marks.data(),
            bases ? bases->data() : nullptr,
            {reinterpret_cast<const char*>(text.data()), text.size()},
            prefixes};
}

void bind_book(nb::module_& m) {
    nb::class_<NameBook>(m, "NameBook")
        .def(nb::init<>())
        .def(
            "keep",
            [](NameBook& book, Array<const std::int64_t> ids) {
                nb::gil_scoped_release release;
                book.keep({ids.data(), ids.size()});
            },
            "ids"_a)
        .def("set", &NameBook::set, "id"_a, "name"_a, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "find",
            [](const NameBook& book, AnyArray ids) {
                std::vector<std::int64_t> places;
                visit_ids(ids, [&](auto each) { places = book.find(each); });
                return new_array(std::move(places));
            },
            "ids"_a)
        .def(
            "read",
            [](NameBook& book, AnyArray ids, Array<const std::uint64_t> marks, Array<const std::uint8_t> text,
               const std::vector<std::string>& prefixes, std::optional<Array<const std::int64_t>> bases, bool add) {
                const WrittenNames names = written_names(ids, marks, text, prefixes, bases);
                visit_ids(ids, [&](auto each) { book.read(each, names, add); });
            },
            "ids"_a, "marks"_a, "text"_a, "prefixes"_a, "bases"_a = nb::none(), "add"_a = false)
        .def(
            "strangers",
            [](const NameBook& book, AnyArray ids, Array<const std::uint64_t> marks, Array<const std::uint8_t> text,
               const std::vector<std::string>& prefixes, std::optional<Array<const std::int64_t>> bases) {
                const WrittenNames names = written_names(ids, marks, text, prefixes, bases);
                std::vector<std::int64_t> places;
                visit_ids(ids, [&](auto each) { places = book.strangers(each, names); });
                return new_array(std::move(places));
            },
            "ids"_a, "marks"_a, "text"_a, "prefixes"_a, "bases"_a = nb::none())
        .def("names",
             [](const NameBook& book) {
                 std::vector<std::pair<std::int64_t, std::string>> all;
                 {
                     nb::gil_scoped_release release;
                     book.for_each([&](std::int64_t id, const std::string& name) { all.emplace_back(id, name); });
                 }
                 nb::dict names;
                 for (const auto& [id, name] : all) names[nb::int_(id)] = as_text(name);
                 return names;
             })
        .def_prop_ro("clashes",
                     [](const NameBook& book) {
                         const NameBook::Clashes found = book.clashes();
                         return nb::make_tuple(found.n, found.one, found.other);
                     })
        .def(
            "set_clashes",
            [](NameBook& book, std::uint64_t n, std::string one, std::string other) {
                book.set_clashes({n, std::move(one), std::move(other)});
            },
            "n"_a, "one"_a, "other"_a);
}

}  // namespace

void bind_names(nb::module_& m) {
    m.def(
        "name_ids",
        [](nb::list names) {
            std::vector<std::int64_t> ids;
            for (const std::string_view name : views_of(names)) ids.push_back(name_id(name));
            return new_array(std::move(ids));
        },
        "names"_a);
    m.def(
        "marks_fit",
        [](Array<const std::uint64_t> marks, std::uint64_t n_text, std::uint64_t n_prefixes) {
            return marks_fit({marks.data(), marks.size()}, n_text, n_prefixes);
        },
        "marks"_a, "n_text"_a, "n_prefixes"_a);
    m.def(
        "category_value",
        [](const std::string& written) {
            std::string scratch;
            return std::string(category_value(written, scratch));
        },
        "written"_a);
    m.attr("UNICODE_VERSION") = kUnicodeVersion;
    bind_naming(m);
    bind_book(m);
}

}  // namespace thresher::python
