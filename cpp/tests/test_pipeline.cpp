// Reading, parsing, learning and asking at the same time, as the Python pipeline does it: threads that parse share a
// file, a naming and the recycled buffers; one learns what they parsed, in the order of the file; others score, list
// the members, save the state and ask for names meanwhile. ThreadSanitizer watches, and the result must be that of one
// thread.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/linear_scorer.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/adaptive.hpp"
#include "thresher/names/name_book.hpp"
#include "thresher/names/naming.hpp"
#include "thresher/readers/json_lines.hpp"
#include "thresher/readers/line_range.hpp"
#include "thresher/readers/svmlight.hpp"
#include "thresher/readers/vw.hpp"
#include "thresher/selector/two.hpp"

using namespace thresher;

namespace {

using L = ShadowSofs<WatchedPool>;
using Selector = TwoClassSelector<L, AdaptiveMemory<L::kWidth>>;
using Parsed = ParsedText<std::int64_t>;
using Parse = std::function<Parsed(std::string_view)>;

constexpr std::int64_t kPiece = 4096, kWidest = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMembers = 40, kParsers = 4;

CsrBatch<std::int64_t> batch_of(const Parsed& rows) {
    return {rows.starts.data(), rows.ids.data(), {rows.values.data(), nullptr}, rows.n_rows()};
}

// What is learned, and who asks about it.
class Run {
  public:
    Run() : selector_(2, {kMembers, {Norm::l2, true}, {0.5}}) {}

    void learn(const Parsed& rows) {
        CHECK(rows.bad.empty());
        std::vector<std::int32_t> classes(rows.n_rows());
        for (std::size_t r = 0; r < rows.n_rows(); ++r) classes[r] = rows.labels.data()[r] > 0.0;
        Lesson lesson{{classes.data()}};
        lesson.end = classes.size();
        CHECK(selector_.learn(batch_of(rows), kWidest, lesson).kind == Fault::Kind::none);
        if (!rows.names) return;
        book_.keep(selector_.member_ids());
        book_.read(std::span<const std::int64_t>(rows.ids.data(), rows.ids.size()),
                   {rows.names->marks.data(),
                    nullptr,
                    {rows.names->text.data(), rows.names->text.size()},
                    rows.names->prefixes},
                   false);
    }

    void score(const Parsed& rows) {
        const Ranking members = selector_.members();
        const LinearScorer scorer(1, Norm::l2, members, {0.0});
        std::vector<double> margins(rows.n_rows()), others(rows.n_rows());
        selector_.score(batch_of(rows), {0, rows.n_rows()}, margins.data());
        scorer.score(batch_of(rows), {0, rows.n_rows()}, others.data());
        CHECK(members.ids.size() <= kMembers);
    }

    void ask() {
        Selector copy(2, {kMembers, {Norm::l2, true}, {0.5}});
        copy.restore(selector_.state().view());
        CHECK(copy.members().ids.size() <= kMembers && copy.counters().n_samples <= selector_.counters().n_samples);
        book_.for_each([](std::int64_t id, const std::string& name) { CHECK(name_id(name) == id); });
        CHECK(book_.clashes().n == 0);
    }

    // All that a run leaves behind.
    bool equals(const Run& other) const {
        const State one = selector_.state(), two = other.selector_.state();
        auto names = [](const NameBook& book) {
            std::map<std::int64_t, std::string> found;
            book.for_each([&](std::int64_t id, const std::string& name) { found[id] = name; });
            return found;
        };
        return one.ids == two.ids && one.cells == two.cells && one.intercept == two.intercept &&
               one.counters.n_samples == two.counters.n_samples && names(book_) == names(other.book_);
    }
    bool has_names() const {
        bool some = false;
        book_.for_each([&](std::int64_t, const std::string&) { some = true; });
        return some;
    }

  private:
    Selector selector_;
    NameBook book_;
};

// Batches in the order of the file, whoever parsed them; a few may wait.
class InOrder {
  public:
    void put(std::size_t place, Parsed rows) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return place < next_ + 2 * kParsers; });
        waiting_.emplace(place, std::move(rows));
        changed_.notify_all();
    }
    Parsed take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.contains(next_); });
        Parsed rows = std::move(waiting_.extract(next_).mapped());
        ++next_;
        changed_.notify_all();
        return rows;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::size_t, Parsed> waiting_;
    std::size_t next_ = 0;
};

