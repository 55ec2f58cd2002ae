// A process that forks while another of its threads learns or reads names.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "rows.hpp"
#include "thresher/learners/shadow_sofs.hpp"
#include "thresher/members/watched_pool.hpp"
#include "thresher/memory/hash.hpp"
#include "thresher/names/name_book.hpp"
#include "thresher/names/named_row.hpp"
#include "thresher/selector/two.hpp"

using namespace thresher;
using thresher::tests::Rows;

namespace {

using L = ShadowSofs<WatchedPool>;
using Selector = TwoClassSelector<L, HashMemory<L::kWidth>>;

// Forks again and again while another thread repeats `work`. In each child `is_whole` must return true; one that waits
// for a thread that it does not have is ended by its alarm.
template <class Work, class IsWhole>
void check_children(Work work, IsWhole is_whole) {
    std::atomic<bool> stop = false;
    std::thread worker([&] {
        while (!stop) work();
    });
    bool all_well = true;
    for (int turn = 0; turn < 20 && all_well; ++turn) {
        usleep(static_cast<useconds_t>(turn % 5 * 100));
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(is_whole() ? 0 : 1);
        }
        int status = 0;
        all_well = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    stop = true;
    worker.join();
    CHECK(all_well);
}

TEST(a_child_can_use_a_selector_that_learns) {
    Rows rows;
    for (std::int32_t r = 0; r < 200; ++r) rows.add({r, r + 7, 900 - r}, {1.0f, -0.5f, 0.25f}, r % 2);
    Selector selector(2, {20, {Norm::l2, true}, {0.5}});
    Lesson lesson{{rows.classes.data()}};
    lesson.end = rows.classes.size();
    check_children([&] { selector.learn(rows.batch(), 1000, lesson); },
                   [&] {
                       // The fork waited for the end of the call, so that all of its rows are counted or none.
                       const Counters counters = selector.counters();
                       Selector another(2, {20, {Norm::l2, true}, {0.5}});
                       another.restore(selector.state().view());
                       return counters.n_samples % rows.classes.size() == 0 && selector.members().ids.size() <= 20;
                   });
}

TEST(a_child_can_use_a_book_of_names_that_is_read) {
    std::vector<std::int64_t> ids(20'000);  // many, so that nearly every fork comes while they are read
    std::iota(ids.begin(), ids.end(), 0);
    const std::vector<std::uint64_t> marks(ids.size(), name_mark(0, 4, 0));
    const std::vector<std::string> prefixes = {"word="};
    NameBook book;
    check_children(
        [&] { book.read(std::span<const std::int64_t>(ids), {marks.data(), nullptr, "name", prefixes}, true); },
        [&] {
            std::size_t n = 0;
            book.for_each([&](std::int64_t, const std::string& name) { n += name == "word=name"; });
            return n == 0 || n == ids.size();  // a batch is read whole, or not yet
        });
}

}  // namespace
