#include "common/message/enum_name.h"

namespace odyssey::message {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

char Lower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// TurnStatus → "turn_status_", what the names of its values begin with but for their case.
std::string PrefixOf(const std::string& type) {
  std::string out;
  for (const char c : type) {
    if (IsUpper(c) && !out.empty()) out += '_';
    out += Lower(c);
  }
  return out + '_';
}

}  // namespace

std::string EnumName(const google::protobuf::EnumValueDescriptor& value) {
  std::string name = value.name();
  for (char& c : name) c = Lower(c);
  const std::string prefix = PrefixOf(value.type()->name());
  if (name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0) {
    name.erase(0, prefix.size());
  }
  return name;
}

}  // namespace odyssey::message
