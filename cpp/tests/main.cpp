// Runs the tests of the core, without Python and under the sanitizers.
#include <cstdio>

#include "check.hpp"

int main() { return thresher::tests::registry().run(stdout); }
