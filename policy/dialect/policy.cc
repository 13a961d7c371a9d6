#include "policy/dialect/policy.h"

#include "policy/ceiling/ceiling.h"

namespace odyssey::dialect {

std::string_view DialectName(Dialect dialect) {
  switch (dialect) {
    case Dialect::kOdyssey:
      return "odyssey.policy/v1";
    case Dialect::kManifest:
      return "odyssey.bundle/v1";
    case Dialect::kBundle:
      return "odyssey.ai/bundle.v1";
    case Dialect::kLlmDo:
      return "llm-do";
    case Dialect::kOdek:
      return "odek";
    case Dialect::kOpenShell:
      return "openshell";
  }
  return "";
}

bool PolicyContext::MayTake(const std::string& name) const {
  return judges_secrets || !ceiling::LooksSecret(name) || granted_env.count(name) > 0;
}

std::optional<std::string> PolicyContext::Variable(const std::string& name) const {
  return environment ? environment(name) : std::nullopt;
}

std::string RefusalOfLink(const std::string& link, const std::string& resolved) {
  return link +
         ": is a symbolic link, which a command that may write there can lead elsewhere; name what "
         "it leads to now, if that is meant: " +
         resolved;
}

PathFacts PolicyContext::Look(const std::string& path) const {
  if (look) return look(path);
  return {.exists = true, .resolved = path};
}

Result<std::string> PolicyContext::Read(const std::string& path) const {
  if (read) return read(path);
  return NotFound("open " + path + ": no such file");
}

}  // namespace odyssey::dialect
