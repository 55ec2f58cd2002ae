// Memories against a std::map.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "thresher/memory/adaptive.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/memory/sketch.hpp"
#include "thresher/row.hpp"

using namespace thresher;

namespace {

// Of a table that is at most half full, with a hash as good as random bits: a third of this is seen once in a thousand.
constexpr std::size_t kLongestSearch = 150;

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

#if defined(__linux__)
// How many mappings of the process lie in a region, and the memory that they take.
struct Mapped {
    int n = 0;
    std::size_t resident = 0;  // bytes
};
Mapped mapped(const ZeroPages& pages) {
    const auto begin = reinterpret_cast<std::uintptr_t>(pages.data()), end = begin + pages.bytes();
    Mapped out;
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0, last = 0;
        std::size_t kilobytes = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) == 2) {
            inside = first < end && begin < last;
            out.n += inside;
        } else if (inside && std::sscanf(line.c_str(), "Rss: %zu kB", &kilobytes) == 1) {
            out.resident += kilobytes * 1024;
        }
    }
    return out;
}

// Linux before 6.17 can't move a region of several mappings, and the next growth would fail there.
TEST(pages_that_grow_stay_one_mapping) {
    for (const bool huge : {false, true}) {
        ZeroPages pages;
        for (std::size_t megabytes = 2; megabytes <= 64; megabytes *= 2) {
            pages.grow(megabytes << 20);
            if (huge) pages.use_huge_pages(pages.bytes());
            std::memset(static_cast<char*>(pages.data()) + pages.bytes() / 2, 1, 4096);
            CHECK(mapped(pages).n == 1);
        }
        pages.grow(std::size_t{1} << 33);
        CHECK(mapped(pages).n == 1 && !pages.uses_huge_pages());
    }
}

