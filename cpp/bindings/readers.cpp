// Text in and out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "arrays.hpp"
#include "parsed_text.hpp"
#include "thresher/readers/line_range.hpp"
#include "thresher/readers/number_columns.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/readers/vw.hpp"
#include "thresher/writers/csv.hpp"
#include "thresher/writers/svmlight.hpp"

namespace thresher::python {
namespace {

// How a line of text is read. Names, of VW text only: "numbers" are ids, and the text is read again if there are
// others; "strings" are hashed beside them; "all" names are hashed.
struct TextFormat {
    bool is_vw;
    Labels labels;
    bool has_names, hash_numbers;

    TextFormat(const std::string& format, const std::string& labels_, const std::string& names)
        : is_vw(format == "vw"),
          labels(labels_by_name(labels_)),
          has_names(names != "numbers"),
          hash_numbers(names == "all") {
        if (!is_vw && format != "svmlight")
            throw nb::value_error(("format must be 'svmlight' or 'vw'. Got '" + format + "'").c_str());
        if (has_names && !is_vw) throw nb::value_error("names: svmlight text has numbers only");
        if (has_names && !hash_numbers && names != "strings")
            throw nb::value_error(("names must be 'numbers', 'strings' or 'all'. Got '" + names + "'").c_str());
    }
};

// The text of rows, each with what it begins with: `write(csr, begins)`.
template <class Write>
nb::bytes written(const BatchArrays& batch, const std::vector<std::string>& begins, Write write) {
    if (begins.size() != batch.n_rows()) throw nb::value_error("labels must have one entry per row");
    std::string text;
    {
        nb::gil_scoped_release release;
        text = batch.visit([&](const auto& csr) {
            if (csr.values.narrow == nullptr) throw std::invalid_argument("values must be float32");
            return write(csr, [&](std::size_t r) { return std::string_view(begins[r]); });
        });
    }
    return nb::bytes(text.data(), text.size());
}

// Reads text whose last byte is followed by '\0', with ids of 32 bits if they are enough, else of 64.
FoundRows read_text(const TextFormat& format, std::string_view text, bool skip_bad, bool ends_too_long = false) {
    auto read = [&]<class Id>(Id) {
        return format.is_vw ? read_vw<Id>(text, skip_bad, format.labels)
                            : read_svmlight<Id>(text, skip_bad, format.labels != Labels::none);
    };
    std::optional<ParsedText<std::int32_t>> narrow;
    std::optional<ParsedText<std::int64_t>> wide;
    {
        nb::gil_scoped_release release;
        if (!format.has_names) {
            narrow.emplace(read(std::int32_t{}));
            if (narrow->ids_too_wide) wide.emplace(read(std::int64_t{}));
        }
        if (format.has_names || (wide ? wide->needs_names : narrow->needs_names))
            wide.emplace(read_named_vw(text, skip_bad, format.labels, format.hash_numbers));
    }
    return wide ? describe(*wide, ends_too_long) : describe(*narrow, ends_too_long);
}

// Arrow's C data interface, https://arrow.apache.org/docs/format/CDataInterface.html.
struct ArrowSchema {
    const char *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

// The rows of a record batch whose columns are all numbers, and none is missing; else None. The batch was validated.
nb::object read_record_batch(nb::capsule schema, nb::capsule array) {
    const auto* const types = static_cast<const ArrowSchema*>(schema.data("arrow_schema"));
    const auto* const batch = static_cast<const ArrowArray*>(array.data("arrow_array"));
    const auto n_rows = static_cast<std::size_t>(batch->length);
    std::vector<NumberColumn> columns;
    if (n_rows * static_cast<std::size_t>(batch->n_children) > std::numeric_limits<std::int32_t>::max())
        return nb::none();
    for (std::int64_t k = 0; k < batch->n_children; ++k) {
        const ArrowArray& child = *batch->children[k];
        if (child.n_buffers != 2 || types->children[k]->dictionary != nullptr) return nb::none();
        const auto column = NumberColumn::of(types->children[k]->format, child.buffers[1],
                                             child.null_count == 0 ? nullptr : child.buffers[0],
                                             static_cast<std::size_t>(child.offset + batch->offset));
        if (!column || !column->has_all(n_rows)) return nb::none();
        columns.push_back(*column);
    }
    std::optional<NumberRows> rows;
    {
        nb::gil_scoped_release release;
        rows.emplace(read_numbers(columns, n_rows));
    }
    return nb::make_tuple(new_array(rows->starts), new_array(rows->ids), new_array(rows->values));
}

// A read that fails is an OSError with its number, as everywhere in Python; whoever knows the file adds its name.
void raise_system_errors_as_os_errors() {
    nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
        try {
            std::rethrow_exception(raised);
        } catch (const std::system_error& error) {
            errno = error.code().value();
            PyErr_SetFromErrno(PyExc_OSError);
        }
    });
}

}  // namespace

