#include "agentd/tool/cell_path.h"

#include <algorithm>

namespace odyssey::tools {

std::string AbsolutePath(std::string_view path, const std::string& workspace) {
  std::string out = path.substr(0, 1) == "/" ? "" : workspace;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") out.append("/").append(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out.empty() ? "/" : out;
}

std::string UsedPath(const std::string& given, const std::string& leads_to,
                     const std::string& workspace) {
  if (leads_to.empty()) return given;
  if (given.substr(0, 1) == "/") return leads_to;
  if (leads_to == workspace) return ".";
  const bool inside = leads_to.compare(0, workspace.size() + 1, workspace + "/") == 0;
  return inside ? leads_to.substr(workspace.size() + 1) : leads_to;
}

}  // namespace odyssey::tools
