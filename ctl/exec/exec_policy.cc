#include "ctl/exec/exec_policy.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/exec/exec_call.h"
#include "ctl/exec/exec_image.h"
#include "ctl/file/file_rights.h"
#include "ctl/policy/explain.h"
#include "ctl/policy/policy_file.h"
#include "policy/convert/sandbox_proto.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

constexpr unsigned kNewDirectoryMode = 0755;
constexpr char kVerb[] = "session exec";

}  // namespace

Status AskAboutPolicy(const PolicyAsker& asker, NamedPlaces* places, ExecOptions* options) {
  if (!options->policy) return OkStatus();
  const dialect::Policy& policy = *options->policy;
  if (policy.secrets.empty() && policy.create.empty()) return OkStatus();
  AnsweredBy by;
  ODY_ASSIGN_OR_RETURN(const answer::Answer answer,
                       asker.Ask(QuestionAbout(options->sandbox, &policy, asker.owner()), &by));
  if (!answer.refusal.ok()) {
    return policy.secrets.empty() ? OkStatus() : options->origins.Locate(answer.refusal);
  }
  const FileRights rights(asker.owner());
  for (const std::string& path : policy.create) {
    ODY_ASSIGN_OR_RETURN(const NamedPlace* made, places->Make(path, kNewDirectoryMode));
    for (policy::Mount& mount : options->sandbox.mounts) {
      if (mount.source == made->name()) mount.identity = made->identity();
    }
  }
  return OkStatus();
}

int ReadOwnPolicy(const Console& console, const ParsedOptions& options, const ExecInputs& inputs,
                  const Locations& locations, OwnPolicy* out) {
  Result<ExecOptions> read = ReadPolicyAlone(options, inputs);
  if (!read.ok()) return CannotExec(console, {kVerb, read.status().message(), ""});
  read->verb = kVerb;
  PrintWarnings(console, read->policy->warnings);
  const PolicyAsker asker(dialect::OwnerOf(getuid()), locations);
  if (const int refused = PrepareImage(console, asker, &*read); refused != kExitOk) {
    return refused;
  }
  if (const Status status = AskAboutPolicy(asker, inputs.places.get(), &*read); !status.ok()) {
    return CannotExec(console, {kVerb, status.message(), ""});
  }
  if (!read->sandbox.workspace.empty()) {
    console.Warn("odyssey-ctl: --policy: its workspace " +
                 Sanitize(read->sandbox.workspace, Lines::kOne) +
                 " is not used: /workspace is the session's");
  }
  *out = {policy::ToProto(read->sandbox), std::move(read->origins)};
  return kExitOk;
}

}  // namespace odyssey::ctl
