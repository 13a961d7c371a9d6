#include "policy/explain/denial.h"

#include <limits.h>

#include <algorithm>
#include <optional>

#include "policy/explain/anywhere.h"
#include "policy/plan/plan_check.h"

namespace odyssey::explain {
namespace {

constexpr RefusedCall kRefusedCalls[] = {{"unshare", "unshare"},
                                         {"setns", "setns"},
                                         {"nsenter", "setns"},
                                         {"mount", "mount"},
                                         {"umount", "umount2"},
                                         {"umount2", "umount2"},
                                         {"chroot", "chroot"},
                                         {"pivot_root", "pivot_root"},
                                         {"keyctl", "keyctl"},
                                         {"add_key", "add_key"},
                                         {"bpf", "bpf"},
                                         {"perf_event_open", "perf_event_open"},
                                         {"io_uring_setup", "io_uring_setup"},
                                         {"userfaultfd", "userfaultfd"},
                                         {"open_by_handle_at", "open_by_handle_at"},
                                         {"swapon", "swapon"},
                                         {"swapoff", "swapoff"},
                                         {"reboot", "reboot"},
                                         {"init_module", "init_module"},
                                         {"finit_module", "finit_module"},
                                         {"kexec_load", "kexec_load"}};

bool IsLoopback(std::string_view host) {
  if (host.substr(0, 1) == "[") host.remove_prefix(1);
  return host.substr(0, 9) == "localhost" || host.substr(0, 4) == "127." ||
         host.substr(0, 3) == "::1";
}

// What programs call a descriptor that somebody else opened: nobody knows which file it is.
bool IsStream(std::string_view name) {
  constexpr std::string_view kStreams[] = {"standard output", "standard error", "stdout",
                                           "stderr",          "write error",    "-"};
  return std::find(std::begin(kStreams), std::end(kStreams), name) != std::end(kStreams);
}

// What judges one complaint.
struct Judge {
  const Cell& cell;
  const Command& command;
  const Complaint& complaint;
  const std::optional<std::string> directory;  // of relative names, if it is known

