#include "supervisor/rpc/exec_request.h"

#include <algorithm>

#include "common/base/refusal.h"
#include "policy/model/own_variables.h"
#include "policy/model/policy_keys.h"
#include "policy/plan/plan.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {
namespace {

static_assert(policy::kRunVariable == cell::kRunVariable);

// Names that a command may override beside those its policy exports.
bool IsBaseName(const compile::Compiled& compiled, const std::string& name) {
  return policy::IsInheritedVariable(name) ||
         std::any_of(compiled.base_env.begin(), compiled.base_env.end(),
                     [&name](const std::string& e) { return e.rfind(name + "=", 0) == 0; });
}

Result<std::vector<std::string>> MakeEnvironment(
    const compile::Compiled& compiled, const std::map<std::string, std::string>& cell_env,
    const google::protobuf::Map<std::string, std::string>& overrides) {
  std::map<std::string, std::string> env = cell_env;
  for (const auto& [name, value] : overrides) {
    if (env.count(name) == 0 && !IsBaseName(compiled, name)) {
      return PermissionDenied(
          "access denied: environment variable is not allowed by sandbox policy: " + name);
    }
    env[name] = value;
  }
  std::vector<std::string> out;
  for (const std::string& entry : compiled.base_env) {
    if (env.count(entry.substr(0, entry.find('='))) == 0) out.push_back(entry);
  }
  for (const auto& [name, value] : env) out.push_back(name + "=" + value);
  return out;
}

Status CheckCwd(const std::string& cwd) {
  if (cwd.find('\0') != std::string::npos) {
    return Refused(Code::kInvalidArgument, "start.cwd", "", "contains a NUL character");
  }
  if (("/" + cwd + "/").find("/../") != std::string::npos) {
    return OfField("start.cwd",
                   PermissionDenied("access denied: path traversal is not allowed: " + cwd), cwd);
  }
  if (cwd.size() <= plan::kMaxPath) return OkStatus();
  return Refused(Code::kInvalidArgument, "start.cwd", "",
                 std::to_string(cwd.size()) + " bytes; at most " + std::to_string(plan::kMaxPath) +
                     " are allowed");
}

Status CheckSize(const cell::ExecSpec& spec) {
  size_t bytes = 0;
  for (const auto* list : {&spec.argv, &spec.env}) {
    for (const std::string& word : *list) {
      bytes += word.size() + 1;
      if (word.find('\0') != std::string::npos) {
        return InvalidArgument("start.argv or start.env: contains a NUL character");
      }
    }
  }
  if (spec.argv.size() <= cell::kMaxArgv && bytes <= cell::kMaxExecBytes) return OkStatus();
  return InvalidArgument("start.argv and start.env: " + std::to_string(spec.argv.size()) +
                         " words, " + std::to_string(bytes) + " bytes; at most " +
                         std::to_string(cell::kMaxArgv) + " words and " +
                         std::to_string(cell::kMaxExecBytes) + " bytes are allowed");
}

Status CheckCaps(const v1::ExecStart& start) {
  const uint64_t stdout_cap = start.stdout_cap_bytes(), stderr_cap = start.stderr_cap_bytes();
  if (!start.keep_output() || std::max(stdout_cap, stderr_cap) <= kMaxCapToKeep) {
    return OkStatus();
  }
  return InvalidArgument(
      "start.stdout_cap_bytes and start.stderr_cap_bytes: " + std::to_string(stdout_cap) + " and " +
      std::to_string(stderr_cap) + "; at most " + std::to_string(kMaxCapToKeep) +
      " are allowed with keep_output");
}

// The relay connects to 127.0.0.1 of its network namespace: with network full that is the host's.
Status CheckPort(const compile::Compiled& compiled, const v1::ExecStart& start) {
  if (start.port() > UINT16_MAX) {
    return Refused(Code::kInvalidArgument, "start.port", std::to_string(start.port()),
                   "at most 65535 is allowed");
  }
  if (!start.argv().empty() || start.has_terminal() || !start.run_id().empty()) {
    return Refused(Code::kInvalidArgument, "start.port", std::to_string(start.port()),
                   "goes without argv, terminal and run_id");
  }
  if (compiled.HasOwnNetwork()) return OkStatus();
  return Refused(Code::kFailedPrecondition, "start.port", std::to_string(start.port()),
                 "the cell is in the host's network, where its ports can be reached directly");
}

// Those that each process of the command has; wall_clock_ms is rpc's own.
void SetLimits(const policy::Limits& limits, cell::ExecSpec* spec) {
  for (const cell::ExecLimit& limit : cell::kExecLimits) {
    for (const policy::LimitKey& key : policy::kLimitKeys) {
      if (key.name == limit.name) spec->*limit.member = key.get(limits);
    }
  }
}

}  // namespace

Result<ExecOptions> MakeExecOptions(const compile::Compiled& compiled,
                                    const std::map<std::string, std::string>& cell_env,
                                    const v1::ExecStart& start) {
  ExecOptions options;
  if (start.port() != 0) {
    ODY_RETURN_IF_ERROR(CheckPort(compiled, start));
    options.spec.port = static_cast<uint16_t>(start.port());
    options.spec.argv = {"127.0.0.1:" + std::to_string(start.port())};  // in messages and records
  } else if (start.argv().empty() || start.argv(0).empty()) {
    return Refused(Code::kInvalidArgument, "start.argv", "", "command cannot be empty");
  } else {
    options.spec.argv.assign(start.argv().begin(), start.argv().end());
  }
  ODY_ASSIGN_OR_RETURN(options.spec.env, MakeEnvironment(compiled, cell_env, start.env()));
  options.spec.cwd = start.cwd().empty() ? compiled.workspace : start.cwd();
  if (options.spec.cwd[0] != '/') {
    options.spec.cwd = compiled.workspace + "/" + options.spec.cwd;
  }
  ODY_RETURN_IF_ERROR(CheckCwd(options.spec.cwd));
  ODY_RETURN_IF_ERROR(CheckSize(options.spec));
  ODY_RETURN_IF_ERROR(CheckCaps(start));
  SetLimits(compiled.limits, &options.spec);
  options.spec.terminal = start.has_terminal();
  options.spec.rows = static_cast<uint16_t>(start.terminal().rows());
  options.spec.columns = static_cast<uint16_t>(start.terminal().columns());
  options.open_stdin = start.open_stdin() || start.port() != 0;
  options.memory_bytes = compiled.limits.memory_bytes;
  if (start.port() != 0) return options;
  options.wall_clock_ms =
      start.wall_clock_ms() != 0 ? start.wall_clock_ms() : compiled.limits.wall_clock_ms;
  options.stdout_cap = start.stdout_cap_bytes();
  options.stderr_cap = start.stderr_cap_bytes();
  options.keep_output = start.keep_output();
  options.stays = !start.run_id().empty();
  return options;
}

}  // namespace odyssey::supervisor
