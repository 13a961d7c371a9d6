#include "supervisor/cell_tools/name_filter.h"

#include <algorithm>

namespace odyssey::cell_tools {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EndsWith(std::string_view name, std::string_view suffix) {
  if (name.size() < suffix.size()) return false;
  const std::string_view end = name.substr(name.size() - suffix.size());
  return std::equal(end.begin(), end.end(), suffix.begin(),
                    [](char a, char b) { return Lower(a) == b; });
}

// From the last dot on; none in "README" and ".profile".
std::string_view SuffixOf(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? "" : name.substr(dot);
}

// 1234567 as "1,234,567".
std::string Grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

bool IsSeen(const cell::ToolRoot& root, std::string_view name) {
  return root.suffixes.empty() ||
         std::any_of(root.suffixes.begin(), root.suffixes.end(),
                     [name](const std::string& suffix) { return EndsWith(name, suffix); });
}

Status CheckSuffix(const cell::ToolRoot& root, std::string_view name, const std::string& given) {
  if (IsSeen(root, name)) return OkStatus();
  std::string allowed;
  for (const std::string& suffix : root.suffixes) {
    allowed += (allowed.empty() ? "" : ", ") + suffix;
  }
  return PermissionDenied("Cannot access '" + given + "': suffix '" + std::string(SuffixOf(name)) +
                          "' not allowed.\nAllowed suffixes: " + allowed);
}

Status CheckSize(const cell::ToolRoot& root, const char* verb, uint64_t bytes,
                 const std::string& given) {
  if (root.max_file_bytes == 0 || bytes <= root.max_file_bytes) return OkStatus();
  return FailedPrecondition(
      std::string("Cannot ") + verb + " '" + given + "': file too large (" + Grouped(bytes) +
      " bytes).\nMaximum allowed: " + Grouped(root.max_file_bytes) + " bytes");
}

}  // namespace odyssey::cell_tools
