// The tests' own tools: a failing check must not pass unseen.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include "check.hpp"

using thresher::tests::Registry;

namespace {

// What `run` writes and returns for some tests.
struct Outcome {
    std::string text;
    int status;
};

Outcome outcome(const Registry& registry, std::string_view part = "") {
    std::FILE* file = std::tmpfile();
    CHECK(file != nullptr);
    const int status = registry.run(file, part);
    std::rewind(file);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return {text, status};
}

TEST(failed_checks_are_counted_and_set_the_exit_status) {
    Registry registry;
    registry.add("good", [] { CHECK(1 + 1 == 2); });
    CHECK(outcome(registry).text == "1 passed, 0 failed\n" && outcome(registry).status == 0);
    registry.add("bad", [] { CHECK(1 + 1 == 3); });
    registry.add("throws", [] { throw std::runtime_error("why"); });
    registry.add("also good", [] {});
    const auto [text, status] = outcome(registry);
    CHECK(status == 1);
    CHECK(text.find("bad failed: ") == 0 && text.find("1 + 1 == 3 is false\n") != text.npos);
    CHECK(text.ends_with("throws failed: why\n2 passed, 2 failed\n"));
    CHECK(outcome(registry, "good").text == "2 passed, 0 failed\n" && outcome(registry, "good").status == 0);
    CHECK(outcome(registry, "no such test").status == 1);
}

TEST(a_program_in_which_nothing_ran_fails) {
    const auto [text, status] = outcome(Registry());
    CHECK(text == "0 passed, 0 failed\n" && status == 1);
}

}  // namespace
