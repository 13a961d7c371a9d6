#include "policy/dialect/origin.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "common/base/refusal.h"

namespace odyssey::dialect {
namespace {

constexpr char kSource[] = ".source";

bool IsPartOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c != '\0' && std::strchr("_./-", c));
}

// Whether a person reads the value in the text: "/srv", and not "/srv/a".
bool Says(const std::string& message, const std::string& written) {
  if (written.empty()) return true;
  for (size_t at = message.find(written); at != std::string::npos;
       at = message.find(written, at + 1)) {
    const bool begins = at == 0 || !IsPartOfWord(message[at - 1]);
    if (begins && !IsPartOfWord(message.c_str()[at + written.size()])) return true;
  }
  return false;
}

// An option that may be repeated is one entry of a list, whose index a person did not type. An
// image's option says which part of it is meant. Another is not called as the field is, whose name
// has the unit of the value.
std::string OfOption(const std::string& field, const Status& status) {
  if (field.find('[') == std::string::npos && !field.starts_with("image.")) return status.message();
  const std::string& value = status.detail().value;
  const std::string why(WhyRefused(status));
  return value.empty() || Says(why, value) ? why : value + ": " + why;
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

const Place* Origins::FindValue(const std::string& field, const std::string& value) const {
  if (const Place* variable = Find(field + "." + value)) return variable;
  for (auto it = places_.lower_bound(field + "["); it != places_.end(); ++it) {
    if (it->first.compare(0, field.size() + 1, field + "[") != 0) break;
    if (!value.empty() && it->second.written == value) return &it->second;
  }
  return Find(field);
}

Status Origins::Locate(const Status& status) const {
  const std::optional<Problem> problem = ToProblem(status);
  return problem ? WithMessage(ToString(*problem), status) : status;
}

std::optional<Problem> Origins::ToProblem(const Status& status) const {
  const std::string& field = status.detail().field;
  if (status.ok() || field.empty()) return std::nullopt;
  const std::string why(WhyRefused(status));
  const Place* place = FindValue(field, status.detail().value);
  std::string said = why;
  const size_t dot = field.rfind('.');
  if (place == nullptr && dot != std::string::npos) {
    place = Find(field.substr(0, dot));
    if (field.substr(dot) != kSource) said = field.substr(dot + 1) + ": " + why;
  }
  if (place == nullptr) return std::nullopt;
  if (place->file.empty()) said = OfOption(field, status);
  if (!Says(said, place->written)) {
    said = place->written + ": " + (place->file.empty() ? said : status.message());
  }
  return Problem{
      .file = place->file, .line = place->line, .key = place->key, .message = std::move(said)};
}

}  // namespace odyssey::dialect
