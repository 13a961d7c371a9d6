#include <stdio.h>

#include "supervisor/root/keeper.h"
#include "supervisor/root/options.h"

int main(int argc, char** argv) {
  const auto options = odyssey::root::ParseOptions(argc, argv);
  const odyssey::Status status = options.ok() ? odyssey::root::Keep(*options) : options.status();
  if (status.ok()) return 0;
  fprintf(stderr, "<3>odyssey-supervisor: %s\n", status.message().c_str());
  return options.ok() ? 1 : 2;
}
