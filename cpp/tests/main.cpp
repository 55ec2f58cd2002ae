// Runs the tests of the core, without Python and under the sanitizers: all, or those whose names contain an argument.
#include <cstdio>

#include "check.hpp"

int main(int n, char** arguments) { return thresher::tests::registry().run(stdout, n > 1 ? arguments[1] : ""); }
