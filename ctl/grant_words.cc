#include "ctl/grant_words.h"

namespace odyssey::ctl {
namespace {

using dialect::Dialect;

// `{}` stands for the path of the manifest's value; "": there is no key. What is not listed has
// none in any of them: protection, deny, the programs.
struct Words {
  const char* manifest;
  const char* openshell;
  const char* llm_do;
  const char* odek;
};

constexpr Words kWords[] = {
    {"sandbox.permissions.filesystem.mounts.read", "filesystem_policy.read_only: [{}]",
     "sandbox.paths.NAME: {root: {}, mode: ro}", "sandbox_volumes: [{}:TARGET:ro]"},
    {"sandbox.permissions.filesystem.mounts.write", "filesystem_policy.read_write: [{}]",
     "sandbox.paths.NAME: {root: {}, mode: rw}", "sandbox_volumes: [{}:TARGET:rw]"},
    {"sandbox.mode", "", "", "sandbox_readonly: false"},
};

std::string In(Dialect dialect, const Words& words) {
  switch (dialect) {
    case Dialect::kOpenShell:
      return words.openshell;
    case Dialect::kLlmDo:
      return words.llm_do;
    case Dialect::kOdek:
      return words.odek;
    case Dialect::kOdyssey:
    case Dialect::kManifest:
    case Dialect::kBundle:
      break;
  }
  return "";
}

}  // namespace

std::string GrantIn(Dialect dialect, const std::string& grant) {
  const bool manifest =
      dialect == Dialect::kOdyssey || dialect == Dialect::kManifest || dialect == Dialect::kBundle;
  if (manifest) return grant;
  for (const Words& words : kWords) {
    const std::string begins = std::string(words.manifest) + ": ";
    if (grant.rfind(begins, 0) != 0) continue;
    std::string value = grant.substr(begins.size());
    if (value.size() > 4 && value.rfind("[\"", 0) == 0) value = value.substr(2, value.size() - 4);
    std::string out = In(dialect, words);
    const size_t at = out.find("{}");
    return at == std::string::npos ? out : out.replace(at, 2, value);
  }
  return "";
}

}  // namespace odyssey::ctl
