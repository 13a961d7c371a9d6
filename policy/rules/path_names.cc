#include "policy/rules/path_names.h"

#include <algorithm>

#include "policy/rules/shell_split.h"

namespace odyssey::rules {
namespace {

constexpr std::string_view kWorkspace = "/workspace";

// A link to a directory or an open file of a process: /proc/self/cwd/x, /dev/fd/3.
bool IsOfAProcess(std::string_view name) {
  if (name.substr(0, 8) == "/dev/fd/") return true;
  if (name.substr(0, 6) != "/proc/") return false;
  return name.find("/cwd") != name.npos || name.find("/root") != name.npos ||
         name.find("/fd/") != name.npos;
}

// Of "/w*/a" also "a": the first name may be that of the workspace.
std::vector<std::string> AbsoluteNames(const std::string& name) {
  const size_t end = std::min(name.find('/', 1), name.size());
  if (!HasUnknown(name.substr(1, end - 1))) return {name};
  const size_t below = name.find(kBelow);
  if (below != name.npos && below < end) return {name, name.substr(below)};
  return {name, end == name.size() ? "." : name.substr(end + 1)};
}

}  // namespace

std::string NormalizedPath(std::string_view path) {
  const size_t unknown = path.rfind(kUnknown);
  std::string out;
  const size_t below = path.find(kBelow);
  if (below != path.npos && path.find("..", below) != path.npos) return {kUnknown};
  if (unknown != std::string_view::npos) {
    out = kUnknown;
    path.remove_prefix(unknown + 1);
    if (path.find("..") != std::string_view::npos) return out;
    return out + std::string(path);
  }
  const bool absolute = !path.empty() && path[0] == '/';
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part != ".." || !absolute) {
      parts.push_back(part);
    }
  }
  if (absolute) out = "/";
  for (size_t i = 0; i < parts.size(); ++i) out.append(i > 0 ? "/" : "").append(parts[i]);
  return out.empty() ? "." : out;
}

std::string JoinPath(std::string_view directory, const std::string& path) {
  const bool fixed = !path.empty() && (path[0] == '/' || path[0] == '~' || path[0] == kUnknown);
  if (fixed || directory.empty()) return path;
  return std::string(directory) + "/" + path;
}

std::vector<std::string> PathNames(const std::string& path) {
  const std::string name = NormalizedPath(path);
  const std::string workspace(kWorkspace);
  if (name[0] == kUnknown) return {name};
  if (name == workspace) return {name, "."};
  if (name.compare(0, workspace.size() + 1, workspace + "/") == 0) {
    return {name, name.substr(workspace.size() + 1)};
  }
  if (IsOfAProcess(name)) return {name, std::string(1, kUnknown)};
  if (name[0] == '/') return AbsoluteNames(name);
  if (name.substr(0, 2) == "..") return PathNames(workspace + "/" + name);
  return {name, name == "." ? workspace : workspace + "/" + name};
}

std::string ShownText(std::string text) {
  constexpr size_t kMaxShown = 120;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "…";
  for (const char unknown : {kUnknown, kGlob, kBelow}) {
    for (size_t at = text.find(unknown); at != std::string::npos; at = text.find(unknown)) {
      text.replace(at, 1, unknown == kUnknown ? "…" : "*");
    }
  }
  return text;
}

}  // namespace odyssey::rules