void read_in_parallel(const std::string& content, const Parse& parse) {
    std::FILE* const file = std::tmpfile();
    CHECK(file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size());
    std::fflush(file);
    const auto size = static_cast<std::int64_t>(content.size());
    const TextFile whole{fileno(file), size, std::size_t{1} << 20};
    const auto n_pieces = static_cast<std::size_t>((size + kPiece - 1) / kPiece);
    auto parse_piece = [&](std::size_t place) {
        const auto begin = static_cast<std::int64_t>(place) * kPiece;
        return parse(read_line_range(whole, begin, std::min(begin + kPiece, size)).text());
    };

    Run alone;
    for (std::size_t place = 0; place < n_pieces; ++place) alone.learn(parse_piece(place));

    Run together;
    InOrder pieces;
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> done = false;
    std::atomic<int> n_failed = 0;
    std::vector<std::thread> threads;
    auto start = [&](auto work) {
        threads.emplace_back([&, work] {
            try {
                work();
            } catch (const std::exception&) {
                ++n_failed;
            }
        });
    };
    for (std::size_t k = 0; k < kParsers; ++k)
        start([&] {
            for (std::size_t place; (place = next++) < n_pieces;) pieces.put(place, parse_piece(place));
        });
    // Whoever asks lets go of the locks for a moment; else the learner would seldom get one.
    auto ask_often = [&](auto question) {
        start([&, question] {
            for (; !done; std::this_thread::sleep_for(std::chrono::microseconds(200))) question();
        });
    };
    const Parsed first = parse_piece(0);
    for (int k = 0; k < 2; ++k) ask_often([&] { together.score(first); });
    ask_often([&] { together.ask(); });
    for (std::size_t place = 0; place < n_pieces; ++place) together.learn(pieces.take());
    done = true;
    for (std::thread& each : threads) each.join();
    std::fclose(file);
    CHECK(n_failed == 0);
    CHECK(together.equals(alone));
    CHECK(together.has_names() == first.names.has_value());
}

// Lines of words, some of which speak for the first class and some for the second.
template <class Write>
std::string lines(std::size_t n, Write write) {
    std::mt19937 random(11);
    std::string text;
    for (std::size_t r = 0; r < n; ++r) {
        const bool positive = random() % 2 == 0;
        std::vector<unsigned> words;
        for (int k = 0; k < 12; ++k) words.push_back(2 * (random() % 200) + (random() % 4 == 0 ? 0 : positive));
        text += write(positive ? "1" : "-1", words);
    }
    return text;
}

TEST(svmlight_in_parallel_learns_the_same) {
    read_in_parallel(lines(6000,
                           [](const char* label, const std::vector<unsigned>& words) {
                               std::string line = label;
                               for (const unsigned word : words) line += " " + std::to_string(word) + ":0.5";
                               return line + "\n";
                           }),
                     [](std::string_view text) { return read_svmlight<std::int64_t>(text, false); });
}

TEST(named_vw_in_parallel_learns_the_same) {
    read_in_parallel(lines(6000,
                           [](const char* label, const std::vector<unsigned>& words) {
                               std::string line = std::string(label) + " |w";
                               for (const unsigned word : words) line += " x" + std::to_string(word);
                               return line + "\n";
                           }),
                     [](std::string_view text) { return read_named_vw(text, false, Labels::required, true); });
}

TEST(json_in_parallel_learns_the_same) {
    const Naming naming({{"t", ColumnKind::text}, {"c", ColumnKind::category}}, {1, 2});
    read_in_parallel(
        lines(1500,
              [](const char* label, const std::vector<unsigned>& words) {
                  std::string text;
                  for (const unsigned word : words) text += " W" + std::to_string(word);
                  return std::string("{\"y\": ") + label + ", \"c\": " + std::to_string(words[0]) + ", \"t\": \"" +
                         text + "\"}\n";
              }),
        [&](std::string_view text) { return JsonLines(naming, {"y", "", Labels::required}).read(text, false); });
}

}  // namespace
