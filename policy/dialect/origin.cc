#include "policy/dialect/origin.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace odyssey::dialect {
namespace {

constexpr char kEnv[] = "env";
constexpr char kExecutables[] = "executables";
constexpr char kSource[] = ".source";

// "NAME: why" is about one variable.
std::string VariableOf(const std::string& rest) { return rest.substr(0, rest.find(": ")); }

bool IsPartOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c != '\0' && std::strchr("_./-", c));
}

// Whether a message about a value names it as it is written: "/srv", and not "/srv/a".
bool Names(const std::string& message, const std::string& written) {
  if (written.empty()) return true;
  for (size_t at = message.find(written); at != std::string::npos;
       at = message.find(written, at + 1)) {
    const bool begins = at == 0 || !IsPartOfWord(message[at - 1]);
    if (begins && !IsPartOfWord(message.c_str()[at + written.size()])) return true;
  }
  return false;
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

void Origins::NameFrom(const std::string& directory) {
  for (auto& [field, place] : places_) {
    if (place.file.compare(0, directory.size() + 1, directory + "/") != 0) continue;
    place.file.erase(0, directory.size() + 1);
  }
}

const Place* Origins::FindNamed(const std::string& list, const std::string& message) const {
  for (auto it = places_.lower_bound(list + "["); it != places_.end(); ++it) {
    if (it->first.compare(0, list.size() + 1, list + "[") != 0) break;
    const std::string& written = it->second.written;
    if (!written.empty() && Names(message, written)) return &it->second;
  }
  return nullptr;
}

Status Origins::Locate(const Status& status) const {
  return status.ok() ? status : Status(status.code(), Locate(status.message()));
}

std::string Origins::Locate(const std::string& message) const {
  const std::optional<Problem> problem = ToProblem(message);
  return problem ? ToString(*problem) : message;
}

std::optional<Problem> Origins::ToProblem(const std::string& message) const {
  const size_t end = std::min(message.find_first_of(": "), message.size());
  const std::string field = message.substr(0, end);
  const size_t begin = message.find_first_not_of(": ", end);
  if (begin == std::string::npos) return std::nullopt;
  const std::string rest = message.substr(begin);

  const Place* place = Find(field);
  if (field == kEnv) {
    const Place* variable = Find(field + "." + VariableOf(rest));
    if (variable != nullptr) place = variable;
  }
  if (field == kExecutables) {
    const Place* entry = FindNamed(field, rest);
    if (entry != nullptr) place = entry;
  }
  std::string said = rest;
  const size_t dot = field.rfind('.');
  if (place == nullptr && dot != std::string::npos) {
    place = Find(field.substr(0, dot));
    if (field.substr(dot) != kSource) said = field.substr(dot + 1) + ": " + rest;
  }
  if (place == nullptr) return std::nullopt;
  if (place->file.empty()) said = message;  // an option, which is not called as the field is
  if (!Names(rest, place->written)) said = place->written + ": " + message;
  return Problem{
      .file = place->file, .line = place->line, .key = place->key, .message = std::move(said)};
}

}  // namespace odyssey::dialect
