// JSON lines with columns of every kind.
#include "thresher/readers/json_lines.hpp"

#include "fuzz.hpp"

using namespace thresher;
using namespace thresher::fuzz;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<NamedColumn> columns = {
        {"t", ColumnKind::text}, {"c", ColumnKind::category}, {"n", ColumnKind::number}, {"u", ColumnKind::text}};
    static const Naming namings[] = {
        {columns, {1, 1}},
        {columns, {1, 3, false, true, false}},
        {columns, {2, 3, true, true, true}},
        {{columns[0], columns[1], {"n", ColumnKind::number, 3.5, 0.25, true}}, {1, 2}, {{0, 1}, {2, 1}, {0, 2}}}};
    const Exact text(as_text(data, size));
    const Naming& naming = namings[size % 4];
    const JsonRoles roles{"y", size % 5 == 0 ? "w" : "", labels_for(size / 4)};
    auto read = [&](std::string_view piece) { return JsonLines(naming, roles).read(piece, true); };
    const auto rows = read(text.view());
    check_rows(rows);
    const Turn turn(text.view());
    if (turn.is(0, 3)) check_pieces(text.view(), rows, read);
    if (turn.is(1, 3)) check_stops(JsonLines(naming, roles).read(text.view(), false), rows);
    if (turn.is(2, 3)) check_learning(rows);
    return 0;
}
