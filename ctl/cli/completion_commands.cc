#include "ctl/base/command.h"
#include "ctl/cli/completion.h"

namespace odyssey::ctl {
namespace {

template <std::string (*Script)()>
int Completion(const Invocation& call) {
  call.console->Print(Script());
  return 0;
}

}  // namespace

std::vector<Command> CompletionCommands() {
  return {{.name = "completion bash",
           .summary = "print a completion script for bash",
           .notes = "Use it with: source <(odyssey-ctl completion bash)",
           .run = Completion<BashCompletion>},
          {.name = "completion fish",
           .summary = "print a completion script for fish",
           .notes = "Use it with: odyssey-ctl completion fish | source",
           .run = Completion<FishCompletion>},
          {.name = "completion zsh",
           .summary = "print a completion script for zsh",
           .notes = "Use it, after compinit, with: source <(odyssey-ctl completion zsh)",
           .run = Completion<ZshCompletion>}};
}

}  // namespace odyssey::ctl
