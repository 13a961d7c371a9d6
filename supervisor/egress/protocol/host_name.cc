#include "supervisor/egress/protocol/host_name.h"

#include <algorithm>

namespace odyssey::egress::protocol {
namespace {

bool IsLabelByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool IsLabel(std::string_view label) {
  if (label.empty() || label.size() > kMaxLabel) return false;
  if (label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), IsLabelByte);
}

}  // namespace

std::optional<std::string> ReadHostName(std::string_view bytes) {
  if (!bytes.empty() && bytes.back() == '.') bytes.remove_suffix(1);
  if (bytes.size() > kMaxHostName) return std::nullopt;
  std::string name(bytes);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::string_view labels = name;
  for (size_t at = 0; at <= labels.size();) {
    const size_t end = std::min(labels.find('.', at), labels.size());
    if (!IsLabel(labels.substr(at, end - at))) return std::nullopt;
    at = end + 1;
  }
  return name;
}

}  // namespace odyssey::egress::protocol
