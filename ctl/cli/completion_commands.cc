#include "ctl/base/command.h"
#include "ctl/cli/help.h"

namespace odyssey::ctl {
namespace {

int Completion(const Invocation& call) {
  call.console->Print(BashCompletion());
  return 0;
}

}  // namespace

std::vector<Command> CompletionCommands() {
  return {{.name = "completion bash",
           .summary = "print a completion script for bash",
           .notes = "Use it with: source <(odyssey-ctl completion bash)",
           .run = Completion}};
}

}  // namespace odyssey::ctl
