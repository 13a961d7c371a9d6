#include "supervisor/rpc/image_name.h"

#include <algorithm>

#include "image/spec/image_spec.h"

namespace odyssey::supervisor {
namespace {

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsWord(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// Letters and digits, with single separators between them.
bool IsComponent(std::string_view text, bool host) {
  if (text.empty() || !IsWord(text.front()) || !IsWord(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [host](char c) {
    return IsLower(c) || c == '.' || c == '_' || c == '-' ||
           (host && (c == ':' || (c >= 'A' && c <= 'Z')));
  });
}

// Where ":TAG" begins, or the end. A colon before the last slash is of a port.
size_t TagAt(std::string_view name) {
  const size_t colon = name.rfind(':'), slash = name.rfind('/');
  const bool tag =
      colon != std::string_view::npos && (slash == std::string_view::npos || slash < colon);
  return tag ? colon : name.size();
}

}  // namespace

std::string_view RepositoryOf(std::string_view name) { return name.substr(0, TagAt(name)); }

Result<std::string> NormalImageName(std::string_view text) {
  const size_t at = TagAt(text);
  std::string_view path = text.substr(0, at);
  const std::string_view tag = at < text.size() ? text.substr(at + 1) : "latest";
  const bool tagged =
      !tag.empty() && tag.size() <= image::kMaxTagBytes && IsWord(tag.front()) &&
      std::all_of(tag.begin(), tag.end(), [](char c) { return IsWord(c) || c == '.' || c == '-'; });
  bool good = tagged && !path.empty() && path.size() <= image::kMaxNameBytes;
  const std::string whole = std::string(path) + ":" + std::string(tag);
  for (bool first = true; good && !path.empty(); first = false) {
    const size_t slash = std::min(path.find('/'), path.size());
    good = IsComponent(path.substr(0, slash), first && slash < path.size()) &&
           slash + 1 != path.size();
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  // It would be taken for a digest.
  good = good && RepositoryOf(whole) != "sha256";
  if (good) return whole;
  return InvalidArgument(
      "give NAME or NAME:TAG, NAME of a-z 0-9 . _ - and /, at most 255 bytes, TAG of letters, "
      "digits and . _ -, at most 128");
}

Result<ImageReference> ParseImageReference(std::string_view text) {
  if (image::IsDigest(text)) return ImageReference{.digest = std::string(text)};
  const size_t at = text.find('@');
  ImageReference out;
  ODY_ASSIGN_OR_RETURN(out.name, NormalImageName(text.substr(0, at)));
  if (at == std::string_view::npos) return out;
  out.digest = text.substr(at + 1);
  if (image::IsDigest(out.digest)) return out;
  return InvalidArgument("after @ give sha256: and 64 lower-case hex digits");
}

}  // namespace odyssey::supervisor
