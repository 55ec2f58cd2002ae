// What the readers found, as Python gets it.
#pragma once

#include <string>
#include <utility>

#include "arrays.hpp"
#include "thresher/readers/column.hpp"
#include "thresher/readers/text.hpp"

namespace thresher::python {

template <class T>
NewArray<T> new_array(RecycledBuffer buffer, std::size_t n) {
    T* data = static_cast<T*>(buffer.data());
    nb::capsule owner(new RecycledBuffer(std::move(buffer)),
                      [](void* p) noexcept { delete static_cast<RecycledBuffer*>(p); });
    return NewArray<T>(data, {n}, owner);
}

template <class T>
NewArray<T> new_array(Column<T>& column) {
    const std::size_t n = column.size();
    return new_array<T>(column.release(), n);
}

// Text from a file may not be UTF-8; other bytes are shown as \\x….
inline nb::object as_text(const std::string& bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

// `ends_too_long`: the text was cut before a line that is longer than allowed.
template <class Id>
nb::object describe(ParsedText<Id>& rows, bool ends_too_long = false) {
    nb::list bad, words;
    for (const BadLine& line : rows.bad) bad.append(nb::make_tuple(line.line, as_text(line.what)));
    for (const auto& [row, word] : rows.words) words.append(nb::make_tuple(row, as_text(word)));
    nb::object importances = nb::none(), name_space = nb::none();
    if (rows.weighted) importances = nb::cast(new_array(rows.importances));
    if (rows.has_name_space) name_space = as_text(rows.name_space);
    nb::object names = nb::none();
    if (rows.names) {
        nb::list prefixes;
        for (const std::string& prefix : rows.names->prefixes) prefixes.append(as_text(prefix));
        names = nb::make_tuple(new_array(rows.names->marks),
                               new_array<std::uint8_t>(rows.names->text.release(), rows.names->text.size()), prefixes);
    }
    return nb::make_tuple(new_array(rows.starts), new_array(rows.ids), new_array(rows.values), new_array(rows.labels),
                          words, importances, new_array(rows.lines), bad, rows.n_lines, rows.largest_id, rows.zero_seen,
                          name_space, names, ends_too_long);
}

inline Labels labels_by_name(const std::string& name) {
    if (name == "required") return Labels::required;
    if (name == "optional") return Labels::optional;
    if (name == "none") return Labels::none;
    throw nb::value_error("labels must be 'required', 'optional' or 'none'");
}

}  // namespace thresher::python
