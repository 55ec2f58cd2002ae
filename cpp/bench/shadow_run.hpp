// A run of ShadowSOFS with a member set of one's choice.
//
// The arithmetic is that of the library's learner, written again so that each set gets the reports it needs and pays
// for no other; the benchmark holds it to the library's result, bit for bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "member_sets.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/row.hpp"
#include "thresher/simd.hpp"

namespace thresher::bench {

template <class Set>
class ShadowRun : private ShadowSofs {
  public:
    using Memory = DenseMemory<ShadowSofs::kWidth>;

    ShadowRun(std::uint64_t budget, std::int64_t n_features)
        : ShadowSofs(Parameters{1.0}), members_(budget, n_features) {
        memory_.reserve(n_features);
    }

    void learn(const CsrBatch<std::int32_t>& batch, const std::int32_t* classes) {
        run(simd_in_use(), [&]() __attribute__((always_inline)) {
            for (std::size_t r = 0; r < batch.n_rows; ++r) {
                const auto begin = static_cast<std::size_t>(batch.starts[r]);
                const auto n = static_cast<std::size_t>(batch.starts[r + 1]) - begin;
                load_values(batch.values, begin, n, Norm::none, false, row_);
                learn_row(batch.ids + begin, n, classes[r] != 0 ? 1.0 : -1.0);
            }
        });
    }

    // Every feature that was touched, and what is known of it.
    struct Result {
        std::vector<std::int64_t> ids;
        std::vector<Cell> cells;
        bool operator==(const Result&) const = default;
    };
    Result result() const {
        Result out;
        memory_.for_each_touched([&](std::int64_t id, const Cell& cell) {
            out.ids.push_back(id);
            out.cells.push_back(cell);
        });
        return out;
    }

    std::uint64_t n_looks() const { return members_.n_looks(); }
    std::uint64_t n_touched_members() const { return n_touched_members_; }
    std::uint64_t n_swaps() const { return n_swaps_; }

    // Counts the members that rows touch, which is what an eager set works for. Not for a run that is timed.
    bool count_touched = false;

  private:
    static constexpr bool kEveryFall = requires { Set::kEveryFall; };

    THRESHER_INLINE void learn_row(const std::int32_t* ids, std::size_t n, double y) {
        const auto planes = ShadowSofs::planes(row_.row());
        memory_.gather(ids, n, planes);
        for (float* plane : planes)
            for (std::size_t i = n; i < row_.blocks(); ++i) plane[i] = 0.0f;
        const Score score = margin_and_variance<true>(row_.row());
        const double loss = 1.0 - y * score.margin;
        if (!(loss > 0.0)) return;
        const double gamma = gamma_for(1.0);
        const bool challenged =
            step(static_cast<float>(y * loss / (score.variance + gamma)), static_cast<float>(1.0 / gamma), ids, n);
        if (count_touched)
            for (std::size_t i = 0; i < n; ++i) n_touched_members_ += std::signbit(row_.row().plane(kExcess)[i]);
        if (challenged) offer_outsiders(ids, n);
    }

    // Takes the step, tells the set of it, and says whether some outsider may enter.
    THRESHER_INLINE bool step(float alpha, float inverse_gamma, const std::int32_t* ids, std::size_t n) {
        const float watched = members_.watched();
        const float* __restrict x = row_.x();
        const float* __restrict gain = row_.row().plane(kGain);
        float* __restrict mean = row_.row().plane(kMean);
        float* __restrict excess = row_.row().plane(kExcess);
        float* __restrict rank_before = row_.row().plane(kRank);
        std::int32_t fallen = 0;
        float lowest_member = kLargest, highest_outsider = -1.0f;
        const std::size_t blocks = row_.blocks();
#pragma omp simd reduction(| : fallen) reduction(min : lowest_member) reduction(max : highest_outsider)
        for (std::size_t i = 0; i < blocks; ++i) {
            const float before = excess[i], old_rank = worth(mean[i], before);
            const float after = grown(before, x[i], inverse_gamma);
            const float moved = mean[i] + alpha * gain[i];
            const float new_rank = worth(moved, after);
            const bool member = member_mask(before) != 0, touched = x[i] != 0.0f;
            mean[i] = moved;
            excess[i] = marked(after, before);
            if constexpr (Set::kHears == Hears::falls) {
                rank_before[i] = old_rank;
                const bool falls = kEveryFall ? old_rank > new_rank : old_rank >= watched;
                fallen |= static_cast<std::int32_t>(member & (new_rank < watched) & falls);
            }
            const float as_member = (member & touched) ? new_rank : kLargest;
            const float as_outsider = (!member & touched) ? new_rank : -1.0f;
            lowest_member = lowest_member < as_member ? lowest_member : as_member;
            highest_outsider = highest_outsider > as_outsider ? highest_outsider : as_outsider;
        }
        memory_.scatter(ids, n, ShadowSofs::planes(row_.row()));
        members_.lower(lowest_member);
        if constexpr (Set::kHears == Hears::falls)
            if (fallen != 0) tell_falls(ids, n, watched);
        if constexpr (Set::kHears == Hears::moves) tell_moves(ids, n);
        return highest_outsider > members_.threshold();
    }

    [[gnu::noinline]] void tell_falls(const std::int32_t* ids, std::size_t n, float watched) {
        for (std::size_t i = 0; i < n; ++i) {
            if constexpr (kEveryFall) {
                const float now = ShadowSofs::rank(row_.row(), i);
                if (std::signbit(row_.row().plane(kExcess)[i]) && now < watched && now < row_.row().plane(kRank)[i])
                    members_.fell(ids[i], now);
            } else if (ShadowSofs::fell(row_.row(), i, watched)) {
                members_.fell(ids[i]);
            }
        }
    }

    // Members and outsiders are mixed at random, so the members are first picked out without a branch.
    THRESHER_INLINE void tell_moves(const std::int32_t* ids, std::size_t n) {
        const float* __restrict excess = row_.row().plane(kExcess);
        touched_.resize(n + 1);
        std::uint32_t* __restrict touched = touched_.data();
        std::size_t count = 0;
        for (std::size_t i = 0; i < n; ++i) {
            touched[count] = static_cast<std::uint32_t>(i);
            count += static_cast<std::size_t>(std::signbit(excess[i]));
        }
        for (std::size_t k = 0; k < count; ++k)
            members_.moved(ids[touched[k]], ShadowSofs::rank(row_.row(), touched[k]));
    }

    [[gnu::noinline]] void offer_outsiders(const std::int32_t* ids, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const float rank = ShadowSofs::rank(row_.row(), i);
            if (!is_outsider(row_.row(), i) || !(rank > members_.threshold())) continue;
            const Answer answer = members_.offer(ids[i], rank, [&](std::int64_t member) {
                const Cell cell = memory_.load(member);
                return is_member(cell) ? ShadowSofs::rank(cell) : -1.0f;
            });
            if (!answer.enters) continue;
            ++n_swaps_;
            memory_.store(ids[i], entrant(row_.row(), i));
            if (answer.leaver != kNobody) memory_.store(answer.leaver, as_leaver(memory_.load(answer.leaver)));
        }
    }

    Memory memory_;
    Set members_;
    RowBuffer row_;
    std::vector<std::uint32_t> touched_;
    std::uint64_t n_touched_members_ = 0;
    std::uint64_t n_swaps_ = 0;
};

}  // namespace thresher::bench
