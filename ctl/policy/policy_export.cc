#include "ctl/policy/policy_export.h"

#include <string>

#include "ctl/base/console.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/policy/any_host.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_file.h"
#include "policy/foreign/foreign.h"

namespace odyssey::ctl {
namespace {

// The policy of the file, with the values that its variables have here.
Result<dialect::Policy> Read(const Console& console, const std::string& file) {
  const ExecInputs inputs = MakeExecInputs();
  ODY_ASSIGN_OR_RETURN(const FoundPlace cwd, inputs.resolve("."));
  dialect::PolicyContext context = MakePolicyContext(cwd.name, inputs.environment);
  context.judges_secrets = true;
  context.bundle_copy = kAnyBundleCopy;
  dialect::Problems problems;
  Result<dialect::Policy> policy = ReadPolicy(file, context, &problems);
  for (const dialect::Problem& problem : problems) {
    console.Warn(Sanitize(dialect::ToString(problem), Lines::kOne));
  }
  if (policy.ok()) PrintWarnings(console, policy->warnings);
  return policy;
}

Result<foreign::Written> Export(const dialect::Policy& policy, std::string_view system) {
  foreign::Variables secrets;
  for (const dialect::SecretVariable& secret : policy.secrets) {
    secrets[secret.target] = secret.source;
  }
  for (const foreign::SystemName& each : foreign::kSystems) {
    if (each.name == system) return foreign::Write(policy.request, secrets, each.system);
  }
  return InvalidArgument("no such system");
}

void Print(const Console& console, std::string_view system, const foreign::Written& written) {
  if (!console.json) return console.Print(foreign::WithGaps(written));
  Json gaps = Json::array();
  for (const foreign::Gap& gap : written.gaps) {
    gaps.push_back(
        {{"effect", foreign::EffectName(gap.effect)}, {"item", gap.item}, {"why", gap.why}});
  }
  console.PrintJson(
      {{"system", system}, {"text", foreign::WithGaps(written)}, {"gaps", std::move(gaps)}});
}

int Run(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const std::string system = call.options.Text("to");
  const std::string what = "export " + file;
  if (system.empty()) {
    console.Fail({what, "--to SYSTEM is missing", "odyssey-ctl policy export --help lists them."});
    return kExitUsage;
  }
  const Result<dialect::Policy> policy = Read(console, file);
  if (!policy.ok()) {
    return console.Fail({what, policy.status().message(),
                         "docs/policy/dialects.md describes the kinds of files and their keys."});
  }
  Result<foreign::Written> written = Export(*policy, system);
  if (!written.ok()) return console.Fail({what, written.status().message(), ""});
  for (const std::string& line : policy->elsewhere) {
    written->gaps.push_back({foreign::Effect::kWeaker, line, "no part of a cell: agents' rules"});
  }
  Print(console, system, *written);
  return kExitOk;
}

}  // namespace

Command PolicyExportCommand() {
  OptionSpec to = {.name = "to",
                   .kind = ValueKind::kChoice,
                   .value_name = "SYSTEM",
                   .help =
                       "bwrap and docker-run: a script; seatbelt: a profile of macOS; "
                       "openshell: a policy file; codex: lines of config.toml"};
  for (const foreign::SystemName& each : foreign::kSystems) to.choices.push_back(each.name);
  return {.name = "policy export",
          .summary = "print the nearest policy of another sandbox, and what it cannot say",
          .positionals = {{.name = "FILE", .kind = ValueKind::kFile}},
          .options = {std::move(to)},
          .notes =
              "FILE is a policy of any kind (odyssey.policy/v1, llm-do, odek, OpenShell) or a "
              "bundle directory.\nEach comment at the beginning names an item that the other "
              "has no word for, and whether it is\nweaker, stricter or different there. Secrets "
              "are taken from the environment of who runs a script.",
          .run = Run};
}

}  // namespace odyssey::ctl
