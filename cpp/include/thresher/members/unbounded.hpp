// The member set of a learner without a budget (AROW, OGD): every feature that was touched, or that has a weight.
//
// No feature is offered a place and none leaves, so there is nothing to keep: the memory shows who is a member.
#pragma once

#include <cstdint>

#include "thresher/concepts.hpp"

namespace thresher {

class Unbounded {
  public:
    static constexpr bool kBounded = false;
    static constexpr RankReports kReports = RankReports::none;

    explicit Unbounded(std::uint64_t) {}
};

static_assert(MemberSet<Unbounded>);

}  // namespace thresher
