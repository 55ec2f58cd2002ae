// What a member set answers to an offer.
#pragma once

#include <cstdint>

namespace thresher {

inline constexpr std::int64_t kNoFeature = -1;

struct Admission {
    bool enters;
    std::int64_t leaver;  // kNoFeature if none had to leave
};

}  // namespace thresher
