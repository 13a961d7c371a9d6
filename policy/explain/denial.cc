#include "policy/explain/denial.h"

#include <limits.h>

#include <optional>

namespace odyssey::explain {
namespace {

bool Kills(Limit limit) {
  return limit == Limit::kMemory || limit == Limit::kWallClock || limit == Limit::kCpuSeconds;
}

}  // namespace

std::string ProcessText(std::string_view comm, uint32_t pid) {
  return pid == 0 ? "" : std::string(comm) + "[" + std::to_string(pid) + "]";
}

std::string DescribeDenial(const Denial& denial) {
  std::string out = denial.access + " " + denial.resource;
  if (denial.resource.empty()) out = denial.access;
  out += " (" + denial.rule + ")";
  return denial.grant.empty() ? out : out + "; to allow: " + denial.grant.text;
}

bool IsSameThing(const Denial& a, const Denial& b) {
  return a.kind == b.kind && a.resource == b.resource && a.access == b.access && a.rule == b.rule;
}

Denial PathDenial(const std::string& path, Access access, const Answer& answer) {
  return {.kind = access == Access::kExecute ? "exec" : "path",
          .resource = path.substr(0, kMaxResource),
          .access = AccessName(access),
          .rule = answer.rule,
          .grant = path.size() > kMaxResource ? Grant() : answer.grant};
}

Denial LimitDenial(const Cell& cell, Limit limit, uint64_t value) {
  const Answer answer = ExplainLimit(cell, limit, value);
  return {.kind = "limit",
          .resource = LimitName(limit),
          .access = "exceed",
          .rule = answer.rule,
          .grant = answer.grant,
          .verdict = Kills(limit) ? kKill : kDeny};
}

Denial NetworkDenial(const Cell& cell, const cell::RefusedCall& refused) {
  const Answer answer = ExplainNetwork(cell);
  return {.kind = "network",
          .resource = refused.destination,
          .access = refused.number == 0 ? "resolve" : "connect",
          .rule = answer.rule,
          .grant = answer.grant,
          .process = ProcessText(refused.comm, refused.pid),
          .count = refused.count};
}

std::optional<Denial> UnlistedDenial(const Cell& cell, const Command& command,
                                     const std::string& name) {
  const bool named_only = cell.request.executables_mode == policy::ExecutablesMode::kExplicit;
  const bool plain = !name.empty() && name.size() <= NAME_MAX &&
                     name.find_first_of(std::string_view("/\0", 2)) == name.npos;
  if (!named_only || IsOnHost(cell) || !plain || !command.find_program) return std::nullopt;
  const std::string file = command.find_program(name);
  if (file.empty()) return std::nullopt;
  const std::string path = ResolveInCell(cell, "/", file);
  if (ExplainPath(cell, path, Access::kExecute).allowed) return std::nullopt;
  return PathDenial(name, Access::kExecute, ExplainUnlisted(name));
}

Denial ExecuteDenial(const Cell& cell, const Command& command) {
  const std::string& name = command.argv[0];
  if (auto unlisted = UnlistedDenial(cell, command, name)) return *unlisted;
  Answer answer{false, "mode: the file may not be executed", ""};
  std::string path = name;
  if (name.find('/') != name.npos) {
    path = ResolveInCell(cell, command.cwd, name);
    const Answer explained = ExplainPath(cell, path, Access::kExecute);
    if (!explained.allowed) answer = explained;
  }
  return PathDenial(path, Access::kExecute, answer);
}

}  // namespace odyssey::explain
