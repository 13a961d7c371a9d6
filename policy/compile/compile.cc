#include "policy/compile/compile.h"

#include <algorithm>

#include "common/base/codec.h"
#include "common/base/field_codec.h"
#include "common/base/refusal.h"
#include "common/base/sha256.h"
#include "policy/compile/entries.h"
#include "policy/compile/environment.h"
#include "policy/compile/executables.h"
#include "policy/compile/guards.h"
#include "policy/compile/image_root.h"
#include "policy/compile/landlock.h"
#include "policy/compile/limits.h"
#include "policy/compile/mounts.h"
#include "policy/compile/protection.h"
#include "policy/compile/visible_limits.h"
#include "policy/compile/weakness.h"
#include "policy/plan/kernel_memory.h"

namespace odyssey::compile {
namespace {

using policy::ExecutablesMode;
using policy::Mode;
using policy::Network;
using policy::SandboxRequest;
using policy::Scope;

// Changes are kept in the cell's directories on disk, which outlive it.
Status CheckReview(const SandboxRequest& request) {
  if (!HasReviewedWrites(request) || !request.ephemeral) return OkStatus();
  return Refused(Code::kInvalidArgument, "ephemeral", "true",
                 "changes of `writes: review` are kept with the cell's directories on disk; false "
                 "is allowed");
}

// What the model can say and nothing enforces yet: refused, so that no field is without effect.
Status CheckOffered(const SandboxRequest& request, const Enforcement& enforcement) {
  if (policy::IsDanger(request)) {
    return Refused(Code::kFailedPrecondition, "mode", "danger_full_access",
                   "it runs on the host, and no cell is made for it");
  }
  if (request.network == Network::kEgress) {
    ODY_RETURN_IF_ERROR(CheckEndpoints(request.egress));
  }
  ODY_RETURN_IF_ERROR(CheckDiskLimit(request));
  ODY_RETURN_IF_ERROR(CheckEnforced(request, enforcement));
  return CheckReview(request);
}

Status CheckUser(uint32_t user) {
  if (user <= plan::kMaxUser) return OkStatus();
  return Refused(Code::kInvalidArgument, "user", std::to_string(user),
                 "1 to " + std::to_string(plan::kMaxUser) + " are allowed, or 0 for " +
                     std::to_string(plan::kCellUser));
}

Status CheckWorkspace(const SandboxRequest& request, const HostFacts& facts) {
  if (request.workspace.empty()) return OkStatus();
  if (!plan::IsNormalizedAbsolute(request.workspace)) {
    return Refused(Code::kInvalidArgument, "workspace", request.workspace,
                   "a normalised absolute path is allowed");
  }
  const bool writable = request.mode == Mode::kWorkspaceWrite;
  if (writable) {
    ODY_RETURN_IF_ERROR(CheckOutsideGit("workspace", request.workspace, request.protection));
  }
  const Status status = plan::CheckHostSource(
      request.workspace, writable ? plan::Access::kReadWrite : plan::Access::kReadOnly,
      facts.check);
  if (!status.ok()) return OfField("workspace", status, request.workspace);
  return CheckPlace("workspace", request.workspace, Wanted::kDirectory, facts.places);
}

Status CheckHost(const HostFacts& facts) {
  for (const SystemEntry& entry : facts.system) {
    if (entry.path == "/usr") return OkStatus();
  }
  return FailedPrecondition("system trees: this host has no /usr");
}

// What is written to in /dev, where nothing can be made but shared memory and message queues.
constexpr const char* kWritableDevices[] = {"/dev/full", "/dev/mqueue",  "/dev/null",
                                            "/dev/pts",  "/dev/random",  "/dev/shm",
                                            "/dev/tty",  "/dev/urandom", "/dev/zero"};

// Read everything that is visible, write to harmless devices, and the trees of the plan as their
// entries say; entries.cc adds those. Nothing of /proc is writable: what is there belongs to the
// host, or is a process that has system calls for it.
void AddCommonRules(const SandboxRequest& request, Compiled* out) {
  const bool all = request.executables_mode == ExecutablesMode::kAll;
  const uint8_t everywhere = all ? cell::kRead | cell::kExecute : cell::kRead;
  out->confinement.rules = {{"/", everywhere}};
  for (const char* device : kWritableDevices) {
    out->confinement.rules.push_back({device, cell::kRead | cell::kWrite});
  }
}

std::string ExplainExecutables(const SandboxRequest& request) {
  const std::string trees = std::string("the ") +
                            (request.image.reference.empty() ? "host" : "image") +
                            "'s system trees";
  switch (request.executables_mode) {
    case ExecutablesMode::kExplicit:
      return "executables explicit: only the programs below, with what they load";
    case ExecutablesMode::kStandard:
      return "executables standard: only " + trees + " may be executed";
    case ExecutablesMode::kWorkspace:
      return "executables workspace: " + trees + " and the files of the workspace may be executed";
    case ExecutablesMode::kAll:
      break;
  }
  return "executables all: anything visible may be executed, what the agent wrote included";
}

std::string ExplainNetwork(Network network) {
  switch (network) {
    case Network::kFull:
      return "network full: the host's network namespace";
    case Network::kEgress:
      return "network egress: own network namespace; what a command connects to reaches "
             "odyssey-egress, which decides by the endpoints";
    case Network::kNone:
      break;
  }
  return "network none: own network namespace, loopback only";
}

void ExplainChoices(const SandboxRequest& request, Compiled* out) {
  const bool read_only = request.mode == Mode::kReadOnly;
  out->explanation = {
      read_only ? "mode read_only: the workspace is not writable; the cell's own directories are"
                : "mode workspace_write: the workspace is writable",
      ExplainNetwork(request.network),
      ExplainExecutables(request),
      request.ephemeral ? "ephemeral: the cell's own directories are in memory"
                        : "not ephemeral: the cell's own directories stay on disk",
  };
  if (request.limits.disk_bytes == 0) return;
  out->explanation.push_back("disk_bytes " + std::to_string(request.limits.disk_bytes) +
                             ": they are on a file system of their own, of this size");
}

void ExplainLimits(const Enforcement& enforcement, Compiled* out) {
  const policy::Limits& limits = out->limits;
  out->explanation.push_back("limits of the cell: " + DescribeLimits(limits, Scope::kGroup) + ", " +
                             DescribeLimits(limits, Scope::kTmpfs));
  out->explanation.push_back("limits of a command: " + DescribeLimits(limits, Scope::kCommand));
  for (const Weakness& weakness : WeaknessesOf(enforcement)) {
    out->explanation.push_back("without root, " + weakness.name + ": " + weakness.what);
  }
}

uint32_t MostSockets(const policy::Limits& limits) {
  const uint64_t sockets = limits.memory_bytes / cell::kBytesOfASocket;
  return static_cast<uint32_t>(std::clamp<uint64_t>(sockets, cell::kLeastSockets, UINT32_MAX));
}

void FillPlan(const SandboxRequest& request, Compiled* out) {
  out->plan.network =
      request.network == Network::kFull ? plan::Network::kFull : plan::Network::kNone;
  out->confinement.own_network = out->plan.network == plan::Network::kNone;
  out->confinement.max_sockets = MostSockets(out->limits);
  out->plan.user = UserOf(request);
  out->plan.memory_bytes = out->limits.memory_bytes;
  out->plan.cpu_millis = out->limits.cpu_millis;
  out->plan.pids = out->limits.pids;
  out->plan.tmp_bytes = out->limits.tmp_bytes;
  out->plan.disk_bytes = out->limits.disk_bytes;
}

// Everything that a cell is made of. Names of the environment but no values: a changed value
// reaches the next command of the same cell. Not the endpoints: changed ones reach the same cell,
// at once.
std::string Digest(const SandboxRequest& request, const FoundExecutables& found,
                   const Compiled& compiled) {
  Writer out;
  out.String("odyssey policy digest 1");
  out.String(plan::EncodePlan(compiled.plan));
  out.String(EncodeFields(compiled.confinement));
  out.Bool(request.ephemeral);
  AddCommandLimits(compiled.limits, &out);
  out.Strings(compiled.base_env);
  out.Strings(OwnNames(request.env));
  out.String(found.identity);
  return Sha256Hex(out.bytes());
}

// More than a plan may hold, and what of it was not asked for by name.
Status TooMuch(const std::vector<plan::Entry>& entries, size_t bytes, size_t programs) {
  const auto parts = std::count_if(entries.begin(), entries.end(), [](const plan::Entry& entry) {
    return entry.kind == plan::EntryKind::kPart;
  });
  const size_t names = static_cast<size_t>(parts) - std::min(programs, static_cast<size_t>(parts));
  const std::string field = 2 * programs > entries.size() ? "executables" : "mounts";
  return Refused(Code::kInvalidArgument, field, "",
                 "too many, or their paths are too long: " + std::to_string(entries.size()) +
                     " entries of the plan and " + std::to_string(bytes) + " bytes, " +
                     std::to_string(names) +
                     " of the entries for protected names (each writable directory has its own); " +
                     std::to_string(plan::kMaxEntries) + " entries and " +
                     std::to_string(plan::kMaxPlanBytes) + " bytes are allowed");
}

// Root's own check, so that what root would refuse is refused here, to the client that asked.
Status CheckResult(const Compiled& compiled, const FoundExecutables& found,
                   const plan::CheckContext& context) {
  const size_t bytes = plan::EncodePlan(compiled.plan).size();
  if (compiled.confinement.rules.size() > cell::kMaxRules ||
      compiled.confinement.tool_roots.size() > cell::kMaxRules ||
      compiled.confinement.guards.size() > cell::kMaxRules ||
      compiled.plan.entries.size() > plan::kMaxEntries || bytes > plan::kMaxPlanBytes) {
    return TooMuch(compiled.plan.entries, bytes, found.files.size());
  }
  plan::Plan named = compiled.plan;
  named.cell_id = "compiled";
  named.cell_tree = "compiled";
  return plan::CheckPlan(named, context);
}

}  // namespace

Status CheckEndpoints(const egress::NetworkPolicy& policy) {
  const auto refuse = [](const std::string& what) {
    return Refused(Code::kFailedPrecondition, "network", "",
                   what + " is not there in this version; endpoints without it are allowed");
  };
  if (!egress::HasEndpoints(policy)) {
    return Refused(Code::kInvalidArgument, "egress", "",
                   "names no endpoint; network none is the policy for that");
  }
  for (const egress::Middleware& middleware : policy.middlewares) {
    return refuse("network_middlewares." + middleware.key + ": middleware");
  }
  for (const egress::Rule& rule : policy.rules) {
    for (const egress::Endpoint& endpoint : rule.endpoints) {
      if (egress::IsCredentialed(endpoint) && !egress::IsOpenToRequests(endpoint) &&
          !endpoint.credentials.allow_uninspected) {
        return Refused(Code::kInvalidArgument, "network", "",
                       endpoint.key +
                           ": a credentialed endpoint that is L4-only or `tls: skip` needs "
                           "allow_uninspected_credentials");
      }
      if (endpoint.protocol == egress::Protocol::kSql) {
        return refuse(endpoint.key + ": protocol sql");
      }
    }
  }
  return OkStatus();
}

Result<Compiled> Compile(const SandboxRequest& request, const HostFacts& facts,
                         const FoundExecutables& found, const FoundImage& image) {
  const bool has_image = !request.image.reference.empty();
  const FoundExecutables& sought = has_image ? image.programs : found;
  // In the other modes they are in the system's trees.
  const bool named = request.executables_mode == ExecutablesMode::kExplicit;
  const FoundExecutables programs = named ? sought : FoundExecutables();
  ODY_RETURN_IF_ERROR(CheckImage(request, facts.enforcement));
  if (!has_image) ODY_RETURN_IF_ERROR(CheckHost(facts));
  ODY_RETURN_IF_ERROR(CheckOffered(request, facts.enforcement));
  ODY_RETURN_IF_ERROR(CheckExecutables(request, sought));
  ODY_RETURN_IF_ERROR(CheckUser(request.user));
  ODY_RETURN_IF_ERROR(CheckWorkspace(request, facts));
  ODY_RETURN_IF_ERROR(CheckEnvironment(request.env));
  ODY_ASSIGN_OR_RETURN(std::vector<policy::Mount> mounts, ResolveMounts(request, facts.check));
  ODY_RETURN_IF_ERROR(CheckSources(request, facts.places));
  ODY_ASSIGN_OR_RETURN(mounts, AddExecutableMounts(request, programs, std::move(mounts), facts));

  Compiled out;
  ODY_ASSIGN_OR_RETURN(out.limits, EffectiveLimits(request.limits, facts.check));
  out.base_env = BaseEnvironment(request.network);
  if (has_image) out.base_env = ImageEnvironment(out.base_env, image);
  FillPlan(request, &out);
  ExplainChoices(request, &out);
  AddCommonRules(request, &out);
  if (has_image) {
    AddImage(request, image, facts, &out);
  } else {
    AddSystem(request, facts, &out);
  }
  AddVisibleLimits(facts, &out);
  AddTrees(request, mounts, &out);
  ODY_RETURN_IF_ERROR(AddExecutables(request, programs, &out));
  if (named) DenyWriteExec(mounts, programs, &out);
  ODY_RETURN_IF_ERROR(AddProtection(request, facts, &out));
  ODY_RETURN_IF_ERROR(AddLandlock(request.landlock, facts.landlock, &out));
  ODY_RETURN_IF_ERROR(AddGuards(request, &out));
  ExplainLimits(facts.enforcement, &out);

  ODY_RETURN_IF_ERROR(CheckResult(out, programs, facts.check));
  out.digest = Digest(request, programs, out);
  return out;
}

}  // namespace odyssey::compile
