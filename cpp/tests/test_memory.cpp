// Memories against a std::map.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <random>
#include <vector>

#include "check.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/row.hpp"

using namespace thresher;

namespace {

TEST(pages_grow_and_keep_their_content) {
    ZeroPages pages;
    pages.grow(100);
    auto* bytes = static_cast<unsigned char*>(pages.data());
    CHECK(pages.bytes() >= 100 && bytes[0] == 0 && bytes[99] == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(bytes) % (1 << 21) == 0);
    bytes[7] = 42;
    pages.grow(std::size_t{1} << 33);  // 8 GiB of address space, of which a few pages are ever touched
    bytes = static_cast<unsigned char*>(pages.data());
    CHECK(bytes[7] == 42 && bytes[(std::size_t{1} << 33) - 1] == 0);
    bool refused = false;
    try {
        pages.grow(std::size_t{1} << 62);
    } catch (const std::bad_alloc&) {
        refused = true;
    }
    CHECK(refused && pages.bytes() == std::size_t{1} << 33 && bytes[7] == 42);
}

TEST(memory_scatters_what_it_gathers) {
    std::mt19937 random(1);
    DenseMemory<2> memory;
    std::map<std::int64_t, std::array<float, 2>> truth;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::int64_t> ids;
        for (std::int64_t id = 0; id < 1000; ++id)
            if (random() % 20 == 0) ids.push_back(id * (1 + round));
        memory.reserve(ids.empty() ? 0 : ids.back() + 1);
        RowBuffer row;
        row.resize(ids.size());
        const std::array<float*, 2> planes{row.row().plane(1), row.row().plane(2)};
        memory.gather(ids.data(), ids.size(), planes);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto known = truth.count(ids[i]) ? truth[ids[i]] : std::array<float, 2>{};
            CHECK(planes[0][i] == known[0] && planes[1][i] == known[1]);
            truth[ids[i]] = {planes[0][i] += 1.0f, planes[1][i] = static_cast<float>(random() % 1000)};
        }
        memory.scatter(ids.data(), ids.size(), planes);
    }
    std::size_t seen = 0;
    memory.for_each_touched([&](std::int64_t id, const auto& cell) {
        CHECK(cell == truth.at(id));
        ++seen;
    });
    CHECK(seen == truth.size() && memory.n_touched() == seen);
}

// Cells come and go, and those that stay are found; some ids compete for the same places.
TEST(hash_memory_equals_a_map) {
    std::mt19937 random(7);
    HashMemory<2> memory;
    std::map<std::int64_t, std::array<float, 2>> truth;
    for (int round = 0; round < 30000; ++round) {
        const std::int64_t id = random() % 2 ? random() % 300 : (std::int64_t{1} << 61) + 64 * (random() % 300);
        const bool leaves = random() % 3 == 0;
        const std::array<float, 2> cell{leaves ? 0.0f : static_cast<float>(random() % 100), leaves ? 0.0f : 1.0f};
        memory.store(id, cell);
        if (leaves)
            truth.erase(id);
        else
            truth[id] = cell;
        if (round % 100 == 0) {
            RowBuffer row;
            std::vector<std::int64_t> ids;
            for (std::int64_t k = 0; k < 300; ++k) ids.push_back(k);
            row.resize(ids.size());
            const std::array<float*, 2> planes{row.row().plane(1), row.row().plane(2)};
            memory.gather(ids.data(), ids.size(), planes);
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const auto known = truth.count(ids[i]) ? truth[ids[i]] : std::array<float, 2>{};
                CHECK(planes[0][i] == known[0] && planes[1][i] == known[1]);
                if (known[1] != 0.0f) truth[ids[i]][0] = planes[0][i] += 1.0f;
            }
            memory.scatter(ids.data(), ids.size(), planes);
        }
    }
    std::vector<std::int64_t> seen;
    memory.for_each_touched([&](std::int64_t id, const auto& cell) {
        CHECK(cell == truth.at(id) && (seen.empty() || seen.back() < id));
        seen.push_back(id);
    });
    CHECK(seen.size() == truth.size() && memory.n_touched() == seen.size());
}

}  // namespace
