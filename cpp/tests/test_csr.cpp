// Batches: faults, columns, and sums over rows.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "rows.hpp"
#include "thresher/columns.hpp"
#include "thresher/csr.hpp"
#include "thresher/simd.hpp"

using namespace thresher;
using thresher::tests::Rows;

namespace {

TEST(lanes_add_in_a_fixed_order) {
    // Lane 0 and lane 8 meet first: 1e16 − 1e16 leaves nothing, and the ones that follow all count. In any order that
    // adds a 1 to 1e16 first, that 1 is lost.
    LaneSum sum;
    for (std::size_t k = 0; k < kLanes; ++k) sum.lane[k] = 1.0;
    sum.lane[0] = 1e16, sum.lane[8] = -1e16;
    CHECK(sum.total() == 14.0);
}

TEST(faults_are_named) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    auto fault = [](std::vector<std::int32_t> ids, std::vector<float> values, Norm norm = Norm::l2) {
        Rows rows;
        rows.add({0, 1}, {1, 2}, 0);
        rows.add(ids, values, 1);
        CHECK(row_fault(rows.batch(), 0, 10, norm).kind == Fault::Kind::none);
        return row_fault(rows.batch(), 1, 10, norm);
    };
    using Kind = Fault::Kind;
    CHECK(fault({}, {}).kind == Kind::none);
    CHECK(fault({9}, {1e30f}).kind == Kind::none);
    CHECK(fault({3, 4}, {1, nan}).kind == Kind::not_finite && fault({3, 4}, {1, nan}).id == 4);
    CHECK(fault({3, 4}, {-infinity, 1}).kind == Kind::not_finite);
    CHECK(fault({3}, {1e19f}, Norm::none).kind == Kind::too_large);
    CHECK(fault({-1, 4}, {1, 1}).kind == Kind::negative_id);
    CHECK(fault({1, 10}, {1, 1}).kind == Kind::id_too_large && fault({1, 10}, {1, 1}).row == 1);
    CHECK(fault({10, 1}, {1, 1}).kind == Kind::id_too_large);
    CHECK(fault({4, 3}, {1, 1}).kind == Kind::unsorted);
    CHECK(fault({3, 3}, {1, 1}).kind == Kind::unsorted);
}

TEST(picked_columns_are_those_asked_for) {
    Rows rows;
    rows.add({0, 3, 8}, {1, 2, 3}, 0);
    rows.add({}, {}, 0);
    rows.add({1, 8, 9}, {4, 5, 6}, 1);
    const std::int64_t wanted[] = {3, 8};
    std::vector<std::int64_t> starts(4), places;
    std::vector<std::int32_t> columns;
    pick_columns(rows.batch(), ColumnIndex(wanted, 2), starts.data(), columns, places);
    CHECK((starts == std::vector<std::int64_t>{0, 2, 2, 3}));
    CHECK((columns == std::vector<std::int32_t>{0, 1, 1}));
    CHECK((places == std::vector<std::int64_t>{1, 2, 4}));
}

}  // namespace
