// The least that tests need: TEST registers a test, CHECK ends it as failed, and the last line counts what ran.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thresher::tests {

struct CheckFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Registry {
  public:
    bool add(std::string name, std::function<void()> test) {
        tests_.emplace_back(std::move(name), std::move(test));
        return true;
    }

    // Runs every test whose name contains `part`, writes why one failed and then the counts, and returns the exit
    // status: 0 if all passed.
    int run(std::FILE* out, std::string_view part = "") const {
        int n_passed = 0, n_failed = 0;
        for (const auto& [name, test] : tests_) {
            if (name.find(part) == name.npos) continue;
            try {
                test();
                ++n_passed;
            } catch (const std::exception& error) {
                ++n_failed;
                std::fprintf(out, "%s failed: %s\n", name.c_str(), error.what());
            }
        }
        std::fprintf(out, "%d passed, %d failed\n", n_passed, n_failed);
        return n_passed > 0 && n_failed == 0 ? 0 : 1;
    }

  private:
    std::vector<std::pair<std::string, std::function<void()>>> tests_;
};

// All tests of the program, whichever file they are in.
inline Registry& registry() {
    static Registry all;
    return all;
}

}  // namespace thresher::tests

#define TEST(name)                                                                                               \
    void name();                                                                                                 \
    [[maybe_unused]] const bool name##_is_registered = ::thresher::tests::registry().add(#name, [] { name(); }); \
    void name()

#define CHECK(condition)                                                                                         \
    do {                                                                                                         \
        if (!(condition))                                                                                        \
            throw ::thresher::tests::CheckFailed(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " + \
                                                 #condition + " is false");                                      \
    } while (false)
