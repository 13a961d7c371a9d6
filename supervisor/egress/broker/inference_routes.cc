#include "supervisor/egress/broker/inference_routes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/control.h"
#include "common/os/file.h"
#include "common/os/regular_file.h"
#include "common/os/unique_fd.h"
#include "policy/dialect/ceiling_directory.h"
#include "policy/dialect/node.h"
#include "supervisor/egress/broker/inference_file.h"

namespace odyssey::egress {
namespace {

constexpr mode_t kNotOthersToWrite = 022, kOwnersAlone = 077, kAnyMode = 0;

// `forbidden`: bits of a mode that the file may not have. nullopt: there is no such file.
Result<std::optional<std::string>> ReadTrusted(const std::string& path, mode_t forbidden,
                                               size_t max_bytes) {
  // Not blocking: what is no regular file is opened before that is known.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  if (!fd) return ErrnoStatus(errno, "open " + path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition(path + ": it is " + FileKind(info.st_mode) + ", not a regular file");
  }
  if (forbidden != kAnyMode && info.st_uid != 0 && info.st_uid != geteuid()) {
    return FailedPrecondition(path + ": its owner is uid " + std::to_string(info.st_uid) +
                              "; root or odyssey-egress must own it");
  }
  if ((info.st_mode & forbidden) != 0) {
    return FailedPrecondition(path + (forbidden == kOwnersAlone
                                          ? ": other users may use it; its mode must be 0600"
                                          : ": other users may write it"));
  }
  ODY_ASSIGN_OR_RETURN(std::string text, ReadToTheEnd(fd.get(), path, max_bytes));
  return std::optional<std::string>(std::move(text));
}

bool IsKey(std::string_view key) {
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

Result<std::string> ReadKey(const RouteEntry& entry, const std::string& credentials) {
  const bool in_file = !entry.key_file.empty();
  if (!in_file && entry.key_credential.empty()) return std::string();
  if (!in_file && credentials.empty()) {
    return FailedPrecondition("route " + entry.route.name + ": key_credential " +
                              entry.key_credential + ": odyssey-egress has no credentials");
  }
  const std::string path = in_file ? entry.key_file : credentials + "/" + entry.key_credential;
  // systemd answers for its directory.
  ODY_ASSIGN_OR_RETURN(
      std::optional<std::string> text,
      ReadTrusted(path, in_file ? kOwnersAlone : kAnyMode, egress_wire::kMaxRouteKeyBytes));
  if (!text) return NotFound(path + ": there is no such file");
  StripLineEnd(&*text);
  if (!IsKey(*text)) return InvalidArgument(path + ": a key is one line of visible ASCII");
  return *std::move(text);
}

}  // namespace

Result<egress_wire::SetRoutes> InferenceFiles::RoutesOf(uid_t user) const {
  egress_wire::SetRoutes out;
  const std::string path = directory + "/inference.yaml";
  ODY_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                       ReadTrusted(path, kNotOthersToWrite, dialect::kMaxDocumentBytes));
  if (!text) return out;
  ODY_ASSIGN_OR_RETURN(const InferenceFile file, ParseInferenceFile(path, *text));
  const RouteGrant* const grant = GrantOf(file, dialect::OwnerOf(user));
  if (grant == nullptr) return out;
  out.budget = grant->budget;
  for (const size_t index : grant->routes) {
    egress_wire::Route& route = out.routes.emplace_back(file.routes[index].route);
    ODY_ASSIGN_OR_RETURN(route.key, ReadKey(file.routes[index], credentials));
  }
  return out;
}

}  // namespace odyssey::egress