TEST(few_bytes_take_few_pages) {
    ZeroPages pages;
    pages.grow(20'000 * 8);
    pages.use_huge_pages(20'000 * 8);
    std::memset(pages.data(), 1, 20'000 * 8);
    CHECK(mapped(pages).resident <= 40 * 4096);
}
#endif

template <class M>
void check_against_a_map(M memory, std::size_t n_classes, std::int64_t spread) {
    std::mt19937 random(3);
    using Cell = std::array<float, 2>;
    std::map<std::int64_t, std::vector<Cell>> truth;
    for (int round = 0; round < 300; ++round) {
        std::vector<std::int64_t> ids;
        for (std::int64_t k = 0; k < 400; ++k)
            if (random() % 10 == 0) ids.push_back((k + random() % 3 * 400) * spread);
        std::sort(ids.begin(), ids.end());
        memory.admit(ids.empty() ? 0 : ids.back() + 1);
        memory.locate(ids.data(), ids.size());
        RowBuffer row(n_classes);
        row.resize(ids.size());
        for (std::size_t c = 0; c < n_classes; ++c) {
            const std::array<float*, 2> planes{row.row(c).plane(1), row.row(c).plane(2)};
            memory.gather(ids.data(), ids.size(), c, planes);
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const Cell known = truth.count(ids[i]) ? truth[ids[i]][c] : Cell{};
                CHECK(planes[0][i] == known[0] && planes[1][i] == known[1]);
            }
        }
        // As a step does: two of the classes change.
        for (const std::size_t c : {random() % n_classes, random() % n_classes}) {
            const std::array<float*, 2> planes{row.row(c).plane(1), row.row(c).plane(2)};
            for (std::size_t i = 0; i < ids.size(); ++i) {
                auto& cells = truth.try_emplace(ids[i], n_classes).first->second;
                cells[c] = {planes[0][i] += 1.0f, planes[1][i] += static_cast<float>(random() % 100)};
            }
            memory.scatter(ids.data(), ids.size(), c, planes);
        }
    }
    std::vector<std::int64_t> seen;
    memory.for_each_touched([&](std::int64_t id) {
        CHECK(seen.empty() || seen.back() < id);
        for (std::size_t c = 0; c < n_classes; ++c) CHECK(memory.load(id, c) == truth.at(id)[c]);
        seen.push_back(id);
    });
    CHECK(seen.size() == truth.size() && memory.n_touched() == seen.size());
    memory.update([](const Cell& cell) { return Cell{-cell[0], cell[1]}; });
    for (const auto& [id, cells] : truth)
        for (std::size_t c = 0; c < n_classes; ++c)
            CHECK(memory.load(id, c)[0] == -cells[c][0] && memory.load(id, c)[1] == cells[c][1]);
}

TEST(every_memory_equals_a_map) {
    constexpr std::size_t kMany = std::dynamic_extent;
    for (const std::int64_t spread : {1, 1000}) {
        check_against_a_map(DenseMemory<2>(1), 1, spread);
        check_against_a_map(DenseMemory<2, kMany>(3), 3, spread);
        check_against_a_map(DenseMemory<2, kMany>(600), 600, spread);  // a feature takes more than a page
        check_against_a_map(HashMemory<2>(1), 1, spread);
        check_against_a_map(HashMemory<2, kMany>(3), 3, spread);
        for (const MemoryKind kind : {MemoryKind::automatic, MemoryKind::dense, MemoryKind::hash})
            check_against_a_map(AdaptiveMemory<2, kMany>(3, {kind}), 3, spread);
    }
    for (const MemoryKind kind : {MemoryKind::automatic, MemoryKind::hash})
        check_against_a_map(AdaptiveMemory<2>(1, {kind}), 1, std::int64_t{1} << 50);
}

template <class M>
void touch(M& memory, std::int64_t id) {
    const std::int64_t ids[] = {id};
    float mean[kLanes] = {1.0f}, excess[kLanes] = {2.0f};
    memory.admit(id + 1);
    memory.locate(ids, 1);
    memory.scatter(ids, 1, 0, {mean, excess});
}

// Spread ids move to a hash table, and back when they fill the range.
TEST(features_move_where_they_fit) {
    AdaptiveMemory<2> narrow, wide;
    touch(wide, 40'000'000);
    for (std::int64_t k = 0; k < 20'000; ++k) touch(narrow, k * 1'000), touch(wide, k * 1'000);
    CHECK(!narrow.is_hash());  // 160 MB at most
    CHECK(wide.is_hash() && wide.n_touched() == 20'001);
    for (std::int64_t id = 0; id < 3'700'000; ++id) touch(wide, id);
    CHECK(wide.is_hash());  // 104 MB, of 320 MB
    for (std::int64_t id = 3'700'000; id < 4'000'000; ++id) touch(wide, id);
    CHECK(!wide.is_hash() && wide.n_touched() == 4'000'000 + 16'001);
    CHECK(wide.load(7, 0)[1] == 2.0f && wide.load(40'000'000, 0)[0] == 1.0f && wide.load(39'000'001, 0)[0] == 0.0f);
    touch(wide, std::int64_t{1} << 60);
    CHECK(wide.is_hash() && wide.load(std::int64_t{1} << 60, 0)[0] == 1.0f && wide.load(7, 0)[1] == 2.0f);
    touch(wide, (std::int64_t{1} << 61) + 1);  // times eight bytes it is eight more than 2^64
    CHECK(wide.is_hash());
}

// No ids make a search long, neither steps nor those that a hash without a secret would put into one place: here, the
// upper bits of what one multiplication leaves in its middle and its overflow are 0.
TEST(no_ids_make_a_search_long) {
    const auto longest = [](std::int64_t n, auto id_at) {
        HashMemory<2> memory;
        for (std::int64_t k = 0; k < n; ++k) memory.store(id_at(k), 0, {1.0f, 2.0f});
        return memory.longest_search();
    };
    for (const std::int64_t step : {1LL, 1000LL, 433494437LL, 4807526976LL, 1LL << 20, 1LL << 32, 1LL << 45})
        CHECK(longest(60'000, [=](std::int64_t k) { return k * step; }) < kLongestSearch);
    std::int64_t id = 0;
    CHECK(longest(20'000, [&](std::int64_t) {
              __extension__ using Wide = unsigned __int128;
              for (;;) {
                  const auto product = static_cast<Wide>(++id) * 0x9e3779b97f4a7c15u;
                  if ((static_cast<std::uint32_t>(product >> 32) ^ static_cast<std::uint32_t>(product >> 64)) <
                      1u << 24)
                      return id;
              }
          }) < kLongestSearch);
}

// An entry of very many classes is larger than what is allocated at first.
TEST(a_feature_can_have_any_number_of_classes) {
    constexpr std::size_t kClasses = 300'000;
    HashMemory<2, std::dynamic_extent> memory(kClasses);
    CHECK(memory.load(5, kClasses - 1)[0] == 0.0f);
    memory.store(5, kClasses - 1, {1.0f, 2.0f});
    CHECK(memory.load(5, kClasses - 1)[1] == 2.0f && memory.load(6, kClasses - 1)[1] == 0.0f);
}

// Where features lie, and what they are said to take, depends neither on what was reserved nor on a stop on the way.
TEST(features_move_by_the_rows_alone) {
    AdaptiveMemory<2> memory, reserved;
    reserved.reserve(std::int64_t{1} << 32);
    std::vector<std::int64_t> ids;
    std::mt19937_64 random(7);
    for (int k = 0; k < 10'000; ++k) {
        ids.push_back(static_cast<std::int64_t>(random() >> 32));
        touch(memory, ids.back());
        touch(reserved, ids.back());
        CHECK(memory.is_hash() == reserved.is_hash());
    }
    CHECK(memory.is_hash());
    std::sort(ids.begin(), ids.end());
    AdaptiveMemory<2> restored;
    restored.make_room(ids);
    CHECK(restored.is_hash());
    for (const std::int64_t id : ids) restored.store(id, 0, {1.0f, 2.0f});
    CHECK(memory.n_pages() == reserved.n_pages() && memory.n_pages() == restored.n_pages());
    CHECK(memory.n_pages() < 100);
}

// With room for all, a sketch is exact; features enter, leave and share rows.
template <class Table>
void check_sketch(std::size_t bytes, bool is_exact) {
    std::mt19937 random(5);
    SketchMemory<Table> sketch(1, {MemoryKind::automatic, bytes});
    DenseMemory<2> dense(1);
    dense.reserve(1000);
    for (int round = 0; round < 500; ++round) {
        std::vector<std::int64_t> ids;
        for (std::int64_t id = 0; id < 300; ++id)
            if (random() % 10 == 0) ids.push_back(id);
        RowBuffer rows[2];
        std::array<std::array<float*, 2>, 2> planes;
        sketch.locate(ids.data(), ids.size());
        for (int k = 0; k < 2; ++k) {
            rows[k].resize(ids.size());
            planes[k] = {rows[k].row().plane(1), rows[k].row().plane(2)};
        }
        sketch.gather(ids.data(), ids.size(), 0, planes[0]);
        dense.gather(ids.data(), ids.size(), 0, planes[1]);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (is_exact) CHECK(planes[0][0][i] == planes[1][0][i] && planes[0][1][i] == planes[1][1][i]);
            const bool keeps_means = std::is_same_v<Table, SignedTable>;
            for (int k = 0; k < 2; ++k) {
                const bool is_member = std::signbit(planes[k][1][i]);
                if (keeps_means || is_member) planes[k][0][i] += static_cast<float>(ids[i] % 7) - 3.0f;
                planes[k][1][i] = std::copysign(std::fabs(planes[k][1][i]) + 1.0f, planes[k][1][i]);
            }
        }
        sketch.scatter(ids.data(), ids.size(), 0, planes[0]);
        dense.scatter(ids.data(), ids.size(), 0, planes[1]);
        const auto id = static_cast<std::int64_t>(random() % 300);
        const auto turn = [&](auto& memory) {
            auto cell = memory.load(id, 0);
            const bool is_member = std::signbit(cell[1]);
            if (is_member && std::is_same_v<Table, CountMinTable>) cell[0] = 0.0f;
            memory.store(id, 0, {cell[0], is_member ? std::fabs(cell[1]) : -std::fabs(cell[1])});
        };
        turn(sketch);
        turn(dense);
    }
    for (std::int64_t id = 0; id < 300; ++id) {
        const auto found = sketch.load(id, 0), truth = dense.load(id, 0);
        CHECK(std::signbit(found[1]) == std::signbit(truth[1]));
        if (is_exact) CHECK(found == truth);
        if (std::is_same_v<Table, CountMinTable>) CHECK(std::fabs(found[1]) >= std::fabs(truth[1]));
    }
}

TEST(a_sketch_without_collisions_is_exact) {
    check_sketch<SignedTable>(std::size_t{1} << 26, true);
    check_sketch<CountMinTable>(std::size_t{1} << 26, true);
    check_sketch<SignedTable>(4096, false);
    check_sketch<CountMinTable>(4096, false);  // and the precision is never below the true one
}

TEST(memory_scatters_what_it_gathers) {
    std::mt19937 random(1);
    DenseMemory<2> memory;
    std::map<std::int64_t, std::array<float, 2>> truth;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::int64_t> ids;
        for (std::int64_t id = 0; id < 1000; ++id)
            if (random() % 20 == 0) ids.push_back(id * (1 + round));
        memory.admit(ids.empty() ? 0 : ids.back() + 1);
        RowBuffer row;
        row.resize(ids.size());
        const std::array<float*, 2> planes{row.row().plane(1), row.row().plane(2)};
        memory.locate(ids.data(), ids.size());
        memory.gather(ids.data(), ids.size(), 0, planes);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto known = truth.count(ids[i]) ? truth[ids[i]] : std::array<float, 2>{};
            CHECK(planes[0][i] == known[0] && planes[1][i] == known[1]);
            truth[ids[i]] = {planes[0][i] += 1.0f, planes[1][i] = static_cast<float>(random() % 1000)};
        }
        memory.scatter(ids.data(), ids.size(), 0, planes);
    }
    std::size_t seen = 0;
    memory.for_each_touched([&](std::int64_t id) {
        CHECK(memory.load(id, 0) == truth.at(id));
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
        memory.store(id, 0, cell);
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
            memory.locate(ids.data(), ids.size());
            memory.gather(ids.data(), ids.size(), 0, planes);
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const auto known = truth.count(ids[i]) ? truth[ids[i]] : std::array<float, 2>{};
                CHECK(planes[0][i] == known[0] && planes[1][i] == known[1]);
                if (known[1] != 0.0f) truth[ids[i]][0] = planes[0][i] += 1.0f;
            }
            memory.scatter(ids.data(), ids.size(), 0, planes);
        }
    }
    std::vector<std::int64_t> seen;
    memory.for_each_touched([&](std::int64_t id) {
        CHECK(memory.load(id, 0) == truth.at(id) && (seen.empty() || seen.back() < id));
        seen.push_back(id);
    });
    CHECK(seen.size() == truth.size() && memory.n_touched() == seen.size());
}

}  // namespace
