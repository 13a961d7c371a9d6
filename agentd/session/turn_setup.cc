#include "agentd/session/turn_setup.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "agentd/mcp_client/server.h"
#include "agentd/package/bundle_files.h"
#include "agentd/session/cell_quota.h"
#include "agentd/tool/skill_tool.h"
#include "common/base/join.h"
#include "common/base/refusal.h"
#include "common/os/file.h"
#include "policy/ceiling/check.h"
#include "policy/dialect/bundle_tree.h"
#include "policy/dialect/ceiling_directory.h"
#include "policy/dialect/sandbox_request.h"
#include "policy/lattice/lattice.h"
#include "policy/model/mode_name.h"
#include "policy/model/own_variables.h"
#include "policy/model/tool_table.h"

namespace odyssey::session {
namespace {

constexpr uint32_t kDefaultWallClockMs = 60'000;
constexpr uint64_t kDefaultOutputBytes = 64 * 1024;
constexpr uint64_t kMaxStagedBytes = 8 * 1024 * 1024;  // what one Write carries

// A bundle that asks for it does not get it by that. The operator's grant is the supervisor's to
// look at.
Status CheckOwnersWord(const SessionRecord& record) {
  if (record.allow_danger) return OkStatus();
  return WithHint(
      kHintDanger,
      Refused(Code::kPermissionDenied, "mode", "danger_full_access",
              "the bundle asks for commands UNCONFINED on the host, and the client that makes the "
              "session must say that this is meant: allow_danger, --dangerous-sandbox-mode of "
              "odyssey-ctl; the operator's grant is needed too"));
}

Result<sandbox::CellSpec> CellOf(const SessionRecord& record, const bundle::InstalledBundle& bundle,
                                 const Runtime& runtime, dialect::Origins* origins) {
  dialect::RequestContext context;
  context.client_cwd = record.cwd;
  context.host_env = record.env;
  ODY_ASSIGN_OR_RETURN(context.granted_env, GrantedSources(record, bundle.spec.sandbox, runtime));
  // Read-only: the copy in the store is the workspace itself. Otherwise it is a private one, which
  // StageBundle fills.
  context.bundle_directory = bundle.directory;
  context.bundle_as_workspace = true;
  ODY_ASSIGN_OR_RETURN(policy::SandboxRequest request,
                       dialect::ToRequest(bundle.spec.sandbox, context, origins));
  if (record.review) policy::ReviewAllWrites(&request);
  const auto has = [&record](const std::string& name) {
    const auto found = record.env.find(name);
    return found == record.env.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  policy::InheritVariables(has, &request.env);
  if (policy::IsDanger(request)) {
    ODY_RETURN_IF_ERROR(origins->Locate(CheckOwnersWord(record)));
    request.workspace = record.cwd;
  }
  return sandbox::CellSpec{ToolingCell(record), std::move(request), bundle.pin.digest,
                           record.owner_uid, record.allow_danger};
}

// bash where the host has it and the cell shows it.
const char* ShellOf(const policy::SandboxRequest& request) {
  if (access("/bin/bash", X_OK) != 0) return tools::kPlainShell;
  if (!request.image.reference.empty()) return tools::kPlainShell;  // few images have another
  if (request.executables_mode != policy::ExecutablesMode::kExplicit) return tools::kBashShell;
  const std::vector<std::string>& named = request.executables;
  const bool has_bash = std::any_of(named.begin(), named.end(), [](const std::string& program) {
    return program.substr(program.rfind('/') + 1) == tools::kBashShell;
  });
  return has_bash ? tools::kBashShell : tools::kPlainShell;
}

bool Searches(const std::string& tool) {
  return policy::AnyOfKind(std::span(&tool, 1), policy::ToolKind::kSearches);
}

// Glob and Grep run a program of the host, in the cell. Without it a bundle that names them is
// refused; one that names no tools has all but them.
Status ShowSearchProgram(const dialect::Bundle& bundle, std::vector<std::string>* offered,
                         policy::SandboxRequest* request) {
  if (!policy::AnyOfKind(*offered, policy::ToolKind::kSearches)) return OkStatus();
  const std::string program = policy::kSearchProgram;
  if (access(program.c_str(), X_OK) != 0) {
    if (policy::AnyOfKind(bundle.tools, policy::ToolKind::kSearches)) {
      return FailedPrecondition(program +
                                ": not on this host; Glob and Grep need the package ripgrep");
    }
    std::erase_if(*offered, Searches);
    return OkStatus();
  }
  if (request->executables_mode != policy::ExecutablesMode::kExplicit) return OkStatus();
  std::vector<std::string>& named = request->executables;
  if (std::find(named.begin(), named.end(), program) == named.end()) named.push_back(program);
  return OkStatus();
}

// What reaches the servers of a bundle: curl those with a URL, env those with variables of their
// own. A cell whose programs are named shows it.
Status ShowServerPrograms(const dialect::Bundle& bundle, policy::SandboxRequest* request) {
  std::vector<std::string> needed;
  for (const dialect::McpServerSpec& server : bundle.mcp_servers) {
    for (const std::string& program : mcp_client::ProgramsFor(server)) {
      if (access(program.c_str(), X_OK) != 0) {
        return FailedPrecondition(program + ": not on this host; mcp_servers." + server.name +
                                  " needs it");
      }
      needed.push_back(program);
    }
  }
  if (request->executables_mode != policy::ExecutablesMode::kExplicit) return OkStatus();
  std::vector<std::string>& named = request->executables;
  for (const std::string& program : needed) {
    if (std::find(named.begin(), named.end(), program) == named.end()) named.push_back(program);
  }
  return OkStatus();
}

// Copies the bundle's files into the cell's workspace, where the agent may change them.
Status StageBundle(const std::string& cell_id, const bundle::InstalledBundle& bundle,
                   sandbox::Sandbox* sandbox) {
  ODY_ASSIGN_OR_RETURN(const std::vector<package::BundleFile> files,
                       package::ListTreeFiles(bundle.directory));
  for (const package::BundleFile& file : files) {
    ODY_ASSIGN_OR_RETURN(const std::string content,
                         ReadFile(bundle.directory + "/" + file.path, kMaxStagedBytes));
    ODY_RETURN_IF_ERROR(
        sandbox->WriteFile(cell_id, file.path, content, file.executable ? 0755 : 0644));
  }
  return OkStatus();
}

// A private workspace is filled by Write, which a larger file does not pass.
Status CheckStageable(const bundle::InstalledBundle& bundle) {
  ODY_ASSIGN_OR_RETURN(const std::vector<package::BundleFile> files,
                       package::ListTreeFiles(bundle.directory));
  for (const package::BundleFile& file : files) {
    if (file.bytes <= kMaxStagedBytes) continue;
    return InvalidArgument("bundle entry " + file.path + ": a workspace_write bundle has at most " +
                           std::to_string(kMaxStagedBytes) + " bytes in one file, not " +
                           std::to_string(file.bytes) + "; make it read_only");
  }
  return OkStatus();
}

// Whether the private workspace lacks the bundle's files: never staged, or the supervisor's copy of
// the directories was lost since.
Result<bool> NeedsStaging(const SessionRecord& record, const sandbox::Cell& cell,
                          sandbox::Sandbox* sandbox) {
  if (!record.staged) return true;
  if (!cell.created) return false;
  ODY_ASSIGN_OR_RETURN(const supervisor::v1::FileListResult list, sandbox->ListFiles(cell.id, ""));
  return std::none_of(list.entries().begin(), list.entries().end(),
                      [](const supervisor::v1::FileEntry& entry) {
                        return entry.name() != dialect::kMountDirectory;
                      });
}

// An agent that may call no worker is not offered the tool.
std::vector<std::string> WithoutIdleTools(std::vector<std::string> offered,
                                          const dialect::AgentSpec& agent) {
  if (agent.delegation.allow.empty()) std::erase(offered, policy::kWorkerCall);
  return offered;
}

// A worker gets what its caller has too, and no more.
Status BoundByCaller(const SessionRecord& record, const Runtime& runtime, TurnSetup* setup) {
  if (record.parent.session_id.empty()) return OkStatus();
  ODY_ASSIGN_OR_RETURN(const SessionPtr caller, runtime.store->Get(record.parent.session_id));
  ODY_ASSIGN_OR_RETURN(const TurnSetup bound, SetUpTurn(*caller, runtime));
  ODY_ASSIGN_OR_RETURN(setup->cell.request,
                       lattice::Narrow(bound.cell.request, setup->cell.request));
  setup->within = bound.cell.request;
  setup->within->limits.wall_clock_ms = bound.wall_clock_ms;
  setup->bounds = bound.bounds;
  setup->bounds.push_back(bound.rules);
  std::erase_if(setup->offered, [&](const std::string& tool) {
    return std::find(bound.offered.begin(), bound.offered.end(), tool) == bound.offered.end();
  });
  return OkStatus();
}

}  // namespace

Result<std::set<std::string>> GrantedSources(const SessionRecord& record,
                                             const dialect::SandboxSpec& sandbox,
                                             const Runtime& runtime) {
  if (sandbox.env.empty()) return std::set<std::string>();
  ODY_ASSIGN_OR_RETURN(const auto current, runtime.ceiling->Get());
  Result<std::set<std::string>> granted = ceiling::GrantedSources(
      current->ceiling, dialect::OwnerOf(record.owner_uid), sandbox.env, record.env);
  if (!granted.ok()) return sandbox.origins.Locate(granted.status());
  return granted;
}

sandbox::CellKey ToolingCell(const SessionRecord& record) {
  return {record.id, record.agent_id, "tooling", "tools"};
}

uint32_t LongWallClockMs(const TurnSetup& setup) {
  return setup.cell.request.limits.wall_clock_ms != 0 ? 0 : job::kWallClockMs;
}

Status CheckPriced(const SessionRecord& record, const TurnSetup& setup) {
  if (record.budget.cost_microdollars == 0 || setup.price) return OkStatus();
  const dialect::ModelSpec& model = setup.agent.model;
  return Refused(Code::kFailedPrecondition, "budget." + std::string(policy::kCost.name), "",
                 "model " + model.provider + "/" + model.name +
                     " has no price; the operator sets it in the file of odyssey-agentd --prices");
}

Result<TurnSetup> SetUpTurn(const SessionRecord& record, const Runtime& runtime, TurnTrace* trace) {
  TurnTrace unused;
  if (trace == nullptr) trace = &unused;
  TurnSetup out;
  trace->Enter(TurnStep::kResolveBundle);
  ODY_ASSIGN_OR_RETURN(out.bundle, runtime.bundles->Open(record.bundle));
  const dialect::Bundle& spec = out.bundle->spec;
  ODY_ASSIGN_OR_RETURN(out.agent, dialect::FindAgent(spec, record.agent_id));
  trace->Note(bundle::RefOf(record.bundle) + ", agent " + out.agent.id);

  trace->Enter(TurnStep::kBuildRules);
  const dialect::ToolRuleSpec& entries = out.agent.tools;
  ODY_ASSIGN_OR_RETURN(out.rules,
                       rules::Parse(entries.allow, entries.ask, entries.deny, entries.risk));
  trace->Note(std::to_string(entries.allow.size()) + " allow, " +
              std::to_string(entries.ask.size()) + " ask, " + std::to_string(entries.deny.size()) +
              " deny");

  trace->Enter(TurnStep::kBuildPrompt);
  out.system_prompt = tools::SystemPrompt(out.agent.prompt, spec);
  trace->Note(std::to_string(out.system_prompt.size()) + " bytes");

  trace->Enter(TurnStep::kSelectTools);
  out.offered = WithoutIdleTools(rules::SelectTools(spec.tools, runtime.tools->Names(), out.rules),
                                 out.agent);
  // A bundle that names neither tools nor skills has none to list.
  if (spec.tools.empty() && spec.skills.empty()) std::erase(out.offered, policy::kSkill);

  trace->Enter(TurnStep::kResolveModel);
  const dialect::ModelSpec& model = out.agent.model;
  Result<std::shared_ptr<model::ModelClient>> client =
      runtime.models->Open({model.provider, model.name, model.config, out.bundle->directory});
  if (!client.ok()) return out.agent.origins.Locate(client.status());
  out.model = *std::move(client);
  out.price = runtime.models->PriceOf(model.provider, model.name);
  trace->Note(model.provider + "/" + model.name);

  trace->Enter(TurnStep::kChooseMode);
  ODY_ASSIGN_OR_RETURN(out.cell, CellOf(record, *out.bundle, runtime, &out.origins));
  ODY_RETURN_IF_ERROR(ShowSearchProgram(spec, &out.offered, &out.cell.request));
  ODY_RETURN_IF_ERROR(ShowServerPrograms(spec, &out.cell.request));
  ODY_RETURN_IF_ERROR(BoundByCaller(record, runtime, &out));
  out.sandbox_mode = policy::ModeName(out.cell.request.mode);
  trace->Note(out.sandbox_mode);
  out.shell = ShellOf(out.cell.request);
  if (out.cell.request.mode == policy::Mode::kWorkspaceWrite) {
    ODY_RETURN_IF_ERROR(CheckStageable(*out.bundle));
  }
  out.workspace = tools::kWorkspace;
  // Without a directory of the client's it is the owner's home, which the supervisor looks up.
  if (policy::IsDanger(out.cell.request)) out.workspace = record.cwd.empty() ? "~" : record.cwd;
  out.wall_clock_ms = out.cell.request.limits.wall_clock_ms != 0
                          ? out.cell.request.limits.wall_clock_ms
                          : kDefaultWallClockMs;
  out.output_cap_bytes =
      spec.sandbox.output_bytes != 0 ? spec.sandbox.output_bytes : kDefaultOutputBytes;

  trace->Enter(TurnStep::kSelectTools);  // where the host and the caller have narrowed them
  trace->Note(Join(out.offered, ", "));
  trace->Leave();
  return out;
}

Status CheckSessionCell(const TurnSetup& setup, const Runtime& runtime) {
  const Status allowed = runtime.sandbox->CheckCell(setup.cell);
  if (allowed.code() == Code::kUnavailable) return OkStatus();
  return setup.origins.Locate(allowed);
}

Result<std::string> PrepareSessionCell(const std::string& session_id, const TurnSetup& setup,
                                       const Runtime& runtime) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, runtime.store->Get(session_id));
  if (!record->cell_used) {
    // Before there is one: what is recorded too early is purged in vain, never left behind.
    ODY_RETURN_IF_ERROR(runtime.store->Update(session_id, [](SessionRecord& changed) {
      changed.cell_used = true;
      return OkStatus();
    }));
  }
  const Result<sandbox::Cell> prepared = runtime.cells->Prepare(setup.cell, runtime);
  if (!prepared.ok()) return setup.origins.Locate(prepared.status());
  const sandbox::Cell& made = *prepared;
  // On the host the workspace is the person's own directory: nothing is put there.
  if (setup.cell.request.mode != policy::Mode::kWorkspaceWrite) return made.id;

  ODY_ASSIGN_OR_RETURN(const bool stage, NeedsStaging(*record, made, runtime.sandbox));
  if (!stage) return made.id;
  ODY_RETURN_IF_ERROR(StageBundle(made.id, *setup.bundle, runtime.sandbox));
  ODY_RETURN_IF_ERROR(runtime.store->Update(session_id, [](SessionRecord& changed) {
    changed.staged = true;
    return OkStatus();
  }));
  return made.id;
}

}  // namespace odyssey::session
