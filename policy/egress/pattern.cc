#include "policy/egress/pattern.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "common/base/control.h"
#include "policy/egress/address.h"

namespace odyssey::egress {
namespace {

constexpr std::string_view kMetadataNames[] = {"metadata.google.internal", "metadata.goog",
                                               "instance-data.ec2.internal"};
// Of names that no public name server knows.
constexpr std::string_view kPrivateNames[] = {".internal", ".local", ".localdomain", ".lan",
                                              ".intranet", ".corp",  ".home.arpa",   ".private"};

constexpr size_t kMaxHostBytes = 253;
constexpr size_t kMaxLabelBytes = 63;
constexpr size_t kMaxPatternBytes = 1024;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Whether two sequences of atoms have one in common, where a star stands for any number of atoms.
// Row i, column j of the table: the rest of `a` from i and the rest of `b` from j have.
template <typename Sequence, typename IsStar, typename Agree>
bool SequencesOverlap(const Sequence& a, const Sequence& b, IsStar is_star, Agree agree) {
  const size_t width = b.size() + 1;
  std::vector<char> table((a.size() + 1) * width, 0);
  for (size_t i = a.size() + 1; i-- > 0;) {
    for (size_t j = b.size() + 1; j-- > 0;) {
      const auto rest = [&](size_t x, size_t y) { return table[x * width + y] != 0; };
      const bool more_a = i < a.size();
      const bool more_b = j < b.size();
      bool some = !more_a && !more_b;
      if (more_a && is_star(a[i])) some = some || rest(i + 1, j) || (more_b && rest(i, j + 1));
      if (more_b && is_star(b[j])) some = some || rest(i, j + 1) || (more_a && rest(i + 1, j));
      if (more_a && more_b && agree(a[i], b[j])) some = some || rest(i + 1, j + 1);
      table[i * width + j] = some ? 1 : 0;
    }
  }
  return table[0] != 0;
}

// Two segments with `*` for any number of characters.
bool SegmentsAgree(const std::string& a, const std::string& b) {
  return SequencesOverlap(
      a, b, [](char c) { return c == '*'; }, [](char x, char y) { return x == y && x != '*'; });
}

bool ListsOverlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return SequencesOverlap(
      a, b, [](const std::string& part) { return part == "**"; },
      [](const std::string& x, const std::string& y) {
        return x != "**" && y != "**" && SegmentsAgree(x, y);
      });
}

// `**` of a host is at least one label.
std::vector<std::string> LabelsOf(const std::string& host) {
  std::vector<std::string> labels = Split(host, '.');
  if (labels[0] == "**") labels.insert(labels.begin(), "*");
  return labels;
}

bool IsLabel(const std::string& label) {
  if (label.empty() || label.size() > kMaxLabelBytes) return false;
  if (label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// What the system's resolver would take for a number: 127.1, 0x7f.1, 2130706433.
bool LooksNumeric(const std::string& last_label) {
  if (last_label.rfind("0x", 0) == 0) return true;
  return std::all_of(last_label.begin(), last_label.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

Status CheckLabels(const std::string& shown, const std::vector<std::string>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool last_two = i + 2 >= labels.size();
    const bool star = labels[i] == "*" || (labels[i] == "**" && i == 0);
    if (star && !last_two) continue;
    if (star) {
      return InvalidArgument(shown +
                             " stands for too much: `*` and `**` come before at least two whole "
                             "labels, as in `*.example.com`");
    }
    if (labels[i].find('*') != std::string::npos) {
      return InvalidArgument(shown +
                             ": `*` is a whole label, `**` only the first one, as in "
                             "`*.example.com`");
    }
    if (!IsLabel(labels[i])) {
      return InvalidArgument(shown +
                             " is no host: labels have 1 to 63 of a-z, 0-9, `-` and `_`; write "
                             "other names in their xn-- form");
    }
  }
  return OkStatus();
}

Result<std::string> NormalizeAddress(const std::string& shown, const AddressRange& address) {
  const std::string why = Never(address);
  if (why.empty()) return ToString(address);
  return PermissionDenied(shown + " is an address that no policy opens: " + why);
}

}  // namespace

Result<std::string> NormalizeHost(const std::string& host) {
  const std::string shown = "`" + host + "`";
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::optional<AddressRange> address =
      ParseAddress(brackets ? host.substr(1, host.size() - 2) : host);
  if (address && (address->v6 || !brackets)) return NormalizeAddress(shown, *address);

  std::string name;
  for (const char c : host) {
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (!name.empty() && name.back() == '.') name.pop_back();
  if (name.empty() || name.size() > kMaxHostBytes) {
    return InvalidArgument(shown + " is no host: a name of 1 to 253 bytes is");
  }
  const std::vector<std::string> labels = Split(name, '.');
  ODY_RETURN_IF_ERROR(CheckLabels(shown, labels));
  if (LooksNumeric(labels.back())) {
    return PermissionDenied(shown +
                            " is an address in an unusual form; write four decimal numbers");
  }
  if (labels.back() == "localhost") {
    return PermissionDenied(shown + " is loopback, which no policy opens");
  }
  if (std::find(std::begin(kMetadataNames), std::end(kMetadataNames), name) !=
      std::end(kMetadataNames)) {
    return PermissionDenied(shown + " is a cloud's metadata, which no policy opens");
  }
  return name;
}

std::string KnownPrivate(const std::string& host) {
  if (const std::optional<AddressRange> address = ParseAddress(host)) return PrivateUse(*address);
  for (const std::string_view end : kPrivateNames) {
    if (host.size() < end.size() || host.substr(host.size() - end.size()) != end) continue;
    return "names that end in " + std::string(end) + " are a private network's";
  }
  return "";
}

bool IsAddress(const std::string& host) { return ParseAddress(host).has_value(); }

bool IsHostPattern(const std::string& host) { return host.find('*') != std::string::npos; }

std::string BeforePort(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

bool HostsOverlap(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a == b;
  return ListsOverlap(LabelsOf(a), LabelsOf(b));
}

Status CheckPathPattern(const std::string& what, const std::string& pattern) {
  const auto refuse = [&](const std::string& rule) {
    return InvalidArgument(what + " " + rule + ": `" + pattern + "`");
  };
  if (pattern == "**") return OkStatus();
  if (pattern.empty() || pattern[0] != '/') return refuse("must begin with `/`, or be `**`");
  if (pattern.size() > kMaxPatternBytes) return refuse("must have at most 1024 bytes");
  if (pattern.find_first_of("?#[]{}\\") != std::string::npos) {
    return refuse("has no wildcards but `*` and `**`, no query and no fragment");
  }
  if (HasControl(pattern)) return refuse("must not hold a control character");
  if (pattern.find('%') != std::string::npos) {
    return refuse("must hold the characters themselves, not percent-encoded");
  }
  const std::vector<std::string> segments = Split(pattern.substr(1), '/');
  for (size_t i = 0; i < segments.size(); ++i) {
    const std::string& segment = segments[i];
    const bool last = i + 1 == segments.size();
    if (segment == "." || segment == ".." || (segment.empty() && !last)) {
      return refuse("must be canonical, without `.`, `..` and empty segments");
    }
    if (segment != "**" && segment.find("**") != std::string::npos) {
      return refuse("has `**` only as a whole segment");
    }
  }
  return OkStatus();
}

bool IsLiteralPath(const std::string& pattern) {
  return pattern.find('*') == std::string::npos && CheckPathPattern("path", pattern).ok();
}

bool PathsOverlap(const std::string& a, const std::string& b) {
  const auto segments = [](const std::string& pattern) {
    return pattern.empty() || pattern == "**" ? std::vector<std::string>{"**"}
                                              : Split(pattern.substr(1), '/');
  };
  return ListsOverlap(segments(a), segments(b));
}

}  // namespace odyssey::egress
