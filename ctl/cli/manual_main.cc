// Prints odyssey-ctl(1). Run by the build.
#include <cstdio>

#include "ctl/cli/manual.h"

int main() { return std::fputs(odyssey::ctl::ManualPage().c_str(), stdout) < 0 ? 1 : 0; }
