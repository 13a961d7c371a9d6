#include "ctl/policy/grant_words.h"

namespace odyssey::ctl {
namespace {

using dialect::Dialect;

using Key = explain::Grant::Key;

// `{}` stands for the path; "": the dialect has no key for it. What is not listed has none in any
// of them: protection, deny, the programs, the limits.
struct Words {
  Key key;
  const char* openshell;
  const char* llm_do;
  const char* odek;
};

constexpr Words kWords[] = {
    {Key::kMountRead, "filesystem_policy.read_only: [{}]",
     "sandbox.paths.NAME: {root: {}, mode: ro}", "sandbox_volumes: [{}:TARGET:ro]"},
    {Key::kMountWrite, "filesystem_policy.read_write: [{}]",
     "sandbox.paths.NAME: {root: {}, mode: rw}", "sandbox_volumes: [{}:TARGET:rw]"},
    {Key::kWorkspaceWrite, "", "", "sandbox_readonly: false"},
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

std::string GrantIn(Dialect dialect, const explain::Grant& grant) {
  const bool manifest =
      dialect == Dialect::kOdyssey || dialect == Dialect::kManifest || dialect == Dialect::kBundle;
  if (manifest) return grant.text;
  for (const Words& words : kWords) {
    if (words.key != grant.key) continue;
    std::string out = In(dialect, words);
    const size_t at = out.find("{}");
    return at == std::string::npos ? out : out.replace(at, 2, grant.value);
  }
  return "";
}

}  // namespace odyssey::ctl
