#include <unistd.h>

#include <string>
#include <vector>

#include "ctl/dispatch.h"

int main(int argc, char** argv) {
  return odyssey::ctl::Dispatch(std::vector<std::string>(argv + 1, argv + argc));
}
