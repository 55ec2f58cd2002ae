// How the state of features is to be stored.
#pragma once

#include <cstddef>

namespace thresher {

enum class MemoryKind {
    automatic,  // dense while that is well used, else a hash table
    dense,
    hash
};

struct MemoryOptions {
    MemoryKind kind = MemoryKind::automatic;
    std::size_t bytes = 0;  // of a sketch
};

}  // namespace thresher
