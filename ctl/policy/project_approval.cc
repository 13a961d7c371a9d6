#include "ctl/policy/project_approval.h"

#include <errno.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "common/base/refusal.h"
#include "common/base/sha256.h"
#include "common/os/atomic_file.h"
#include "common/os/file.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/state_layout.h"
#include "ctl/policy/exec_options.h"
#include "policy/convert/sandbox_proto.h"
#include "policy/lattice/rights.h"

namespace odyssey::ctl {
namespace {

constexpr char kDirectory[] = "/project_approvals";
constexpr char kVariable[] = "ODEK_APPROVE_PROJECT_SANDBOX";
constexpr size_t kMaxAnswerBytes = 64;

// The same bytes for the same request.
std::string Encode(const policy::SandboxRequest& request) {
  const policy::v1::Sandbox message = policy::ToProto(request);
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  return bytes;
}

// Without a project's file: the Dockerfile is the project's, the policy the user's own.
std::string Fingerprint(const dialect::Policy& policy, uid_t user, const ProjectBuild* build) {
  policy::SandboxRequest request = policy.request;
  // As written they are in the file's digest.
  for (auto& [name, value] : request.env) value.clear();
  std::vector<std::string> parts = {"odyssey project 1",
                                    std::to_string(user),
                                    policy.project ? policy.project->directory : build->directory,
                                    policy.project ? policy.project->digest : "",
                                    request.workspace,
                                    Encode(request)};
  if (build != nullptr) parts.insert(parts.end(), {build->directory, build->digest});
  Sha256 hash;
  for (const std::string& part : parts) hash.Update(std::to_string(part.size()) + ":" + part);
  return hash.Hex();
}

// Variables that have another value than without the file.
void AddChangedValues(const dialect::Policy& policy, std::vector<std::string>* added) {
  const auto& before = policy.project->without.env;
  for (const auto& [name, value] : policy.request.env) {
    const auto found = before.find(name);
    if (found == before.end() || found->second == value) continue;
    const Status changed =
        Refused(Code::kPermissionDenied, "env", name, "another value than your own");
    added->push_back(policy.origins.Locate(changed).message());
  }
}

// Other programs than the user's own choice: no right, but what the commands are.
void AddImage(const dialect::Policy& policy, std::vector<std::string>* added) {
  const std::string& image = policy.request.image.reference;
  if (image.empty() || image == policy.project->without.image.reference) return;
  const Status changed =
      Refused(Code::kPermissionDenied, "image", image, "another image than your own");
  added->push_back(policy.origins.Locate(changed).message());
}

std::string ReadAnswer() {
  std::string line;
  char c = '\0';
  while (line.size() < kMaxAnswerBytes) {
    const ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') break;
    line += c;
  }
  return line;
}

ProjectAnswer AskOnTerminal(const Console& console, const ProjectAsk& ask) {
  console.Warn("The project in " + Sanitize(ask.directory, Lines::kOne) +
               " asks for more than you have said yourself:");
  for (const std::string& line : ask.added) console.Warn("  " + Sanitize(line, Lines::kOne));
  console.Warn("Allow it? y: this once, t: always, until something of it changes, N: no");
  return ParseProjectAnswer(ReadAnswer());
}

Status NotApproved(const ProjectAsk& ask) {
  std::string why = "the project's file asks for more than you have said yourself";
  for (const std::string& line : ask.added) why += "; " + line;
  return PermissionDenied(why + "; to approve it, run this on a terminal, or with " + kVariable +
                          "=1");
}

// The request that is not approved yet.
Result<std::optional<ProjectAsk>> OpenAskOf(const dialect::Policy& policy, uid_t user,
                                            const Locations& locations, const ProjectBuild* build) {
  ODY_ASSIGN_OR_RETURN(std::optional<ProjectAsk> ask, AskOf(policy, user, build));
  const bool approved = !ask || ProjectApprovals(locations).Has(*ask) ||
                        IsApprovedByEnvironment(MakeExecInputs().environment(kVariable));
  if (approved) ask.reset();
  return ask;
}

}  // namespace

Result<std::optional<ProjectAsk>> AskOf(const dialect::Policy& policy, uid_t user,
                                        const ProjectBuild* build) {
  ProjectAsk ask;
  if (policy.project) {
    ODY_ASSIGN_OR_RETURN(const lattice::Rights with, lattice::RightsOf(policy.request));
    ODY_ASSIGN_OR_RETURN(const lattice::Rights without, lattice::RightsOf(policy.project->without));
    ask.directory = policy.project->directory;
    for (const Status& more : lattice::Excess(with, without)) {
      ask.added.push_back(policy.origins.Locate(more).message());
    }
    AddChangedValues(policy, &ask.added);
    AddImage(policy, &ask.added);
  }
  if (build != nullptr) {
    ask.directory = build->directory;
    ask.added.push_back(build->line);
  }
  if (ask.added.empty()) return std::optional<ProjectAsk>();
  ask.fingerprint = Fingerprint(policy, user, build);
  return std::optional<ProjectAsk>(std::move(ask));
}

ProjectApprovals::ProjectApprovals(const Locations& locations)
    : directory_(LayoutOf(locations.state).supervisor_dir + kDirectory) {}

std::string ProjectApprovals::PathOf(const ProjectAsk& ask) const {
  return directory_ + "/" + ask.fingerprint;
}

bool ProjectApprovals::Has(const ProjectAsk& ask) const {
  struct stat info;
  return lstat(PathOf(ask).c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == 0;
}

Status ProjectApprovals::Keep(const ProjectAsk& ask, uid_t user) const {
  ODY_RETURN_IF_ERROR(MakeDirectories(directory_, 0700));
  const Json record = {{"directory", ask.directory}, {"uid", user}, {"approved", ask.added}};
  return WriteFileAtomically(PathOf(ask), record.dump(2) + "\n", 0600);
}

ProjectAnswer ParseProjectAnswer(std::string_view line) {
  if (line == "y" || line == "Y") return ProjectAnswer::kOnce;
  if (line == "t" || line == "T") return ProjectAnswer::kAlways;
  return ProjectAnswer::kNo;
}

bool IsApprovedByEnvironment(const std::optional<std::string>& value) { return value == "1"; }

Result<ProjectAnswer> ApproveProject(const Console& console, const dialect::Policy& policy,
                                     uid_t user, const Locations& locations,
                                     const ProjectBuild* build) {
  ODY_ASSIGN_OR_RETURN(const std::optional<ProjectAsk> ask,
                       OpenAskOf(policy, user, locations, build));
  if (!ask) return ProjectAnswer::kOnce;
  if (!console.in_is_terminal) return NotApproved(*ask);
  const ProjectAnswer answer = AskOnTerminal(console, *ask);
  if (answer == ProjectAnswer::kNo) {
    return PermissionDenied("the project's policy was not approved: nothing is run");
  }
  if (answer == ProjectAnswer::kAlways && (build == nullptr || build->is_whole)) {
    ODY_RETURN_IF_ERROR(ProjectApprovals(locations).Keep(*ask, user));
  }
  return answer;
}

Status KeepApproval(const dialect::Policy& policy, uid_t user, const Locations& locations,
                    const ProjectBuild& build) {
  ODY_CHECK(build.is_whole);
  ODY_ASSIGN_OR_RETURN(const std::optional<ProjectAsk> ask, AskOf(policy, user, &build));
  return ask ? ProjectApprovals(locations).Keep(*ask, user) : OkStatus();
}

Result<std::string> PendingApproval(const dialect::Policy& policy, uid_t user,
                                    const Locations& locations) {
  ODY_ASSIGN_OR_RETURN(const std::optional<ProjectAsk> ask,
                       OpenAskOf(policy, user, locations, nullptr));
  return ask ? NotApproved(*ask).message() : std::string();
}

}  // namespace odyssey::ctl