void bind_readers(nb::module_& m) {
    raise_system_errors_as_os_errors();
    nb::exception<FileShrank>(m, "FileShrankError", PyExc_ValueError);
    m.def("shrank", &FileShrank::message, "before"_a, "now"_a);
    nb::class_<FoundRows>(m, "FoundRows")
        .def_ro("indptr", &FoundRows::indptr)
        .def_ro("indices", &FoundRows::indices)
        .def_ro("data", &FoundRows::data)
        .def_ro("labels", &FoundRows::labels)
        .def_ro("words", &FoundRows::words)
        .def_ro("row_weights", &FoundRows::row_weights)
        .def_ro("numbers", &FoundRows::numbers)
        .def_ro("bad", &FoundRows::bad)
        .def_ro("n_lines", &FoundRows::n_lines)
        .def_ro("largest_id", &FoundRows::largest_id)
        .def_ro("zero_seen", &FoundRows::zero_seen)
        .def_ro("namespace", &FoundRows::name_space)
        .def_ro("marks", &FoundRows::marks)
        .def_ro("text", &FoundRows::text)
        .def_ro("prefixes", &FoundRows::prefixes)
        .def_ro("ends_too_long", &FoundRows::ends_too_long);
    nb::class_<TextFile>(m, "TextFile")
        .def(nb::init<int, std::int64_t, std::size_t>(), "number"_a, "size"_a, "longest_line"_a);
    m.def(
        "read_text",
        [](const std::string& format, nb::bytes text, bool skip_bad, bool first, const std::string& labels,
           const std::string& names) {
            const std::string_view whole(text.c_str(), text.size());
            return read_text({format, labels, names}, first ? without_byte_order_mark(whole) : whole, skip_bad);
        },
        "format"_a, "text"_a, "skip_bad"_a, "first"_a = false, "labels"_a = "required", "names"_a = "numbers");
    m.def(
        "read_text_range",
        [](const std::string& format, const TextFile& file, std::int64_t begin, std::int64_t end, bool skip_bad,
           const std::string& labels, const std::string& names) {
            const TextFormat how(format, labels, names);
            LineRange range;
            {
                nb::gil_scoped_release release;
                range = read_line_range(file, begin, end);
            }
            return read_text(how, range.text(), skip_bad, range.ends_too_long);
        },
        "format"_a, "file"_a, "begin"_a, "end"_a, "skip_bad"_a, "labels"_a = "required", "names"_a = "numbers");
    m.def("read_record_batch", &read_record_batch, "schema"_a, "array"_a);
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
            return written(batch, labels,
                           [&](const auto& csr, auto label) { return write_svmlight(csr, shift, label); });
        },
        "batch"_a, "shift"_a, "labels"_a);
    m.def(
        "write_csv",
        [](const BatchArrays& batch, std::size_t n_columns, const std::vector<std::string>& before) {
            return written(batch, before,
                           [&](const auto& csr, auto cells) { return write_csv(csr, n_columns, cells); });
        },
        "batch"_a, "n_columns"_a, "before"_a);
}

}  // namespace thresher::python
