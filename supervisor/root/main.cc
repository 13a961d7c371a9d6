#include <stdio.h>

#include "supervisor/root/keeper.h"
#include "supervisor/root/options.h"

int main(int argc, char** argv) {
  const auto options = odyssey::root::ParseOptions(argc, argv);
  if (!options.ok()) {
    fprintf(stderr, "<3>odyssey-supervisor: %s\n", options.status().message().c_str());
    return 2;
  }
  const odyssey::Status status = odyssey::root::Keep(*options);
  if (!status.ok()) {
    fprintf(stderr, "<3>odyssey-supervisor: %s\n", status.message().c_str());
    return 1;
  }
  return 0;
}
