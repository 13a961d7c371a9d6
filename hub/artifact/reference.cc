#include "hub/artifact/reference.h"

#include <algorithm>
#include <vector>

namespace odyssey::artifact {
namespace {

struct Split {
  Reference reference;
  bool slash = false;
  std::string rest;  // after "@" or ":"
  bool has_rest = false;
};

Split SplitReference(const std::string& text) {
  Split out;
  const size_t slash = text.find('/');
  out.slash = slash != std::string::npos;
  const size_t begin = out.slash ? slash + 1 : 0;
  if (out.slash) out.reference.ns = text.substr(0, slash);
  const size_t mark = text.find_first_of("@:", begin);
  out.has_rest = mark != std::string::npos;
  out.reference.id = text.substr(begin, out.has_rest ? mark - begin : mark);
  if (out.has_rest) out.rest = text.substr(mark + 1);
  return out;
}

Status Malformed(const std::string& text, const std::string& why) {
  return InvalidArgument("reference " + text + ": " + why);
}

Result<Reference> Checked(const std::string& text, Split split) {
  Reference& out = split.reference;
  if (!IsName(out.ns)) return Malformed(text, "invalid namespace");
  if (!IsName(out.id)) return Malformed(text, "invalid id");
  if (IsDigest(split.rest)) {
    out.digest = split.rest;
  } else if (split.has_rest && split.rest != "latest") {
    if (!IsName(split.rest)) return Malformed(text, "invalid version or digest");
    out.version = split.rest;
  }
  return out;
}

std::vector<std::string> Parts(std::string_view text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool IsNumber(const std::string& part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
}

// Of any length.
int CompareNumbers(std::string a, std::string b) {
  a.erase(0, std::min(a.find_first_not_of('0'), a.size()));
  b.erase(0, std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

int ComparePart(const std::string& a, const std::string& b) {
  if (IsNumber(a) && IsNumber(b)) return CompareNumbers(a, b);
  if (IsNumber(a) != IsNumber(b)) return IsNumber(a) ? -1 : 1;
  return a.compare(b);
}

int CompareDotted(std::string_view a, std::string_view b) {
  const std::vector<std::string> left = Parts(a), right = Parts(b);
  for (size_t i = 0; i < std::min(left.size(), right.size()); i++) {
    if (const int order = ComparePart(left[i], right[i]); order != 0) return order;
  }
  return left.size() == right.size() ? 0 : left.size() < right.size() ? -1 : 1;
}

}  // namespace

Result<Reference> ParsePullReference(const std::string& text) {
  const Split split = SplitReference(text);
  if (!split.slash) return InvalidArgument("remote reference missing repository");
  return Checked(text, split);
}

Result<Reference> ParsePublishTarget(const std::string& text) {
  const Split split = SplitReference(text);
  if (!split.slash) return InvalidArgument("publish target must be a namespaced remote reference");
  if (split.reference.ns.empty()) return InvalidArgument("publish target must include a namespace");
  ODY_ASSIGN_OR_RETURN(const Reference out, Checked(text, split));
  if (!out.digest.empty()) return Malformed(text, "a publish target has no digest");
  return out;
}

Status CheckTarget(const Reference& target, const Identity& bundle) {
  if (target.id != bundle.id) {
    return InvalidArgument("publish target id " + target.id + " does not match bundle id " +
                           bundle.id);
  }
  if (!target.version.empty() && target.version != bundle.version) {
    return InvalidArgument("publish target version " + target.version +
                           " does not match bundle version " + bundle.version);
  }
  return OkStatus();
}

bool VersionLess(std::string_view a, std::string_view b) {
  const std::string_view left = a.substr(0, a.find('+')), right = b.substr(0, b.find('+'));
  const size_t left_dash = left.find('-'), right_dash = right.find('-');
  const int release = CompareDotted(left.substr(0, left_dash), right.substr(0, right_dash));
  if (release != 0) return release < 0;
  if (left_dash == std::string_view::npos || right_dash == std::string_view::npos) {
    return left_dash != std::string_view::npos && right_dash == std::string_view::npos;
  }
  return CompareDotted(left.substr(left_dash + 1), right.substr(right_dash + 1)) < 0;
}

}  // namespace odyssey::artifact
