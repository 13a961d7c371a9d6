#include "policy/rules/risk.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "policy/rules/path_names.h"

namespace odyssey::rules {
namespace {

using Names = std::string_view;

bool StartsWith(Names text, Names prefix) { return text.substr(0, prefix.size()) == prefix; }

template <typename List>
bool AnyPrefix(const List& list, Names text) {
  return std::any_of(list.begin(), list.end(), [&](Names prefix) {
    return StartsWith(text, prefix) || text == prefix.substr(0, prefix.size() - 1);
  });
}

// A block device: what is written there destroys a file system.
bool IsDisk(Names path) {
  static constexpr auto kDisks = std::to_array<Names>(
      {"/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/dm-",
       "/dev/mapper/", "/dev/disk/", "/dev/md", "/dev/loop", "/dev/mem", "/dev/kmem"});
  return std::any_of(kDisks.begin(), kDisks.end(),
                     [&](Names prefix) { return StartsWith(path, prefix); });
}

bool IsSink(Names path) {
  static constexpr auto kSinks =
      std::to_array<Names>({"/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout",
                            "/dev/stderr", "/dev/tty", "/dev/random", "/dev/urandom"});
  return StartsWith(path, "/dev/fd/") ||
         std::find(kSinks.begin(), kSinks.end(), path) != kSinks.end();
}

// Outside the workspace, temporary directories and the home directory.
bool IsSystem(Names path) {
  static constexpr auto kOpen =
      std::to_array<Names>({"/workspace/", "/tmp/", "/var/tmp/", "/home/", "/dev/shm/"});
  return StartsWith(path, "/") && !AnyPrefix(kOpen, path);
}

// A file of the home directory that programs take their settings or keys from.
bool IsSetting(Names path) {
  const bool home =
      StartsWith(path, "~") || StartsWith(path, "/home/") || StartsWith(path, "/root/");
  return home && path.find("/.") != Names::npos;
}

bool IsSecret(Names path) {
  static constexpr auto kParts = std::to_array<Names>({"/.ssh/",          "id_rsa",
                                                       "id_ed25519",      "id_ecdsa",
                                                       "/.aws/",          "/.gnupg/",
                                                       "/.netrc",         "/.pgpass",
                                                       "/.kube/config",   "/.docker/config.json",
                                                       "/.npmrc",         "/.git-credentials",
                                                       "/.config/gcloud", "/.azure/",
                                                       "/etc/shadow",     "/etc/gshadow",
                                                       "/etc/sudoers",    "/etc/ssl/private",
                                                       "/proc/kcore",     "/.bash_history"});
  if (StartsWith(path, "/proc/") && path.find("environ") != Names::npos) return true;
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](Names part) { return path.find(part) != Names::npos; });
}

// What `rm -r` of it removes is not one thing of the workspace.
bool IsRoot(Names path) {
  static constexpr auto kKept = std::to_array<Names>({"/tmp/", "/var/tmp/", "/dev/shm/"});
  if (path.find(kUnknown) != Names::npos) return true;
  if (path.find(kGlob) != Names::npos && path.find('/') == Names::npos) return path.size() == 1;
  if (path == "." || StartsWith(path, "..") || path == "~" || path == "~/" || path == "~/\x02") {
    return true;
  }
  if (path == "/workspace" || path == "/workspace/\x02" || path == ".git" || path == "/home") {
    return true;
  }
  if (StartsWith(path, "/home/")) return std::count(path.begin(), path.end(), '/') < 3;
  if (AnyPrefix(kKept, path)) return path.find_first_not_of("/\x02", 5) == Names::npos;
  return IsSystem(path);
}

void Raise(RiskClass risk, std::string reason, Risk* out) {
  const auto part = out->parts.emplace(risk, std::move(reason)).first;
  if (risk <= out->risk) return;
  out->risk = risk;
  out->reason = part->second;
}

// NAME(){ NAME|NAME& }: a function that starts itself twice.
bool IsForkBomb(Names line) {
  std::string text;
  std::copy_if(line.begin(), line.end(), std::back_inserter(text),
               [](unsigned char c) { return std::isspace(c) == 0; });
  const size_t head = text.find("(){");
  if (head == std::string::npos || head == 0) return false;
  size_t start = head;
  while (start > 0 && std::string_view(";&|'\"").find(text[start - 1]) == Names::npos) --start;
  const std::string name = text.substr(start, head - start);
  return !name.empty() && text.find(name + "|" + name + "&", head) != std::string::npos;
}

std::string_view Verb(FileAccess access) {
  if (IsRead(access)) return " reads ";
  return access == FileAccess::kRemoveTree ? " removes " : " writes ";
}

}  // namespace

RiskClass ClassifyPath(std::string_view given, FileAccess access) {
  std::string path = NormalizedPath(given);
  std::replace(path.begin(), path.end(), kBelow, kGlob);
  if (IsRead(access)) {
    return IsSecret(path) ? RiskClass::kSystemWrite : RiskClass::kSafe;
  }
  if (IsSink(path)) return RiskClass::kSafe;
  if (IsDisk(path)) return RiskClass::kBlocked;
  if (access == FileAccess::kRemoveTree && IsRoot(path)) return RiskClass::kDestructive;
  if (IsSystem(path) || IsSetting(path) || IsSecret(path)) return RiskClass::kSystemWrite;
  return RiskClass::kLocalWrite;
}

Risk Classify(const ShellLine& split, std::string_view line) {
  Risk out;
  bool writes_sinks = false, writes_files = false;
  for (const FileUse& file : split.files) {
    const RiskClass risk = ClassifyPath(file.path, file.access);
    if (!IsRead(file.access) && !file.redirected) {
      (risk == RiskClass::kSafe ? writes_sinks : writes_files) = true;
    }
    Raise(risk, file.by + std::string(Verb(file.access)) + ShownText(file.path), &out);
  }
  for (const SimpleCommand& command : split.commands) {
    if (command.kind == CommandKind::kGuess && command.risk == RiskClass::kUnknown) continue;
    // dd and tee only write what they name.
    const bool sink = writes_sinks && !writes_files && command.risk == RiskClass::kLocalWrite;
    if (!sink) Raise(command.risk, command.words.empty() ? "" : ShownText(command.words[0]), &out);
  }
  if (IsForkBomb(line)) Raise(RiskClass::kBlocked, "a function that starts itself twice", &out);
  return out;
}

Result<Risk> ClassifyCommand(std::string_view line) {
  ODY_ASSIGN_OR_RETURN(const ShellLine split, SplitShell(line));
  return Classify(split, line);
}

}  // namespace odyssey::rules
