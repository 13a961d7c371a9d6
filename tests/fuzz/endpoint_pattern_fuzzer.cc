// Patterns of hosts and paths, and ranges of addresses. Lines of the input: two hosts, two paths, a
// range. What is accepted has one spelling, and overlapping is symmetric.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "policy/egress/address.h"
#include "policy/egress/pattern.h"

namespace {

void CheckHosts(const std::string& a, const std::string& b) {
  const auto one = odyssey::egress::NormalizeHost(a);
  const auto other = odyssey::egress::NormalizeHost(b);
  if (!one.ok()) return;
  const auto again = odyssey::egress::NormalizeHost(*one);
  ODY_CHECK(again.ok() && *again == *one);
  ODY_CHECK(odyssey::egress::HostsOverlap(*one, *one));
  if (!other.ok()) return;
  ODY_CHECK(odyssey::egress::HostsOverlap(*one, *other) ==
            odyssey::egress::HostsOverlap(*other, *one));
  const bool plain =
      !odyssey::egress::IsHostPattern(*one) && !odyssey::egress::IsHostPattern(*other);
  if (plain) ODY_CHECK(odyssey::egress::HostsOverlap(*one, *other) == (*one == *other));
}

void CheckPaths(const std::string& a, const std::string& b) {
  if (!odyssey::egress::CheckPathPattern("path", a).ok()) return;
  ODY_CHECK(odyssey::egress::PathsOverlap(a, a));
  ODY_CHECK(odyssey::egress::PathsOverlap(a, "**"));
  if (!odyssey::egress::CheckPathPattern("path", b).ok()) return;
  ODY_CHECK(odyssey::egress::PathsOverlap(a, b) == odyssey::egress::PathsOverlap(b, a));
}

void CheckRange(const std::string& text) {
  const auto range = odyssey::egress::ParseRange(text);
  if (!range.ok()) return;
  const auto again = odyssey::egress::ParseRange(odyssey::egress::ToString(*range));
  ODY_CHECK(again.ok() && *again == *range);
  ODY_CHECK(odyssey::egress::Never(*range).empty());
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
