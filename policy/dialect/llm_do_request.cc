#include "policy/dialect/llm_do.h"
#include "policy/dialect/llm_do_workshop.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect::llm_do {
namespace {

constexpr char kMounts[] = "/workspace/mount/";

// "" with a problem reported.
std::string RootOf(const Path& path, const std::string& base, const Source& source,
                   const PolicyContext& context) {
  const std::string& root = path.root;
  if (root.empty()) return "";  // reported already
  if (root[0] != '~') return JoinPath(base, root);
  const bool own = root.size() == 1 || root[1] == '/';
  if (own && !context.home.empty()) return JoinPath(context.home, "." + root.substr(1));
  source.Invalid(path.line, path.key,
                 own ? "`~` is the client's home directory, and the client has none"
                     : "`~` is known without a name only: `" + root + "`");
  return "";
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : " ") + text;
  return out;
}

std::string AsksText(bool asks) { return asks ? "asks" : "runs without asking"; }

std::string DescribeShellRule(const ShellRule& rule) {
  std::string line = "shell rule `" + rule.pattern + "`: " + AsksText(rule.approval_required);
  if (!rule.paths.empty()) line += ", with arguments inside " + Joined(rule.paths);
  if (rule.grants_network) line += ", and has the network for that command";
  return line;
}

std::string DescribeAttachments(const AttachmentPolicy& attachments) {
  std::string line = "attachment_policy: at most " + std::to_string(attachments.max_count) +
                     " files, " + std::to_string(attachments.max_total_bytes) + " bytes together";
  if (!attachments.allowed_suffixes.empty()) {
    line += ", only " + Joined(attachments.allowed_suffixes);
  }
  if (!attachments.denied_suffixes.empty()) line += ", no " + Joined(attachments.denied_suffixes);
  return line;
}

std::vector<std::string> Describe(const Worker& worker) {
  std::vector<std::string> lines;
  for (const Path& path : worker.paths) {
    lines.push_back("sandbox.paths." + path.name + ": writing " + AsksText(path.write_approval) +
                    ", reading " + AsksText(path.read_approval));
  }
  if (worker.attachments) lines.push_back(DescribeAttachments(*worker.attachments));
  for (const auto& [tool, asks] : worker.tool_approval) {
    lines.push_back("tool_rules." + tool + ": " + AsksText(asks));
  }
  for (const ShellRule& rule : worker.shell_rules) lines.push_back(DescribeShellRule(rule));
  if (worker.shell_default) {
    lines.push_back("shell commands without a rule: " + AsksText(*worker.shell_default));
  } else if (!worker.shell_rules.empty()) {
    lines.push_back("shell commands without a rule: refused");
  }
  if (worker.allow_workers) {
    lines.push_back("delegation: to " +
                    (worker.allow_workers->empty() ? "no worker" : Joined(*worker.allow_workers)));
  }
  return lines;
}

}  // namespace

void AddRequest(const Worker& worker, const Source& source, const PolicyContext& context,
                Policy* out) {
  const std::string base = WorkshopOf(source.file, context);
  out->origins = worker.origins;
  out->worker = worker;
  for (Path& path : out->worker->paths) {
    const std::string root = RootOf(path, base, source, context);
    if (root.empty()) continue;
    path.place = context.Look(root).resolved;
    out->origins.Add("mounts[" + std::to_string(out->request.mounts.size()) + "]",
                     source.At(path.line, path.key, path.root));
    out->request.mounts.push_back({.source = root,
                                   .target = kMounts + path.name,
                                   .access = path.access,
                                   .suffixes = path.suffixes,
                                   .max_file_bytes = path.max_file_bytes});
    out->create.push_back(root);
  }
  if (worker.network) {
    out->request.network = policy::Network::kEgress;
    out->request.egress = egress::PublicPolicy("sandbox.network");
  }
  out->elsewhere = Describe(worker);
  if (worker.require_os_sandbox == false) {
    out->elsewhere.push_back(
        "sandbox.require_os_sandbox: false changes nothing: a command runs in a cell or not at "
        "all");
  }
}

}  // namespace odyssey::dialect::llm_do
