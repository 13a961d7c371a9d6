#include "ctl/view/approval_view.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/view/diff_view.h"
#include "ctl/view/tool_text.h"
#include "policy/model/tool_table.h"

namespace odyssey::ctl {
namespace {

constexpr char kIndent[] = "    ";
constexpr char kUnknown = '\x01';  // SimpleCommand.argv

std::string Safe(std::string_view text) { return Sanitize(text, Lines::kOne); }

std::string CommandLine(const agent::v1::SimpleCommand& command) {
  std::vector<std::string> argv(command.argv().begin(), command.argv().end());
  if (command.kind() == "opaque") {
    return "known only when it runs: " + (argv.empty() ? "" : Safe(argv.front()));
  }
  for (std::string& word : argv) {
    for (size_t at = word.find(kUnknown); at != std::string::npos; at = word.find(kUnknown)) {
      word.replace(at, 1, "…");
    }
  }
  std::string out = Safe(JoinCommand(argv));
  if (command.kind() == "wrapper") out += "  (starts the next one)";
  if (command.kind() == "guess") out += "  (perhaps a command)";
  return out;
}

// What the call would add to the cell, and why.
std::string Additions(const agent::v1::PermissionRequested& request) {
  if (!request.has_grants()) return "";
  std::string out = kIndent + std::string("adds to the cell:\n");
  for (const agent::v1::Grant& grant : request.grants().grants()) {
    out += kIndent + ("  " + DescribeGrant(grant)) + "\n";
  }
  if (request.reason().empty()) return out;
  const std::string label =
      IsAboutDestination(request) ? "it was refused: " : "the model's reason: ";
  return out + kIndent + label + Safe(request.reason()) + "\n";
}

std::string LimitText(const std::string& limit, const std::string& value) {
  const bool bytes = limit.size() > 6 && limit.substr(limit.size() - 6) == "_bytes";
  uint64_t number = 0;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), number).ptr;
  if (!bytes || value.empty() || end != value.data() + value.size()) return Safe(value);
  return value + " (" + FormatSize(number) + ")";
}

// What the line starts, where it is more than one program.
std::string Commands(const agent::v1::SimpleCommands& parsed) {
  if (parsed.commands_size() < 2 &&
      (parsed.commands().empty() || parsed.commands(0).kind() == "runs")) {
    return "";
  }
  std::string out = kIndent + std::string("starts:\n");
  for (const agent::v1::SimpleCommand& command : parsed.commands()) {
    out += kIndent + ("  " + CommandLine(command)) + "\n";
  }
  return out;
}

}  // namespace

std::string DescribeGrant(const agent::v1::Grant& grant) {
  switch (grant.key()) {
    case supervisor::v1::GRANT_KEY_MOUNT_READ:
      return "read " + Safe(grant.value()) + " on the host";
    case supervisor::v1::GRANT_KEY_MOUNT_WRITE:
      return "read and write " + Safe(grant.value()) + " on the host";
    case supervisor::v1::GRANT_KEY_EXECUTABLE:
      return "execute " + Safe(grant.value());
    case supervisor::v1::GRANT_KEY_NETWORK_ENDPOINT:
      return "connect to " + Safe(grant.value());
    case supervisor::v1::GRANT_KEY_LIMIT:
      return Safe(grant.limit()) + " " + LimitText(grant.limit(), grant.value()) +
             (grant.present().empty() ? ""
                                      : " instead of " + LimitText(grant.limit(), grant.present()));
    default:
      return "key " + std::to_string(grant.key()) + ": " + Safe(grant.value());
  }
}

bool IsAboutDestination(const agent::v1::PermissionRequested& request) {
  const std::string& rule = request.rule();
  return request.has_grants() && rule.substr(0, rule.find('(')) == policy::kNetworkRule;
}

std::string SafeScope(const agent::v1::PermissionRequested& request) {
  return Safe(request.scope());
}

std::string FormatApproval(const agent::v1::PermissionRequested& request, Extent extent,
                           bool color) {
  const size_t max_lines = extent == Extent::kWhole ? SIZE_MAX : kMaxExactLines;
  std::string out =
      Paint("? " + Safe(request.tool_name()) + " asks for approval", Style::kWarn, color);
  if (!request.rule().empty()) out += "  (rule " + Safe(request.rule()) + ")";
  if (!request.risk().empty()) out += "  (risk " + Safe(request.risk()) + ")";
  if (!request.worker_session_id().empty()) {
    out += "  (of the worker in " + Safe(request.worker_session_id()) + ")";
  }
  out += "\n";
  // A header alone says only that there is content, as of a binary file.
  const bool shows_content = !SplitDiff(request.diff()).hunks.empty();
  out += shows_content
             ? BriefArguments(request.tool_name(), request.arguments_json(), kIndent, max_lines)
             : ExactArguments(request.arguments_json(), kIndent, max_lines);
  if (!request.leads_to().empty())
    out += kIndent + ("leads to: " + Safe(request.leads_to())) + "\n";
  out += FoldDiff(request.diff(), max_lines, kIndent, kShowsAll, color);
  out += Commands(request.parsed());
  out += Additions(request);
  if (!request.cwd().empty()) out += kIndent + ("in " + Safe(request.cwd())) + "\n";
  if (!request.scope().empty()) out += kIndent + ("always means: " + SafeScope(request)) + "\n";
  if (request.has_expires_at()) {
    out += kIndent + ("denied without an answer at " + Safe(request.expires_at())) + "\n";
  }
  return out;
}

std::string DescribeDecision(const agent::v1::ApprovalResolved& resolved) {
  const std::string& decision = resolved.decision();
  std::string out = decision == "allow_once"     ? "allowed once"
                    : decision == "allow_always" ? "allowed for the rest of the session"
                    : decision == "deny"         ? "denied"
                                                 : Safe(decision);
  if (resolved.has_grant_scope()) {
    out +=
        resolved.grant_scope() == agent::v1::GRANT_SCOPE_SESSION ? ", its additions for the session"
        : resolved.grant_scope() == agent::v1::GRANT_SCOPE_TURN  ? ", its additions for this turn"
                                                                 : ", its additions for this call";
  }
  if (!resolved.grants_expire_at().empty()) {
    out += " until " + Safe(resolved.grants_expire_at());
  }
  const std::string& by = resolved.by();
  out += by.empty() || by == "client" ? " by uid " + std::to_string(resolved.by_uid())
                                      : " by agentd (" + Safe(by) + ")";
  return resolved.note().empty() ? out : out + ": " + Safe(resolved.note());
}

}  // namespace odyssey::ctl
