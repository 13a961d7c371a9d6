// Patterns of hosts and paths, and ranges of addresses. Lines of the input: two hosts, two paths, a
// range. What is accepted has one spelling, and overlapping is symmetric.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "policy/dialect/openshell_address.h"
#include "policy/dialect/openshell_pattern.h"

namespace {

namespace openshell = odyssey::dialect::openshell;

void CheckHosts(const std::string& a, const std::string& b) {
  const auto one = openshell::NormalizeHost(a);
  const auto other = openshell::NormalizeHost(b);
  if (!one.ok()) return;
  const auto again = openshell::NormalizeHost(*one);
  ODY_CHECK(again.ok() && *again == *one);
  ODY_CHECK(openshell::HostsOverlap(*one, *one));
  if (!other.ok()) return;
  ODY_CHECK(openshell::HostsOverlap(*one, *other) == openshell::HostsOverlap(*other, *one));
  const bool plain = !openshell::IsHostPattern(*one) && !openshell::IsHostPattern(*other);
  if (plain) ODY_CHECK(openshell::HostsOverlap(*one, *other) == (*one == *other));
}

void CheckPaths(const std::string& a, const std::string& b) {
  if (!openshell::CheckPathPattern("path", a).ok()) return;
  ODY_CHECK(openshell::PathsOverlap(a, a));
  ODY_CHECK(openshell::PathsOverlap(a, "**"));
  if (!openshell::CheckPathPattern("path", b).ok()) return;
  ODY_CHECK(openshell::PathsOverlap(a, b) == openshell::PathsOverlap(b, a));
}

void CheckRange(const std::string& text) {
  const auto range = openshell::ParseRange(text);
  if (!range.ok()) return;
  const auto again = openshell::ParseRange(openshell::ToString(*range));
  ODY_CHECK(again.ok() && *again == *range);
  ODY_CHECK(openshell::Never(*range).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::array<std::string, 5> lines;
  size_t line = 0;
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n' && line + 1 < lines.size()) {
      ++line;
    } else {
      lines[line] += static_cast<char>(data[i]);
    }
  }
  CheckHosts(lines[0], lines[1]);
  CheckPaths(lines[2], lines[3]);
  CheckRange(lines[4]);
  return 0;
}
