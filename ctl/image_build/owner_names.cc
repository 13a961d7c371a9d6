#include "ctl/image_build/owner_names.h"

#include <charconv>
#include <optional>

namespace odyssey::ctl {
namespace {

constexpr uint32_t kMaxId = 65'535;  // of an image

std::optional<uint32_t> NumberOf(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view TakeUpTo(char separator, std::string_view* text) {
  const size_t end = text->find(separator);
  const std::string_view out = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return out;
}

// The third field of the line that begins with the name: of both files it is the number.
std::optional<uint32_t> FindId(std::string_view file, std::string_view name) {
  while (!file.empty()) {
    std::string_view line = TakeUpTo('\n', &file);
    if (name.empty() || TakeUpTo(':', &line) != name) continue;
    TakeUpTo(':', &line);
    return NumberOf(TakeUpTo(':', &line));
  }
  return std::nullopt;
}

Result<uint32_t> IdOf(std::string_view text, std::string_view file, const char* what,
                      const char* path) {
  const std::optional<uint32_t> number = NumberOf(text);
  const std::optional<uint32_t> id = number ? number : FindId(file, text);
  if (!id) {
    return InvalidArgument(std::string(what) + " " + std::string(text) + ": the image's " + path +
                           " has none");
  }
  if (*id > kMaxId) {
    return InvalidArgument(std::string(what) + " " + std::string(text) + ": allowed: 0 to 65535");
  }
  return *id;
}

}  // namespace

bool HasOwnerNames(std::string_view owner) {
  const std::string_view user = TakeUpTo(':', &owner);
  return !NumberOf(user) || (!owner.empty() && !NumberOf(owner));
}

Result<std::pair<uint32_t, uint32_t>> ResolveOwner(const std::string& owner,
                                                   std::string_view passwd,
                                                   std::string_view group) {
  std::string_view rest = owner;
  const std::string_view user = TakeUpTo(':', &rest);
  ODY_ASSIGN_OR_RETURN(const uint32_t uid, IdOf(user, passwd, "user", "/etc/passwd"));
  if (rest.empty()) return std::pair(uid, uid);
  ODY_ASSIGN_OR_RETURN(const uint32_t gid, IdOf(rest, group, "group", "/etc/group"));
  return std::pair(uid, gid);
}

std::string HomeOf(std::string_view user, std::string_view passwd) {
  const std::string_view name = TakeUpTo(':', &user);
  const std::optional<uint32_t> number = NumberOf(name);
  while (!passwd.empty()) {
    std::string_view line = TakeUpTo('\n', &passwd);
    const std::string_view known = TakeUpTo(':', &line);
    TakeUpTo(':', &line);
    const std::optional<uint32_t> id = NumberOf(TakeUpTo(':', &line));
    if (known.empty() || (number ? id != number : known != name)) continue;
    for (int skipped = 0; skipped < 2; ++skipped) TakeUpTo(':', &line);
    const std::string_view home = TakeUpTo(':', &line);
    return home.starts_with('/') ? std::string(home) : "/";
  }
  return "/";
}

}  // namespace odyssey::ctl
