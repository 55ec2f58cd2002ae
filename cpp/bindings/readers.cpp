// Text in and out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "arrays.hpp"
#include "thresher/readers/line_range.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/readers/vw.hpp"
#include "thresher/writers/svmlight.hpp"

namespace thresher::python {
namespace {

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
nb::object as_text(const std::string& bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

template <class Id>
nb::object describe(ParsedText<Id>& rows) {
    nb::list bad, words;
    for (const BadLine& line : rows.bad) bad.append(nb::make_tuple(line.line, as_text(line.what)));
    for (const auto& [row, word] : rows.words) words.append(nb::make_tuple(row, as_text(word)));
    nb::object importances = nb::none(), name_space = nb::none();
    if (rows.weighted) importances = nb::cast(new_array(rows.importances));
    if (rows.named) name_space = as_text(rows.name_space);
    return nb::make_tuple(new_array(rows.starts), new_array(rows.ids), new_array(rows.values), new_array(rows.labels),
                          words, importances, new_array(rows.lines), bad, rows.n_lines, rows.largest_id, rows.zero_seen,
                          name_space);
}

// Reads text whose last byte is followed by '\0', with ids of 32 bits if they are enough, else of 64.
nb::object read_text(const std::string& format, std::string_view text, bool skip_bad, bool labelled) {
    if (format != "vw" && format != "svmlight")
        throw nb::value_error(("format must be 'svmlight' or 'vw'. Got '" + format + "'").c_str());
    auto read = [&]<class Id>(Id) {
        return format == "vw" ? read_vw<Id>(text, skip_bad, labelled) : read_svmlight<Id>(text, skip_bad, labelled);
    };
    std::optional<ParsedText<std::int32_t>> narrow;
    std::optional<ParsedText<std::int64_t>> wide;
    {
        nb::gil_scoped_release release;
        narrow.emplace(read(std::int32_t{}));
        if (narrow->ids_too_wide) wide.emplace(read(std::int64_t{}));
    }
    return wide ? describe(*wide) : describe(*narrow);
}

}  // namespace

void bind_readers(nb::module_& m) {
    m.def(
        "read_text",
        [](const std::string& format, nb::bytes text, bool skip_bad, bool first, bool labelled) {
            const std::string_view whole(text.c_str(), text.size());
            return read_text(format, first ? without_byte_order_mark(whole) : whole, skip_bad, labelled);
        },
        "format"_a, "text"_a, "skip_bad"_a, "first"_a = false, "labelled"_a = true);
    m.def(
        "read_text_range",
        [](const std::string& format, int file, std::int64_t begin, std::int64_t end, bool skip_bad, bool labelled) {
            LineRange range;
            {
                nb::gil_scoped_release release;
                range = read_line_range(file, begin, end);
            }
            return read_text(format, range.text(), skip_bad, labelled);
        },
        "format"_a, "file"_a, "begin"_a, "end"_a, "skip_bad"_a, "labelled"_a = true);
    m.def(
        "read_bytes",
        [](int file, std::int64_t from, std::size_t size) {
            RecycledBuffer buffer;
            {
                nb::gil_scoped_release release;
                buffer = RecycledBuffer(size);
                size = read_at(file, from, static_cast<char*>(buffer.data()), size);
            }
            return new_array<std::uint8_t>(std::move(buffer), size);
        },
        "file"_a, "from_"_a, "size"_a);
    m.def(
        "write_svmlight",
        [](const BatchArrays& batch, std::int64_t shift, const std::vector<std::string>& labels) {
            if (labels.size() != batch.n_rows()) throw nb::value_error("labels must have one entry per row");
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

}  // namespace thresher::python
