#include "policy/rules/path_names.h"

#include <algorithm>

#include "policy/rules/shell_split.h"

namespace odyssey::rules {
namespace {

constexpr std::string_view kWorkspace = "/workspace";

}  // namespace

std::string NormalizedPath(std::string_view path) {
  const size_t unknown = path.rfind(kUnknown);
  std::string out;
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
  if (name[0] == '/' || name.substr(0, 2) == "..") return {name};
  return {name, name == "." ? workspace : workspace + "/" + name};
}

std::string ShownText(std::string text) {
  constexpr size_t kMaxShown = 120;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "…";
  for (const char unknown : {kUnknown, kGlob}) {
    for (size_t at = text.find(unknown); at != std::string::npos; at = text.find(unknown)) {
      text.replace(at, 1, unknown == kGlob ? "*" : "…");
    }
  }
  return text;
}

}  // namespace odyssey::rules
