// The members of a learner without a budget: every feature that was touched, or that has a weight, as the learner says.
// Nobody is offered a place, nobody leaves, so there is nothing to keep: who is a member can be seen in the memory.
#pragma once

#include <cstdint>

namespace thresher {

class Everyone {
  public:
    explicit Everyone(std::uint64_t) {}
    std::uint64_t n_sifts() const { return 0; }
};

}  // namespace thresher
