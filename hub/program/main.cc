// odyssey-hub: what odyssey-ctl executes for hubs.
#include "hub/program/commands.h"

int main(int argc, char** argv) {
  return odyssey::hub::RunVerb(std::vector<std::string>(argv + 1, argv + argc));
}
