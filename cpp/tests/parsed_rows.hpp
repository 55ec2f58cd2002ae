// What holds for the rows of every reader, whatever the text.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "check.hpp"
#include "thresher/names/hash.hpp"
#include "thresher/readers/text.hpp"

namespace thresher::tests {

template <class Id>
void check_rows(const ParsedText<Id>& rows) {
    const std::size_t n = rows.n_rows();
    CHECK(rows.starts.size() == n + 1 && rows.row_weights.size() == n && rows.lines.size() == n);
    CHECK(rows.ids.size() == rows.values.size());
    CHECK(rows.starts.data()[0] == 0 && static_cast<std::size_t>(rows.starts.data()[n]) == rows.ids.size());
    std::int64_t largest_id = -1;
    bool zero_seen = false;
    for (std::size_t r = 0; r < n; ++r) {
        CHECK(rows.starts.data()[r] <= rows.starts.data()[r + 1]);
        CHECK(rows.lines.data()[r] <= rows.n_lines && (r == 0 || rows.lines.data()[r - 1] < rows.lines.data()[r]));
        CHECK(rows.row_weights.data()[r] >= 0.0 && std::isfinite(rows.row_weights.data()[r]));
        CHECK(!std::isinf(rows.labels.data()[r]));
        for (auto i = rows.starts.data()[r]; i < rows.starts.data()[r + 1]; ++i) {
            const auto id = static_cast<std::int64_t>(rows.ids.data()[i]);
            CHECK(i == rows.starts.data()[r] ? id >= 0 : rows.ids.data()[i - 1] < rows.ids.data()[i]);
            CHECK(std::isfinite(rows.values.data()[i]));
            largest_id = std::max(largest_id, id);
            zero_seen |= id == 0;
        }
    }
    CHECK(rows.largest_id == largest_id && rows.zero_seen == zero_seen);
    for (std::size_t k = 1; k < rows.bad.size(); ++k) CHECK(rows.bad[k - 1].line < rows.bad[k].line);
    for (const BadLine& bad : rows.bad) CHECK(rows.needs_names || !bad.what.empty());
    if (!rows.names) return;
    CHECK(rows.names->marks.size() == rows.ids.size());
    CHECK(marks_fit({rows.names->marks.data(), rows.names->marks.size()}, rows.names->text.size(),
                    rows.names->prefixes.size()));
    for (std::size_t i = 0; i < rows.ids.size(); ++i)
        if (const std::uint64_t mark = rows.names->marks.data()[i]; mark != kNoName)
            CHECK(name_id(rows.names->name_of(mark)) == static_cast<std::int64_t>(rows.ids.data()[i]));
}

}  // namespace thresher::tests
