// The loops of a learner as selectors call them: compiled once, whatever the memory and the ids are, for all
// instruction sets or, where speed matters less, for the baseline only.
#pragma once

#include <cstddef>

#include "thresher/concepts.hpp"
#include "thresher/learners/step.hpp"
#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher {

template <Learner L>
struct Kernels {
    // The margins of a row, one per vector of weights.
    THRESHER_KERNEL static void margins(const L& learner, RowBuffer& buffer, std::size_t n, std::size_t n_vectors,
                                        double* out) {
        run<L::kForAllSets>([=, &learner, &buffer]() __attribute__((always_inline)) {
            for (std::size_t c = 0; c < n_vectors; ++c) out[c] = learner.margin(buffer.row(c), n);
        });
    }

    THRESHER_KERNEL static Step step(L& learner, const Row row, std::size_t n, double y, double importance,
                                     const typename L::Members& members) {
        return run<L::kForAllSets>([=, &learner, &members]() __attribute__((always_inline)) {
            return learner.step(row, n, y, importance, members);
        });
    }

    THRESHER_KERNEL static PairStep pull_apart(L& learner, const Row up, const Row down, std::size_t n, double margin,
                                               double importance) {
        return run<L::kForAllSets>([=, &learner]() __attribute__((always_inline)) {
            return learner.pull_apart(up, down, n, margin, importance);
        });
    }

    // Decoys, of two classes or of two of many.
    THRESHER_KERNEL static void follow(const L& learner, const Row row) {
        run<L::kForAllSets>([=, &learner]() __attribute__((always_inline)) { learner.follow(row); });
    }
    THRESHER_KERNEL static void follow(const L& learner, const Row up, const Row down) {
        run<L::kForAllSets>([=, &learner]() __attribute__((always_inline)) { learner.follow(up, down); });
    }
};

}  // namespace thresher
