// bundle push, bundle pull, hub serve, hub keygen: executes odyssey-hub.
#include <errno.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/program_path.h"
#include "ctl/hub/hub_verbs.h"

namespace odyssey::ctl {
namespace {

constexpr char kProgram[] = "odyssey-hub";

// The call again, as words.
std::vector<std::string> ArgumentsOf(const Command& verb, const Invocation& call) {
  const std::string name(verb.name);
  const size_t space = name.find(' ');
  std::vector<std::string> out = {kProgram, name.substr(0, space), name.substr(space + 1)};
  if (call.console->json) out.push_back("--json");
  for (const OptionSpec& option : verb.options) {
    for (const std::string& value : call.options.All(option.name)) {
      const std::string text = "--" + std::string(option.name);
      out.push_back(option.kind == ValueKind::kFlag ? text : text + "=" + value);
    }
  }
  out.push_back("--");
  out.insert(out.end(), call.options.words().begin(), call.options.words().end());
  return out;
}

int Execute(std::string_view name, const Invocation& call) {
  const std::string what(name);
  const Result<std::string> program = FindProgram(kProgram);
  if (!program.ok()) return call.console->Fail({what, program.status().message(), ""});
  for (const Command& verb : HubVerbs()) {
    if (verb.name != name) continue;
    std::vector<std::string> arguments = ArgumentsOf(verb, call);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(program->c_str(), argv.data());
  }
  return call.console->Fail({what, ErrnoStatus(errno, "execute " + *program).message(), ""});
}

int Push(const Invocation& call) { return Execute(kPushVerb, call); }
int Pull(const Invocation& call) { return Execute(kPullVerb, call); }
int Serve(const Invocation& call) { return Execute(kServeVerb, call); }
int Keygen(const Invocation& call) { return Execute(kKeygenVerb, call); }

}  // namespace

std::vector<Command> HubCommands() {
  std::vector<Command> out = HubVerbs();
  for (Command& verb : out) {
    verb.run = verb.name == kPushVerb    ? Push
               : verb.name == kPullVerb  ? Pull
               : verb.name == kServeVerb ? Serve
                                         : Keygen;
  }
  return out;
}

}  // namespace odyssey::ctl
