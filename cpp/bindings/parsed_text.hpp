// What the readers found, as Python gets it.
#pragma once

#include <cstdint>
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

// What a reader found: the arrays of a `Batch`, by the names that they have there, and what else it says of the text.
struct FoundRows {
    nb::object indptr, indices, data, labels, words, row_weights, numbers, bad;
    std::int64_t n_lines, largest_id;
    bool zero_seen;
    nb::object name_space, marks, text, prefixes;  // None where there are none
    bool ends_too_long;                            // the text was cut before a line that is longer than allowed
};

template <class Id>
FoundRows describe(ParsedText<Id>& rows, bool ends_too_long = false) {
    nb::list bad, words;
    for (const BadLine& line : rows.bad) bad.append(nb::make_tuple(line.line, as_text(line.what)));
    for (const auto& [row, word] : rows.words) words.append(nb::make_tuple(row, as_text(word)));
    nb::object row_weights = nb::none(), name_space = nb::none(), marks = nb::none(), text = nb::none(),
               prefixes = nb::none();
    if (rows.weighted) row_weights = nb::cast(new_array(rows.row_weights));
    if (rows.has_name_space) name_space = as_text(rows.name_space);
    if (rows.names) {
        nb::list written;
        for (const std::string& prefix : rows.names->prefixes) written.append(as_text(prefix));
        prefixes = std::move(written);
        marks = nb::cast(new_array(rows.names->marks));
        const std::size_t n_bytes = rows.names->text.size();
        text = nb::cast(new_array<std::uint8_t>(rows.names->text.release(), n_bytes));
    }
    return {nb::cast(new_array(rows.starts)),
            nb::cast(new_array(rows.ids)),
            nb::cast(new_array(rows.values)),
            nb::cast(new_array(rows.labels)),
            std::move(words),
            std::move(row_weights),
            nb::cast(new_array(rows.lines)),
            std::move(bad),
            rows.n_lines,
            rows.largest_id,
            rows.zero_seen,
            std::move(name_space),
            std::move(marks),
            std::move(text),
            std::move(prefixes),
            ends_too_long};
}

inline Labels labels_by_name(const std::string& name) {
    if (name == "required") return Labels::required;
    if (name == "optional") return Labels::optional;
    if (name == "none") return Labels::none;
    throw nb::value_error("labels must be 'required', 'optional' or 'none'");
}

}  // namespace thresher::python
