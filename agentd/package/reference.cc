#include "agentd/package/reference.h"

#include <algorithm>
#include <vector>

#include "common/oci/digest.h"
#include "common/oci/layout.h"

namespace odyssey::package {
namespace {

constexpr std::string_view kArchiveSuffix = ".odyssey";
constexpr std::string_view kLatest = "latest";
constexpr size_t kMaxReferenceBytes = 4096;

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// "ns/id" or "id" into the reference.
Status TakeName(const std::string& name, Reference* out) {
  const size_t slash = name.find('/');
  out->ns = slash == std::string::npos ? kLocalNamespace : name.substr(0, slash);
  out->id = slash == std::string::npos ? name : name.substr(slash + 1);
  ODY_RETURN_IF_ERROR(oci::CheckName("bundle namespace", out->ns));
  return oci::CheckName("bundle id", out->id);
}

Result<Reference> ParseDigest(const std::string& name, const std::string& digest) {
  Reference out;
  out.kind = Reference::Kind::kDigest;
  ODY_ASSIGN_OR_RETURN(out.digest, oci::HexOf(digest));
  if (!name.empty()) ODY_RETURN_IF_ERROR(TakeName(name, &out));
  return out;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Numbers of any length; a number comes before a word.
int ComparePart(std::string_view a, std::string_view b) {
  if (!IsNumber(a) || !IsNumber(b)) {
    if (IsNumber(a) != IsNumber(b)) return IsNumber(a) ? -1 : 1;
    return a.compare(b);
  }
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

// `missing`: what stands for a part that one of the texts lacks.
int CompareParts(std::string_view a, std::string_view b, std::string_view missing) {
  const std::vector<std::string_view> left = Split(a, '.');
  const std::vector<std::string_view> right = Split(b, '.');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    if (missing.empty() && (i >= left.size() || i >= right.size())) {
      return left.size() < right.size() ? -1 : 1;
    }
    const int order =
        ComparePart(i < left.size() ? left[i] : missing, i < right.size() ? right[i] : missing);
    if (order != 0) return order;
  }
  return 0;
}

int CompareVersions(std::string_view a, std::string_view b) {
  a = a.substr(0, a.find('+'));
  b = b.substr(0, b.find('+'));
  const size_t dash_a = a.find('-');
  const size_t dash_b = b.find('-');
  const int release = CompareParts(a.substr(0, dash_a), b.substr(0, dash_b), "0");
  if (release != 0) return release;
  if (dash_a == std::string_view::npos || dash_b == std::string_view::npos) {
    if (dash_a == dash_b) return 0;
    return dash_a == std::string_view::npos ? 1 : -1;
  }
  return CompareParts(a.substr(dash_a + 1), b.substr(dash_b + 1), "");
}

}  // namespace

Result<Reference> ParseReference(const std::string& text) {
  if (text.empty()) return oci::InvalidBundle("a bundle reference cannot be empty");
  if (text.size() > kMaxReferenceBytes || text.find('\0') != std::string::npos) {
    return oci::InvalidBundle("a bundle reference has at most " +
                              std::to_string(kMaxReferenceBytes) + " bytes, and no NUL byte");
  }
  if (EndsWith(text, kArchiveSuffix)) {
    return oci::InvalidBundle("bundle archives must be imported before use: " + text);
  }
  Reference out;
  if (text[0] == '.' || text[0] == '/') {
    out.kind = Reference::Kind::kPath;
    out.path = text;
    return out;
  }
  if (text.rfind(oci::kDigestPrefix, 0) == 0) return ParseDigest("", text);
  const size_t at = text.find('@');
  if (at != std::string::npos && text.rfind(oci::kDigestPrefix, at + 1) == at + 1) {
    return ParseDigest(text.substr(0, at), text.substr(at + 1));
  }
  size_t end = at;
  const size_t slash = text.find('/');
  if (end == std::string::npos && slash != std::string::npos) end = text.find(':', slash);
  ODY_RETURN_IF_ERROR(TakeName(text.substr(0, end), &out));
  if (end == std::string::npos) return out;
  out.version = text.substr(end + 1);
  ODY_RETURN_IF_ERROR(oci::CheckName("bundle version", out.version));
  if (out.version == kLatest) out.version.clear();
  return out;
}

bool VersionLess(std::string_view a, std::string_view b) {
  const int order = CompareVersions(a, b);
  return order != 0 ? order < 0 : a < b;
}

}  // namespace odyssey::package
