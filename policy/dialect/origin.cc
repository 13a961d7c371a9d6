#include "policy/dialect/origin.h"

#include <algorithm>

#include "policy/dialect/problem.h"

namespace odyssey::dialect {
namespace {

constexpr char kEnv[] = "env";
constexpr char kSource[] = ".source";

// "env: NAME: why" is about one variable.
std::string VariableOf(const std::string& message) {
  const size_t begin = message.find(": ") + 2;
  const size_t end = message.find(": ", begin);
  return end == std::string::npos ? "" : message.substr(begin, end - begin);
}

}  // namespace

void Origins::Forget(const std::string& field) {
  for (auto it = places_.lower_bound(field); it != places_.end();) {
    if (it->first.compare(0, field.size(), field) != 0) break;
    const char next = it->first.c_str()[field.size()];
    it = next == '\0' || next == '[' || next == '.' ? places_.erase(it) : std::next(it);
  }
}

const Place* Origins::Find(const std::string& field) const {
  const auto found = places_.find(field);
  return found == places_.end() ? nullptr : &found->second;
}

Status Origins::Locate(const Status& status) const {
  return status.ok() ? status : Status(status.code(), Locate(status.message()));
}

std::string Origins::Locate(const std::string& message) const {
  const size_t end = std::min(message.find_first_of(": "), message.size());
  const std::string field = message.substr(0, end);
  const size_t rest = message.find_first_not_of(": ", end);
  if (rest == std::string::npos) return message;

  const Place* place = Find(field);
  if (field == kEnv) {
    const Place* variable = Find(field + "." + VariableOf(message));
    if (variable != nullptr) place = variable;
  }
  std::string part;
  const size_t dot = field.rfind('.');
  if (place == nullptr && dot != std::string::npos) {
    place = Find(field.substr(0, dot));
    if (field.substr(dot) != kSource) part = field.substr(dot + 1) + ": ";
  }
  if (place == nullptr) return message;
  return ToString({.file = place->file,
                   .line = place->line,
                   .key = place->key,
                   .message = part + message.substr(rest)});
}

}  // namespace odyssey::dialect
