// VW text: rows of numbers, and rows of names.
#include "thresher/readers/vw.hpp"

#include "fuzz.hpp"

using namespace thresher;
using namespace thresher::fuzz;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Exact text(as_text(data, size));
    const Labels labels = labels_for(size);
    const bool hash_numbers = size / 3 % 2 == 0;
    auto numbers = [=](std::string_view piece) { return read_vw<std::int64_t>(piece, true, labels); };
    auto names = [=](std::string_view piece) { return read_named_vw(piece, true, labels, hash_numbers); };
    const Turn turn(text.view());
    if (const auto rows = numbers(text.view()); !rows.needs_names) {
        check_rows(rows);
        if (turn.is(0, 6)) check_pieces(text.view(), rows, numbers);
        if (turn.is(1, 6)) check_stops(read_vw<std::int64_t>(text.view(), false, labels), rows);
        if (turn.is(2, 6)) check_learning(rows);
    }
    const auto rows = names(text.view());
    check_rows(rows);
    if (turn.is(3, 6)) check_pieces(text.view(), rows, names);
    if (turn.is(4, 6)) check_stops(read_named_vw(text.view(), false, labels, hash_numbers), rows);
    if (turn.is(5, 6)) check_learning(rows);
    return 0;
}
