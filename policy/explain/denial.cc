#include "policy/explain/denial.h"

#include <algorithm>
#include <optional>

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

std::optional<Denial> JudgePath(const Cell& cell, const std::string& cwd,
                                const std::vector<std::string>& candidates, Access access) {
  for (const std::string& candidate : candidates) {
    const std::string path = ResolveInCell(cell, cwd, candidate);
    if (path.empty()) continue;
    const Answer answer = ExplainPath(cell, path, access);
    if (!answer.allowed) return PathDenial(path, access, answer, kFromCommand);
  }
  return std::nullopt;
}

std::optional<Denial> JudgeNetwork(const Cell& cell, const Complaint& complaint) {
  const Answer answer = ExplainNetwork(cell);
  const std::string host = complaint.candidates.empty() ? "" : complaint.candidates.front();
  if (answer.allowed || IsLoopback(host)) return std::nullopt;
  return Denial{"socket", host, "connect", answer.rule, answer.grant, "", kFromCommand};
}

// A program names the call that failed, or bears its name.
std::optional<Denial> JudgeCall(const Cell& cell, const Complaint& complaint) {
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

// A place that is full: which limit bounds it.
std::optional<Denial> JudgeSpace(const Cell& cell, const std::string& cwd,
                                 const Complaint& complaint) {
  for (const std::string& candidate : complaint.candidates) {
    const std::string path = ResolveInCell(cell, cwd, candidate);
    const plan::Entry* in = nullptr;
    for (const plan::Entry& entry : cell.compiled.plan.entries) {
      if (plan::IsWithin(path, entry.target)) in = &entry;
    }
    if (in == nullptr || in->kind == plan::EntryKind::kHostTree) continue;
    const bool memory = in->kind == plan::EntryKind::kTmpfs || cell.request.ephemeral;
    if (in->kind != plan::EntryKind::kTmpfs && in->kind != plan::EntryKind::kCellTree) continue;
    if (memory) return LimitDenial(cell, Limit::kTmp, 0, kFromCommand);
    if (cell.compiled.limits.disk_bytes != 0) {
      return LimitDenial(cell, Limit::kDisk, 0, kFromCommand);
    }
  }
  return std::nullopt;
}

// What was "not found" is refused only where a policy names what there is.
std::optional<Denial> JudgeMissing(const Cell& cell, const std::string& cwd,
                                   const Complaint& complaint) {
  const bool named_only = cell.request.executables_mode == policy::ExecutablesMode::kExplicit;
  if (!named_only || complaint.candidates.empty()) return std::nullopt;
  const std::string& name = complaint.candidates.front();
  if (name.find('/') != name.npos) return std::nullopt;
  return ExecuteDenial(cell, cwd, name, kFromCommand);
}

std::optional<Denial> JudgePermission(const Cell& cell, const std::string& cwd,
                                      const Complaint& complaint) {
  if (complaint.writing) return JudgePath(cell, cwd, complaint.candidates, Access::kWrite);
  if (complaint.executing) return JudgePath(cell, cwd, complaint.candidates, Access::kExecute);
  const auto read = JudgePath(cell, cwd, complaint.candidates, Access::kRead);
  if (read || !complaint.redirecting) return read;
  return JudgePath(cell, cwd, complaint.candidates, Access::kWrite);
}

std::optional<Denial> Judge(const Cell& cell, const std::string& cwd, const Complaint& complaint) {
  switch (complaint.kind) {
    case ComplaintKind::kReadOnly:
      return JudgePath(cell, cwd, complaint.candidates, Access::kWrite);
    case ComplaintKind::kPermission:
      return JudgePermission(cell, cwd, complaint);
    case ComplaintKind::kNotPermitted: {
      const auto call = JudgeCall(cell, complaint);
      // Nothing that keeps a program from being executed says EPERM.
      if (call || complaint.executing) return call;
      return JudgePermission(cell, cwd, complaint);
    }
    case ComplaintKind::kNotFound:
      return JudgeMissing(cell, cwd, complaint);
    case ComplaintKind::kNetwork:
      return JudgeNetwork(cell, complaint);
    case ComplaintKind::kProcesses:
      return LimitDenial(cell, Limit::kPids, 0, kFromCommand);
    case ComplaintKind::kOpenFiles:
      return LimitDenial(cell, Limit::kOpenFiles, 0, kFromCommand);
    case ComplaintKind::kSpace:
      return JudgeSpace(cell, cwd, complaint);
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
  return denial.grant.empty() ? out : out + "; to allow: " + denial.grant;
}

bool IsSameThing(const Denial& a, const Denial& b) {
  return a.kind == b.kind && a.resource == b.resource && a.rule == b.rule;
}

Denial PathDenial(const std::string& path, Access access, const Answer& answer,
                  const std::string& source) {
  return {access == Access::kExecute ? "exec" : "path",
          path.substr(0, kMaxResource),
          AccessName(access),
          answer.rule,
          path.size() > kMaxResource ? "" : answer.grant,
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

Denial ExecuteDenial(const Cell& cell, const std::string& cwd, const std::string& name,
                     const std::string& source) {
  const bool named_only = cell.request.executables_mode == policy::ExecutablesMode::kExplicit;
  Answer answer{false, "mode: the file may not be executed", ""};
  std::string path = name;
  if (name.find('/') != name.npos) {
    path = ResolveInCell(cell, cwd, name);
    const Answer explained = ExplainPath(cell, path, Access::kExecute);
    if (!explained.allowed) answer = explained;
  } else if (named_only) {
    answer.rule = "policy system_tools_mode explicit";
    answer.grant = "sandbox.system_tools: [\"" + name + "\"]";
  }
  return PathDenial(path, Access::kExecute, answer, source);
}

std::vector<Denial> JudgeComplaints(const Cell& cell, const std::string& cwd,
                                    const std::vector<Complaint>& complaints) {
  std::vector<Denial> out;
  for (const Complaint& complaint : complaints) {
    auto denial = Judge(cell, cwd, complaint);
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
