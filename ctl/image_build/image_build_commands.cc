// image build: a Dockerfile, built in cells.
#include <stdlib.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/image_name.h"
#include "ctl/base/pull_option.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/client/client.h"
#include "ctl/image_build/build_cell.h"
#include "ctl/image_build/build_files.h"
#include "ctl/image_build/build_progress.h"
#include "ctl/image_build/prepared_build.h"
#include "ctl/image_build/supervisor_store.h"
#include "ctl/policy/exec_options.h"
#include "policy/egress/reach.h"

namespace odyssey::ctl {
namespace {

constexpr char kWhat[] = "image build";
constexpr char kNext[] = "odyssey-ctl image build --help lists the options.";
constexpr char kRepository[] = "odyssey-build";

Result<BuildArguments> ReadArguments(const ParsedOptions& options) {
  BuildArguments out;
  for (const std::string& entry : options.All("build-arg")) {
    const size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    const char* const here = equals == std::string::npos ? getenv(name.c_str()) : nullptr;
    if (equals == std::string::npos && here == nullptr) {
      return InvalidArgument("--build-arg " + name +
                             ": there is no such variable here; give it a value");
    }
    out[name] = here != nullptr ? here : entry.substr(equals + 1);
    if (!IsValidUtf8(out[name])) return InvalidArgument("--build-arg " + name + ": is not UTF-8");
  }
  return out;
}

Result<policy::SandboxRequest> ReadSandbox(const ParsedOptions& options) {
  policy::SandboxRequest sandbox;
  if (options.Text("network") == "public") {
    sandbox.network = policy::Network::kEgress;
    sandbox.egress = egress::PublicPolicy("--network public");
  }
  for (const std::string& place : options.All("reach")) {
    const std::string option = "--reach " + place;
    const Result<egress::Destination> to = egress::ParseReachable(place);
    if (!to.ok()) return Status(to.status().code(), option + ": " + to.status().message());
    sandbox.network = policy::Network::kEgress;
    sandbox.egress.rules.push_back(egress::RuleFor(option, to->host, to->port));
  }
  SetLimitsOf(options, &sandbox);
  sandbox.limits.wall_clock_ms = options.DurationMs("timeout");
  return sandbox;
}

int Report(const Console& console, const BuiltImage& built, const std::vector<std::string>& names) {
  if (console.json) {
    Json json = {{"digest", built.digest}, {"names", names}, {"cached", built.cached}};
    console.PrintJson(json);
    return kExitOk;
  }
  if (built.cached) console.Warn("nothing has changed since it was built");
  console.PrintLine(built.digest);
  return kExitOk;
}

// `next`: what to do about it, if that is known.
int Cannot(const Console& console, const Client& client, const Status& status,
           const std::vector<std::string>& problems, const std::string& next) {
  for (const std::string& problem : problems) console.Warn(Sanitize(problem, Lines::kOne));
  if (!problems.empty()) {
    const std::string count =
        problems.size() == 1 ? "1 problem" : std::to_string(problems.size()) + " problems";
    return console.Fail({kWhat, count, ""});
  }
  const Failure failure = client.Explain(kWhat, status);
  return console.Fail({kWhat, failure.why, next.empty() ? failure.next : next});
}

// The store's answer, before anything is looked up or pulled. INVALID_ARGUMENT: names the option.
Status CheckTags(const std::vector<std::string>& tags, BuildStore* store) {
  for (const std::string& tag : tags) {
    if (const Status status = CheckImageName(tag); !status.ok()) {
      return InvalidArgument("--tag " + status.message());
    }
    if (image::IsDigest(tag)) return InvalidArgument("--tag " + tag + ": a digest is no name");
    const Status found = store->Inspect(tag).status();
    if (found.code() == Code::kInvalidArgument) {
      return InvalidArgument("--tag " + std::string(WhyRefused(found)));
    }
  }
  return OkStatus();
}

int BuildCommandLine(const Invocation& call) {
  const Console& console = *call.console;
  const ParsedOptions& options = call.options;
  const Result<BuildArguments> arguments = ReadArguments(options);
  if (!arguments.ok()) return console.Fail({kWhat, arguments.status().message(), kNext});
  Result<policy::SandboxRequest> sandbox = ReadSandbox(options);
  if (!sandbox.ok()) return console.Fail({kWhat, sandbox.status().message(), kNext});
  NamedPlaces places;
  const std::string directory = options.Word(0).empty() ? "." : options.Word(0);
  Result<BuildFiles> files =
      ReadBuildFiles(options.Text("file"), directory, Links::kFileItself, &places);
  if (!files.ok()) return console.Fail({kWhat, files.status().message(), kNext});
  const Result<std::string> cell = NewBuildCell();
  if (!cell.ok()) return console.Fail({kWhat, cell.status().message(), ""});
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(kWhat, client.status()));