  std::optional<Denial> All() const;
  std::optional<Denial> Path(Access access) const;
  std::optional<Denial> Permission() const;
  std::optional<Denial> Execution() const;
  std::optional<Denial> Network() const;
  std::optional<Denial> Call() const;
  std::optional<Denial> Space() const;
  std::optional<Limit> SpaceLimitAt(const std::string& path) const;
  std::optional<Limit> OnlySpaceLimit() const;
};

std::optional<Denial> Judge::Path(Access access) const {
  const bool by_mount = complaint.kind == ComplaintKind::kReadOnly || access == Access::kExecute;
  for (const std::string& candidate : complaint.candidates) {
    if (candidate[0] != '/' && !directory) {
      // The trees refuse whatever it is called, also what is no name at all.
      const bool likeliest = &candidate == &complaint.candidates.front();
      const auto found = ExplainAnywhere(cell, candidate, access, by_mount && likeliest);
      if (found) return PathDenial(found->name, access, found->answer, kFromCommand);
      continue;
    }
    const std::string path = ResolveInCell(cell, directory.value_or("/"), candidate);
    if (path.empty()) continue;
    const Answer answer = ExplainPath(cell, path, access);
    if (!answer.allowed) return PathDenial(path, access, answer, kFromCommand);
  }
  return std::nullopt;
}

std::optional<Denial> Judge::Network() const {
  const Answer answer = ExplainNetwork(cell);
  const std::string host = complaint.candidates.empty() ? "" : complaint.candidates.front();
  if (answer.allowed || IsLoopback(host)) return std::nullopt;
  return Denial{"socket", host, "connect", answer.rule, answer.grant, "", kFromCommand};
}

// A program names the call that failed, or bears its name.
std::optional<Denial> Judge::Call() const {
  if (IsOnHost(cell)) return std::nullopt;
  std::vector<std::string> words = complaint.candidates;
  words.push_back(complaint.program);
  for (const std::string& word : words) {
    const auto it = std::find_if(std::begin(kRefusedCalls), std::end(kRefusedCalls),
                                 [&](const RefusedCall& name) { return name.word == word; });
    if (it == std::end(kRefusedCalls)) continue;
    return Denial{"syscall", std::string(it->call), "call", "seccomp", "", "", kFromCommand};
  }
  return std::nullopt;
}

// Which limit bounds a place.
std::optional<Limit> Judge::SpaceLimitAt(const std::string& path) const {
  const plan::Entry* in = nullptr;
  for (const plan::Entry& entry : cell.compiled.plan.entries) {
    if (plan::IsWithin(path, entry.target)) in = &entry;
  }
  if (in == nullptr) return std::nullopt;
  const bool tmpfs = in->kind == plan::EntryKind::kTmpfs;
  if (!tmpfs && in->kind != plan::EntryKind::kCellTree) return std::nullopt;
  if (tmpfs || cell.request.ephemeral) return Limit::kTmp;
  if (cell.compiled.limits.disk_bytes != 0) return Limit::kDisk;
  return std::nullopt;
}

// The one that bounds every place of the cell that has a bound.
std::optional<Limit> Judge::OnlySpaceLimit() const {
  std::optional<Limit> only;
  for (const plan::Entry& entry : cell.compiled.plan.entries) {
    const auto limit = SpaceLimitAt(entry.target);
    if (limit && only && *limit != *only) return std::nullopt;
    if (limit) only = limit;
  }
  return only;
}

std::optional<Denial> Judge::Space() const {
  for (const std::string& candidate : complaint.candidates) {
    const bool known = !IsStream(candidate) && (candidate[0] == '/' || directory);
    const auto limit = known ? SpaceLimitAt(ResolveInCell(cell, directory.value_or("/"), candidate))
                             : OnlySpaceLimit();
    if (limit) return LimitDenial(cell, *limit, 0, kFromCommand);
  }
  return std::nullopt;
}

// A path, or the name of a program, which the command's PATH led to.
std::optional<Denial> Judge::Execution() const {
  // What may not even be read is not executed, and perhaps was not meant to be.
  if (auto read = Path(Access::kRead)) return read;
  Complaint with_paths = complaint;
  std::erase_if(with_paths.candidates, [](auto& name) { return name.find('/') == name.npos; });
  const Judge judge{cell, command, with_paths, directory};
  if (auto path = judge.Path(Access::kExecute)) return path;
  for (const std::string& name : complaint.candidates) {
    if (auto unlisted = UnlistedDenial(cell, command, name, kFromCommand)) return unlisted;
  }
  return std::nullopt;
}

std::optional<Denial> Judge::Permission() const {
  if (complaint.writing) return Path(Access::kWrite);
  if (complaint.executing) return Execution();
  if (auto read = Path(Access::kRead)) return read;
  if (complaint.redirecting) return Path(Access::kWrite);
  // Of what it could not start Python says no more than of what it could not open.
  const bool python = complaint.program == "PermissionError" && !complaint.candidates.empty();
  if (!python) return std::nullopt;
  return UnlistedDenial(cell, command, complaint.candidates.front(), kFromCommand);
}

std::optional<Denial> Judge::All() const {
  switch (complaint.kind) {
    case ComplaintKind::kReadOnly:
      return Path(Access::kWrite);
    case ComplaintKind::kPermission:
      return Permission();
    case ComplaintKind::kNotPermitted: {
      const auto call = Call();
      // Nothing that keeps a program from being executed says EPERM.
      if (call || complaint.executing) return call;
      return Permission();
    }
    case ComplaintKind::kNotFound:
      if (complaint.candidates.empty()) return std::nullopt;
      return UnlistedDenial(cell, command, complaint.candidates.front(), kFromCommand);
    case ComplaintKind::kNetwork:
      return Network();
    case ComplaintKind::kProcesses:
      return LimitDenial(cell, Limit::kPids, 0, kFromCommand);
    case ComplaintKind::kOpenFiles:
      return LimitDenial(cell, Limit::kOpenFiles, 0, kFromCommand);
    case ComplaintKind::kSpace:
      return Space();
  }
  return std::nullopt;
}

bool Kills(Limit limit) {
  return limit == Limit::kMemory || limit == Limit::kWallClock || limit == Limit::kCpuSeconds;
}

}  // namespace

std::span<const RefusedCall> RefusedCalls() { return kRefusedCalls; }

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

Denial PathDenial(const std::string& path, Access access, const Answer& answer,
                  const std::string& source) {
  return {access == Access::kExecute ? "exec" : "path",
          path.substr(0, kMaxResource),
          AccessName(access),
          answer.rule,
          path.size() > kMaxResource ? Grant() : answer.grant,
          "",
          source};
}

Denial LimitDenial(const Cell& cell, Limit limit, uint64_t value, const std::string& source) {
  const Answer answer = ExplainLimit(cell, limit, value);
  return {.kind = "limit",
          .resource = LimitName(limit),
          .access = "exceed",
          .rule = answer.rule,
          .grant = answer.grant,
          .source = source,
          .verdict = Kills(limit) ? kKill : kDeny};
}

std::optional<Denial> UnlistedDenial(const Cell& cell, const Command& command,
                                     const std::string& name, const std::string& source) {
  const bool named_only = cell.request.executables_mode == policy::ExecutablesMode::kExplicit;
  const bool plain = !name.empty() && name.size() <= NAME_MAX &&
                     name.find_first_of(std::string_view("/\0", 2)) == name.npos;
  if (!named_only || IsOnHost(cell) || !plain || !command.find_program) return std::nullopt;
  const std::string file = command.find_program(name);
  if (file.empty()) return std::nullopt;
  const std::string path = ResolveInCell(cell, "/", file);
  if (ExplainPath(cell, path, Access::kExecute).allowed) return std::nullopt;
  return PathDenial(name, Access::kExecute, ExplainUnlisted(name), source);
}

Denial ExecuteDenial(const Cell& cell, const Command& command, const std::string& source) {
  const std::string& name = command.argv[0];
  if (auto unlisted = UnlistedDenial(cell, command, name, source)) return *unlisted;
  Answer answer{false, "mode: the file may not be executed", ""};
  std::string path = name;
  if (name.find('/') != name.npos) {
    path = ResolveInCell(cell, command.cwd, name);
    const Answer explained = ExplainPath(cell, path, Access::kExecute);
    if (!explained.allowed) answer = explained;
  }
  return PathDenial(path, Access::kExecute, answer, source);
}

std::vector<Denial> JudgeComplaints(const Cell& cell, const Command& command,
                                    const std::vector<Complaint>& complaints) {
  const Whereabouts whereabouts(command);
  std::vector<Denial> out;
  for (const Complaint& complaint : complaints) {
    auto denial = Judge{cell, command, complaint, whereabouts.DirectoryOf(complaint)}.All();
    if (!denial) continue;
    denial->resource.resize(std::min(denial->resource.size(), kMaxResource));
    if (complaint.names_program) denial->process = complaint.program;
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Denial& d) { return IsSameThing(d, *denial); });
    if (!known) out.push_back(*std::move(denial));
  }
  return out;
}

}  // namespace odyssey::explain
