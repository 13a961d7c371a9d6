#include "policy/dialect/path_text.h"

#include <algorithm>
#include <vector>

namespace odyssey::dialect {
namespace {

// The components between slashes, empty ones included.
std::vector<std::string_view> Components(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

std::string CleanPath(std::string_view path) {
  const bool absolute = !path.empty() && path[0] == '/';
  std::vector<std::string_view> kept;
  for (const std::string_view part : Components(path)) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(part);
    } else if (!kept.empty() && kept.back() != "..") {
      kept.pop_back();
    } else if (!absolute) {
      kept.push_back(part);
    }
  }
  std::string out;
  for (const std::string_view part : kept) {
    if (absolute || !out.empty()) out += '/';
    out += part;
  }
  if (out.empty()) return absolute ? "/" : ".";
  return out;
}

bool HasParent(std::string_view path) {
  const std::vector<std::string_view> parts = Components(path);
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

bool IsAtOrBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") return !path.empty() && path[0] == '/';
  if (path.substr(0, directory.size()) != directory) return false;
  return path.size() == directory.size() || path[directory.size()] == '/';
}

std::string JoinPath(std::string_view base, std::string_view path) {
  if (!path.empty() && path[0] == '/') return CleanPath(path);
  return CleanPath(std::string(base) + "/" + std::string(path));
}

}  // namespace odyssey::dialect