  const UniqueFd signals = MakeSignalFd(BuildSignals());
  BuildProgress progress(console);
  ImagePuller puller(console, *client, getuid(), ReadPullOption(options));
  SupervisorStore store(*client, getuid(), *std::move(sandbox), *cell, signals.get(), &progress,
                        &puller);
  std::vector<std::string> problems;
  const auto report = [&](size_t step, size_t steps, const std::string& text) {
    progress.Step(step, steps, text);
  };
  const auto build = [&]() -> Result<BuiltImage> {
    ODY_RETURN_IF_ERROR(CheckTags(options.All("tag"), &store));
    ODY_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedBuild> prepared,
                         PreparedBuild::Make(*std::move(files), *arguments, options.Text("target"),
                                             &store, signals.get(), &problems));
    ODY_RETURN_IF_ERROR(prepared->PullMissing(&store));
    return BuildOrFind(*prepared, kRepository, options.All("tag"), !options.Has("no-cache"), &store,
                       signals.get(), report);
  };
  const Result<BuiltImage> built = build();
  progress.Done();
  if (const int signal = PendingSignal(BuildSignals()); signal != 0 && !built.ok()) {
    return kExitSignalBase + signal;
  }
  if (!built.ok()) return Cannot(console, *client, built.status(), problems, puller.next());
  return Report(console, *built, options.All("tag"));
}

std::vector<OptionSpec> BuildOptions() {
  std::vector<OptionSpec> specs = {
      {.name = "file",
       .letter = 'f',
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help = "the Dockerfile (default: Dockerfile in DIR)"},
      {.name = "tag",
       .letter = 't',
       .kind = ValueKind::kText,
       .value_name = "NAME[:TAG]",
       .help = "name the image so; without a tag :latest",
       .repeatable = true},
      {.name = "build-arg",
       .kind = ValueKind::kEnv,
       .value_name = "NAME[=VALUE]",
       .help = "the value of an ARG; without a value, the variable here. No place for a secret",
       .repeatable = true},
      {.name = "target",
       .kind = ValueKind::kText,
       .value_name = "STAGE",
       .help = "build this stage, by name or number (default: the last)"},
      PullOption(),
      {.name = "no-cache", .help = "build even if nothing has changed since it was built"},
      {.name = "network",
       .kind = ValueKind::kChoice,
       .value_name = "WHICH",
       .help = "of RUN: none (default), or public: what is public, through odyssey-egress",
       .choices = {"none", "public"}},
      {.name = "reach",
       .kind = ValueKind::kText,
       .value_name = "HOST:PORT",
       .help = "let RUN connect there, through odyssey-egress",
       .repeatable = true},
  };
  for (OptionSpec& spec : LimitOptionSpecs()) specs.push_back(std::move(spec));
  return specs;
}

}  // namespace

std::vector<Command> ImageBuildCommands() {
  return {{.name = "image build",
           .summary = "build an image of a Dockerfile, in cells",
           .positionals = {{.name = "DIR", .kind = ValueKind::kDirectory, .required = false}},
           .options = BuildOptions(),
           .notes = "Prints the image's digest. Progress, and the output of RUN, go to stderr.\n"
                    "What of a Dockerfile is not supported is refused by its line: "
                    "docs/IMAGES.md lists it.",
           .run = BuildCommandLine}};
}

}  // namespace odyssey::ctl
