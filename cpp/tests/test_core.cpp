// The core without Python, under the sanitizers: each part against a plain statement of what it should do.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "thresher/batch/mrmr.hpp"
#include "thresher/columns.hpp"
#include "thresher/memory/dense.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/memory/pages.hpp"
#include "thresher/ranked_set.hpp"
#include "thresher/readers/ranges.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/readers/vw.hpp"
#include "thresher/row.hpp"
#include "thresher/synth.hpp"
#include "thresher/top_set.hpp"
#include "thresher/writers/svmlight.hpp"

using namespace thresher;

namespace {

void pages_grow_and_keep_their_content() {
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

void memory_scatters_what_it_gathers() {
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
    CHECK(seen == truth.size());
}

// Cells come and go, and whoever stays is found; ids that fall on the same places among them.
void hash_memory_equals_a_map() {
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
    CHECK(seen.size() == truth.size());
}

// The lazy heap against a look at all members, with ranks that only grow and many ties.
void top_set_equals_a_full_look() {
    std::mt19937 random(2);
    // The last is more than the heap holds at once; ids of more than 32 bits tie in their lower ones.
    for (const auto& [budget, n_rounds, spread] : {std::tuple<std::uint64_t, int, std::int64_t>{1, 3000, 1},
                                                   {2, 3000, 1},
                                                   {7, 3000, 1},
                                                   {30, 3000, std::int64_t{1} << 32},
                                                   {5000, 11000, 3}}) {
        TopSet set(budget);
        std::map<std::int64_t, float> rank;
        struct {
            std::map<std::int64_t, float>& rank;
            float operator()(std::int64_t id) const { return rank[id]; }
            void expect(std::int64_t) const {}
        } ranks_now{rank};
        std::vector<std::int64_t> members;
        for (int round = 0; round < n_rounds; ++round) {
            const auto n_ids = static_cast<std::int64_t>(budget + budget / 3 + 10);
            const std::int64_t id = static_cast<std::int64_t>(random()) % n_ids * spread;
            rank[id] += static_cast<float>(random() % 3);
            const auto at = std::find(members.begin(), members.end(), id);
            if (at != members.end()) continue;
            const auto answer = set.offer(id, rank[id], ranks_now);
            if (members.size() < budget) {
                CHECK(answer.enters && answer.leaver == TopSet::kNobody);
                members.push_back(id);
                continue;
            }
            const auto lowest = std::min_element(members.begin(), members.end(), [&](std::int64_t a, std::int64_t b) {
                return rank[a] < rank[b] || (rank[a] == rank[b] && a > b);
            });
            if (rank[id] > rank[*lowest]) {
                CHECK(answer.enters && answer.leaver == *lowest);
                *lowest = id;
            } else {
                CHECK(!answer.enters);
            }
            CHECK(set.size() == members.size());
        }
    }
}

// Two bounds and a pool against a look at all members, with ranks that rise and fall, many ties, and pools of several
// blocks; and a pool that does not grow while nobody challenges.
void ranked_set_equals_a_full_look() {
    std::mt19937 random(3);
    for (const auto& [budget, n_ids, n_rows] :
         {std::tuple<std::size_t, std::size_t, int>{1, 5, 2000}, {5, 20, 2000}, {50, 200, 2000}, {1500, 4000, 1500}}) {
        for (const bool ties : {false, true}) {
            RankedSet set(budget);
            std::vector<float> rank(n_ids, 0.0f);
            std::set<std::size_t> members;
            auto ranks_now = [&](std::int64_t id) {
                return members.count(static_cast<std::size_t>(id)) ? rank[static_cast<std::size_t>(id)] : -1.0f;
            };
            for (int r = 0; r < n_rows; ++r) {
                std::set<std::size_t> row;
                for (std::size_t k = 0; k < 1 + random() % 30; ++k) row.insert(random() % n_ids);
                float lowest = std::numeric_limits<float>::max();
                std::vector<std::size_t> outsiders;
                for (const std::size_t id : row) {
                    const float before = rank[id];
                    rank[id] = ties ? static_cast<float>(random() % 6) : static_cast<float>(random() % 100'000) / 7.0f;
                    if (!members.count(id)) {
                        outsiders.push_back(id);
                        continue;
                    }
                    lowest = std::min(lowest, rank[id]);
                    if (before >= set.watched() && rank[id] < set.watched()) set.fell(static_cast<std::int64_t>(id));
                }
                set.lower(lowest);
                if (random() % 200 == 0) set.forget_ranks();
                for (const std::size_t id : outsiders) {
                    const bool open = members.size() < budget;
                    const auto low =
                        std::min_element(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
                            return rank[a] < rank[b] || (rank[a] == rank[b] && a > b);
                        });
                    const bool enters = open || rank[id] > rank[*low];
                    const std::int64_t leaver = open ? RankedSet::kNobody : static_cast<std::int64_t>(*low);
                    if (rank[id] > set.threshold()) {
                        const auto answer = set.offer(static_cast<std::int64_t>(id), rank[id], ranks_now);
                        CHECK(answer.enters == enters && (!enters || answer.leaver == leaver));
                    } else {
                        CHECK(!enters);
                    }
                    if (!enters) continue;
                    if (!open) members.erase(low);
                    members.insert(id);
                }
            }
            for (std::int64_t k = 0; k < 100'000; ++k) set.fell(static_cast<std::int64_t>(*members.begin()));
            CHECK(set.pool_size() <= budget + 65);
        }
    }
}

void lanes_add_in_a_fixed_order() {
    // Lane 0 and lane 8 meet first: 1e16 − 1e16 leaves nothing, and the ones that follow all count. In any order that
    // adds a 1 to 1e16 first, that 1 is lost.
    LaneSum sum;
    for (std::size_t k = 0; k < kLanes; ++k) sum.lane[k] = 1.0;
    sum.lane[0] = 1e16, sum.lane[8] = -1e16;
    CHECK(sum.total() == 14.0);
}

struct Rows {
    std::vector<std::int32_t> starts{0}, ids;
    std::vector<float> values;
    std::vector<std::int32_t> classes;

    void add(std::vector<std::int32_t> row_ids, std::vector<float> row_values, std::int32_t label) {
        ids.insert(ids.end(), row_ids.begin(), row_ids.end());
        values.insert(values.end(), row_values.begin(), row_values.end());
        starts.push_back(static_cast<std::int32_t>(ids.size()));
        classes.push_back(label);
    }
    CsrBatch<std::int32_t> batch() const {
        return {starts.data(), ids.data(), {values.data(), nullptr}, classes.size()};
    }
};

void faults_are_named() {
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

void picked_columns_are_those_asked_for() {
    Rows rows;
    rows.add({0, 3, 8}, {1, 2, 3}, 0);
    rows.add({}, {}, 0);
    rows.add({1, 8, 9}, {4, 5, 6}, 1);
    const std::int64_t wanted[] = {3, 8};
    std::vector<std::int64_t> starts(4), places;
    std::vector<std::int32_t> columns;
    ColumnPicker(wanted, 2).pick(rows.batch(), starts.data(), columns, places);
    CHECK((starts == std::vector<std::int64_t>{0, 2, 2, 3}));
    CHECK((columns == std::vector<std::int32_t>{0, 1, 1}));
    CHECK((places == std::vector<std::int64_t>{1, 2, 4}));
}

// Text of every kind, mostly near what is right, in a buffer that ends where it ends.
void readers_stay_within_their_bounds() {
    std::mt19937 random(5);
    const char* const parts[] = {"1",    "-1",      "+1.5e-3", " ",   " ",  " ", ":",   "12:3",
                                 " 3:4", " 5:0.25", "\n",      "\n",  "\r", "#", "|",   "|f",
                                 "x",    "9",       "qid:7",   "1e9", "'t", ".", "nan", "\t"};
    for (int round = 0; round < 20000; ++round) {
        std::string text;
        const std::size_t n_parts = random() % 40;
        for (std::size_t k = 0; k < n_parts; ++k) text += parts[random() % std::size(parts)];
        for (std::size_t k = random() % 4; k == 1 && !text.empty(); k = 0)
            text[random() % text.size()] = static_cast<char>(random());
        const std::unique_ptr<char[]> exact(new char[text.size() + 1]);
        std::memcpy(exact.get(), text.c_str(), text.size() + 1);
        const std::string_view view(exact.get(), text.size());
        for (const bool skip : {false, true}) {
            const auto svmlight = read_svmlight<std::int32_t>(view, skip);
            const auto vw = read_vw<std::int64_t>(view, skip);
            CHECK(svmlight.ids.size() == svmlight.values.size() && vw.ids.size() == vw.values.size());
            CHECK(static_cast<std::size_t>(svmlight.starts.data()[svmlight.n_rows()]) == svmlight.ids.size());
            for (std::size_t r = 0; r < svmlight.n_rows() && !svmlight.ids_too_wide; ++r)
                for (auto i = svmlight.starts.data()[r] + 1; i < svmlight.starts.data()[r + 1]; ++i)
                    CHECK(svmlight.ids.data()[i - 1] < svmlight.ids.data()[i]);
        }
    }
}

// However a file is cut into ranges, each line is in exactly one of them.
void ranges_share_out_the_lines() {
    std::mt19937 random(6);
    for (int round = 0; round < 300; ++round) {
        std::string content;
        const std::size_t n_lines = random() % 12;
        for (std::size_t k = 0; k < n_lines; ++k)
            content += std::string(random() % (round % 9 ? 30 : 9000), 'a') + "\n";
        if (random() % 2) content += "last line";
        std::FILE* file = std::tmpfile();
        CHECK(file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size());
        std::fflush(file);
        const std::size_t step = 1 + random() % 50;
        std::string together;
        for (std::size_t begin = 0; begin < content.size(); begin += step) {
            const auto end = std::min(begin + step, content.size());
            const LineRange range =
                read_line_range(fileno(file), static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
            CHECK(range.text().data()[range.text().size()] == '\0');
            together += range.text();
        }
        CHECK(together == content);
        std::fclose(file);
    }
}

void text_reads_back() {
    Rows rows;
    rows.add({0, 3}, {0.1f, -1e-30f}, 0);
    rows.add({}, {}, 1);
    rows.add({2147483647}, {16777217.0f}, 1);
    const std::string text = write_svmlight(rows.batch(), 1, [&](std::size_t r) { return r == 0 ? "-1" : "1"; });
    const auto back = read_svmlight<std::int64_t>(text, false);
    CHECK(back.n_rows() == 3 && back.bad.empty() && back.ids.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(back.ids.data()[i] == rows.ids[i] + std::int64_t{1} && back.values.data()[i] == rows.values[i]);
}

// Counts and logarithms from scratch for every pair.
double information(const std::vector<int>& a, const std::vector<int>& b) {
    std::map<std::pair<int, int>, double> both;
    std::map<int, double> of_a, of_b;
    const double share = 1.0 / static_cast<double>(a.size());
    for (std::size_t r = 0; r < a.size(); ++r) both[{a[r], b[r]}] += share, of_a[a[r]] += share, of_b[b[r]] += share;
    double sum = 0.0;
    for (const auto& [cell, p] : both) sum += p * std::log2(p / (of_a[cell.first] * of_b[cell.second]));
    return sum;
}

void mrmr_takes_the_best_score_each_time() {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const std::size_t n_rows = 1 + random() % 40, d = 1 + random() % 12, n_classes = 2 + random() % 3;
        const int highest = round % 2 ? 1 : 2;
        std::vector<std::vector<int>> columns(d, std::vector<int>(n_rows));
        std::vector<std::int64_t> starts{0};
        std::vector<std::int32_t> ids, classes;
        std::vector<std::uint8_t> values;
        for (std::size_t r = 0; r < n_rows; ++r) {
            for (std::size_t j = 0; j < d; ++j)
                if (random() % 3 == 0) {
                    columns[j][r] = 1 + static_cast<int>(random() % static_cast<unsigned>(highest));
                    ids.push_back(static_cast<std::int32_t>(j));
                    values.push_back(static_cast<std::uint8_t>(columns[j][r]));
                }
            starts.push_back(static_cast<std::int64_t>(ids.size()));
            classes.push_back(static_cast<std::int32_t>(random() % n_classes));
        }
        const bool quotient = random() % 2;
        const Levels rows{starts.data(), ids.data(), values.data(), n_rows, d};
        Mrmr mrmr(rows, classes.data(), n_classes, quotient ? Mrmr::Scheme::quotient : Mrmr::Scheme::difference);
        while (mrmr.chosen().size() < d && !mrmr.exhausted()) mrmr.work(1 + random() % 30, d);
        std::vector<std::size_t> open;
        for (std::size_t j = 0; j < d; ++j)
            if (std::any_of(columns[j].begin(), columns[j].end(), [&](int v) { return v != columns[j][0]; }))
                open.push_back(j);
        CHECK(mrmr.chosen().size() == open.size());
        for (std::size_t k = 0; k < mrmr.chosen().size(); ++k) {
            const auto score = [&](std::size_t j) {
                double redundancy = 0.0;
                for (std::size_t s = 0; s < k; ++s)
                    redundancy += information(columns[j], columns[static_cast<std::size_t>(mrmr.chosen()[s])]) /
                                  static_cast<double>(k);
                const double relevance = information(columns[j], std::vector<int>(classes.begin(), classes.end()));
                if (k == 0) return relevance;
                return quotient ? relevance / (redundancy + 0.0001) : relevance - redundancy;
            };
            const auto taken = static_cast<std::size_t>(mrmr.chosen()[k]);
            for (const std::size_t j : open) CHECK(score(j) <= score(taken) + 2e-9 * std::max(1.0, score(taken)));
            CHECK(std::erase(open, taken) == 1);
        }
    }
}

}  // namespace

int main() {
    pages_grow_and_keep_their_content();
    memory_scatters_what_it_gathers();
    hash_memory_equals_a_map();
    top_set_equals_a_full_look();
    ranked_set_equals_a_full_look();
    lanes_add_in_a_fixed_order();
    faults_are_named();
    picked_columns_are_those_asked_for();
    readers_stay_within_their_bounds();
    ranges_share_out_the_lines();
    text_reads_back();
    mrmr_takes_the_best_score_each_time();
    std::puts("11 passed, 0 failed");
}
