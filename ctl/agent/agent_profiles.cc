#include "ctl/agent/agent_profiles.h"

#include <stdlib.h>

#include <filesystem>
#include <set>

#include "common/base/join.h"
#include "ctl/base/program_path.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr char kOperators[] = "/etc/odyssey/agents";
constexpr char kBuiltIn[] = "../share/odyssey/agents";
constexpr std::string_view kSuffix = ".yaml";

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

Result<NamedProfile> Read(const std::string& name, const std::string& path, NamedPlaces* places) {
  ODY_ASSIGN_OR_RETURN(std::string text,
                       places->Read(path, Links::kFileItself, dialect::kMaxDocumentBytes));
  dialect::Problems problems;
  std::optional<AgentProfile> profile = ReadProfile(text, path, &problems);
  if (!profile) return dialect::ToStatus(problems);
  return NamedProfile{name, std::move(text), *std::move(profile)};
}

}  // namespace

std::vector<std::string> ProfileDirectories() {
  std::vector<std::string> out;
  const std::string config = Variable("XDG_CONFIG_HOME"), home = Variable("HOME");
  if (config.rfind('/', 0) == 0) {
    out.push_back(config + "/odyssey/agents");
  } else if (!home.empty()) {
    out.push_back(home + "/.config/odyssey/agents");
  }
  out.emplace_back(kOperators);
  out.push_back((fs::path(OwnDirectory()) / kBuiltIn).lexically_normal().string());
  return out;
}

Result<std::vector<std::string>> ProfileNames(const std::vector<std::string>& directories) {
  std::set<std::string> names;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      if (file.front() == '.' || !file.ends_with(kSuffix)) continue;
      names.insert(file.substr(0, file.size() - kSuffix.size()));
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return ErrnoStatus(error.value(), "list " + directory);
    }
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<NamedProfile> FindProfile(const std::string& name,
                                 const std::vector<std::string>& directories, NamedPlaces* places) {
  if (name.find('/') != std::string::npos) {
    return Read(fs::path(name).stem().string(), name, places);
  }
  for (const std::string& directory : directories) {
    const std::string path = directory + "/" + name + std::string(kSuffix);
    const Walk& walk = places->Look(path, Links::kFileItself);
    if (walk.status.ok()) return Read(name, path, places);
    if (walk.status.code() != Code::kNotFound) return walk.status;
  }
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ProfileNames(directories));
  return NotFound("\"" + name + "\": no such profile; there are " + Join(names, ", ") +
                  ", and the path of a file is one");
}

}  // namespace odyssey::ctl
