#include "agentd/base/quarantine.h"

#include <algorithm>
#include <filesystem>

namespace odyssey::agent {

std::vector<std::string> QuarantinedIn(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (entry.path().filename().string().find(kCorrupt) != std::string::npos) {
      out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace odyssey::agent
