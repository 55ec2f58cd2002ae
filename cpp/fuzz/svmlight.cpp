// svmlight text, with and without labels, with ids of 32 and 64 bits; and what is written reads back.
#include "thresher/readers/svmlight.hpp"

#include "fuzz.hpp"
#include "thresher/writers/svmlight.hpp"

using namespace thresher;
using namespace thresher::fuzz;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Exact text(as_text(data, size));
    const bool labelled = size % 2 == 0;
    auto read = [=](std::string_view piece) { return read_svmlight<std::int64_t>(piece, true, labelled); };
    const auto rows = read(text.view());
    check_rows(rows);
    const Turn turn(text.view());
    if (turn.is(0, 4)) check_pieces(text.view(), rows, read);
    if (turn.is(1, 4)) check_stops(read_svmlight<std::int64_t>(text.view(), false, labelled), rows);
    if (turn.is(2, 4))
        if (const auto narrow = read_svmlight<std::int32_t>(text.view(), true, labelled); !narrow.ids_too_wide) {
            check_rows(narrow);
            CHECK(lines_of(narrow) == lines_of(rows));
        }
    if (turn.is(3, 4)) {
        check_learning(rows);
        const auto again =
            read_svmlight<std::int64_t>(write_svmlight(batch_of(rows), 0, [](std::size_t) { return "0"; }), false);
        CHECK(again.bad.empty() && again.n_rows() == rows.n_rows() && again.ids.size() == rows.ids.size());
        for (std::size_t i = 0; i < rows.ids.size(); ++i)
            CHECK(again.ids.data()[i] == rows.ids.data()[i] && again.values.data()[i] == rows.values.data()[i]);
    }
    return 0;
}
