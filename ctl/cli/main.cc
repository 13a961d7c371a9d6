#include <unistd.h>

#include <string>
#include <vector>

#include "common/os/stdio.h"
#include "ctl/cli/dispatch.h"

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = odyssey::OpenMissingStdio;

int main(int argc, char** argv) {
  return odyssey::ctl::Dispatch(std::vector<std::string>(argv + 1, argv + argc));
}
