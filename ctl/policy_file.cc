#include "ctl/policy_file.h"

#include <errno.h>
#include <sys/stat.h>

#include <filesystem>

#include "policy/dialect/sandbox_request.h"

namespace odyssey::ctl {

Result<std::string> BundleDirectory(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "open " + path);
  if (S_ISDIR(info.st_mode)) return path;
  const std::filesystem::path file(path);
  static constexpr const char* kNames[] = {"odyssey.bundle.json5", "odyssey.bundle.yaml",
                                           "odyssey.bundle.yml", "agent.yaml"};
  for (const char* name : kNames) {
    if (file.filename() == name) {
      const std::string directory = file.parent_path().string();
      return directory.empty() ? std::string(".") : directory;
    }
  }
  return InvalidArgument(path + ": expected a bundle directory, or its odyssey.bundle.json5, " +
                         "odyssey.bundle.yaml or agent.yaml");
}

std::map<std::string, std::string> ReadHostEnvironment(
    const dialect::SandboxSpec& sandbox,
    const std::function<std::optional<std::string>(const std::string& name)>& environment) {
  std::map<std::string, std::string> out;
  for (const auto& [target, source] : sandbox.env) {
    if (const std::optional<std::string> value = environment(source)) out[source] = *value;
  }
  return out;
}

Result<policy::SandboxRequest> ReadPolicy(const std::string& path, const PolicyContext& context) {
  ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(path));
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle bundle, dialect::LoadBundle(directory));
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(directory, error);
  if (error) return ErrnoStatus(error.value(), "resolve " + directory);
  return dialect::ToRequest(bundle.sandbox,
                            {.client_cwd = context.client_cwd,
                             .host_env = ReadHostEnvironment(bundle.sandbox, context.environment),
                             .granted_env = context.granted_env,
                             .bundle_directory = real.string()});
}

}  // namespace odyssey::ctl
