#include "ctl/exec/exec_policy.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "ctl/base/sanitize.h"
#include "ctl/file/file_rights.h"
#include "ctl/policy/explain.h"
#include "ctl/policy/policy_file.h"
#include "ctl/policy/project_approval.h"
#include "policy/convert/sandbox_proto.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

constexpr unsigned kNewDirectoryMode = 0755;

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

Result<OwnPolicy> ReadOwnPolicy(const Console& console, const ParsedOptions& options,
                                const ExecInputs& inputs, const Locations& locations) {
  ODY_ASSIGN_OR_RETURN(ExecOptions read, ReadPolicyAlone(options, inputs));
  PrintWarnings(console, read.policy->warnings);
  ODY_RETURN_IF_ERROR(ApproveProject(console, *read.policy, getuid(), locations));
  const PolicyAsker asker(dialect::OwnerOf(getuid()), locations);
  ODY_RETURN_IF_ERROR(AskAboutPolicy(asker, inputs.places.get(), &read));
  if (!read.sandbox.workspace.empty()) {
    console.Warn("odyssey-ctl: --policy: its workspace " +
                 Sanitize(read.sandbox.workspace, Lines::kOne) +
                 " is not used: /workspace is the session's");
  }
  return OwnPolicy{policy::ToProto(read.sandbox), std::move(read.origins)};
}

}  // namespace odyssey::ctl
