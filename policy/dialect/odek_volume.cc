#include "policy/dialect/odek_volume.h"

#include <algorithm>

#include "common/base/control.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect::odek {
namespace {

constexpr std::string_view kForbiddenSources[] = {"/",
                                                  "/etc",
                                                  "/proc",
                                                  "/sys",
                                                  "/boot",
                                                  "/dev",
                                                  "/var",
                                                  "/run",
                                                  "/root",
                                                  "/home",
                                                  "/var/run/docker.sock"};
// What a cell is made of, and the project itself.
constexpr std::string_view kTakenTargets[] = {
    "/workspace", "/cell", "/.odyssey", "/proc",  "/sys",    "/dev", "/etc", "/usr",    "/bin",
    "/sbin",      "/lib",  "/lib32",    "/lib64", "/libx32", "/opt", "/run", "/var/tmp"};
// A volume may lie below, and must not hide it.
constexpr std::string_view kTakenExactly[] = {"/tmp", "/var"};

struct Parts {
  std::string host;
  std::string target;
  std::string options;
};

// nullopt if there are not two or three.
std::optional<Parts> SplitVolume(const std::string& text) {
  const size_t first = text.find(':');
  if (first == std::string::npos) return std::nullopt;
  const size_t second = text.find(':', first + 1);
  Parts parts{.host = text.substr(0, first), .target = text.substr(first + 1, second - first - 1)};
  if (second != std::string::npos) {
    parts.options = text.substr(second + 1);
    if (parts.options.empty() || parts.options.find(':') != std::string::npos) return std::nullopt;
  }
  return parts;
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The forbidden directory that the resolved path is in, ""; a project below one may name its own.
std::string ForbiddenFor(const std::string& resolved, const std::string& workdir) {
  for (const std::string_view prefix : kForbiddenSources) {
    if (IsAtOrBelow(workdir, prefix)) continue;
    if (prefix == "/" ? resolved == "/" : IsAtOrBelow(resolved, prefix)) return std::string(prefix);
  }
  return "";
}

// The host path without links, or why it is left out.
Result<std::string> CheckHost(const std::string& host, const PolicyContext& context) {
  const std::string& workdir = context.client_cwd;
  if (Trimmed(host).empty()) return InvalidArgument("(empty host path)");
  const std::string clean = CleanPath(Trimmed(host));
  if (HasParent(clean)) return InvalidArgument("(contains ..)");
  const std::string path = JoinPath(workdir, clean);
  if (!IsAtOrBelow(path, workdir)) {
    return InvalidArgument("(host path " + path + " is outside working directory " + workdir + ")");
  }
  const PathFacts facts = context.Look(path);
  if (facts.is_link) return InvalidArgument("(symlinks are not allowed)");
  if (!IsAtOrBelow(facts.resolved, workdir)) {
    return InvalidArgument("(resolved host path " + facts.resolved + " escapes working directory " +
                           workdir + ")");
  }
  if (!ForbiddenFor(facts.resolved, workdir).empty()) {
    return InvalidArgument("rejecting forbidden volume mount (host path " + facts.resolved + ")");
  }
  return facts.resolved;
}

// Why no volume can be there, "" if one can.
std::string TargetProblem(const std::string& target) {
  if (target.empty() || target[0] != '/' || HasParent(target) || HasControl(target)) {
    return "must be an absolute path without `..`";
  }
  const std::string clean = CleanPath(target);
  for (const std::string_view taken : kTakenTargets) {
    if (IsAtOrBelow(clean, taken)) return "is inside " + std::string(taken) + ", the cell's own";
  }
  const bool exact = std::find(std::begin(kTakenExactly), std::end(kTakenExactly), clean) !=
                     std::end(kTakenExactly);
  return exact || clean == "/" ? "would hide the cell's own " + clean : "";
}

}  // namespace

std::optional<policy::Mount> ReadVolume(const Word& volume, const Source& source,
                                        const PolicyContext& context) {
  const Source place = At(source, volume.place);
  const auto refuse = [&](const std::string& why) {
    place.Invalid(volume.place.line, volume.place.key, "`" + volume.value + "`: " + why);
    return std::nullopt;
  };
  const std::optional<Parts> parts = SplitVolume(volume.value);
  if (!parts) return refuse("expected HOST:TARGET, HOST:TARGET:ro or HOST:TARGET:rw");
  const Result<std::string> host = CheckHost(parts->host, context);
  if (!host.ok()) {
    place.Warn(volume.place.line, volume.place.key,
               "`" + volume.value + "` is left out: " + host.status().message());
    return std::nullopt;
  }
  const std::string problem = TargetProblem(parts->target);
  if (!problem.empty()) return refuse("the target " + parts->target + " " + problem);
  const bool read_only = parts->options == "ro";
  if (!read_only && !parts->options.empty() && parts->options != "rw") {
    return refuse("the option " + parts->options + " is not available; `ro` and `rw` are");
  }
  return policy::Mount{
      .source = *host,
      .target = CleanPath(parts->target),
      .access = read_only ? policy::Access::kReadOnly : policy::Access::kReadWrite};
}

}  // namespace odyssey::dialect::odek
