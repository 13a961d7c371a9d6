#include "policy/dialect/ceiling_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "common/os/regular_file.h"
#include "common/os/unique_fd.h"
#include "policy/dialect/ceiling_file.h"
#include "policy/dialect/node.h"

namespace odyssey::dialect {
namespace {

constexpr size_t kMaxFiles = 64;
constexpr uid_t kNoUser = static_cast<uid_t>(-1);
constexpr size_t kLookupBytes = 64 * 1024;  // of a user's or a group's line
constexpr int kMaxGroups = 1024;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Another uid that could write it could grant itself rights.
Status CheckOwner(const std::string& path, const struct stat& info) {
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return FailedPrecondition(path + ": it belongs to uid " + std::to_string(info.st_uid) +
                              "; the operator's ceiling must be root's");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return OkStatus();
  return FailedPrecondition(path +
                            ": its group or others may write it; the operator's ceiling must be "
                            "writable by its owner alone (chmod go-w)");
}

Result<std::vector<std::string>> ListFiles(const std::string& path, UniqueFd directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.get()), closedir);
  if (!stream) return ErrnoStatus(errno, "list " + path);
  (void)directory.release();
  std::vector<std::string> names;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    if (EndsWith(name, ".yml")) {
      return FailedPrecondition(path + "/" + name +
                                ": it would not be read; name it *.yaml, or move it away");
    }
    if (EndsWith(name, ".yaml") && name[0] != '.') names.push_back(name);
  }
  if (names.size() > kMaxFiles) {
    return FailedPrecondition(path + ": " + std::to_string(names.size()) + " files; at most " +
                              std::to_string(kMaxFiles) + " are allowed");
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> ReadAll(const std::string& path, int fd) {
  std::string text;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > kMaxDocumentBytes) {
      return FailedPrecondition(path + ": longer than " + std::to_string(kMaxDocumentBytes) +
                                " bytes");
    }
  }
}

Result<std::string> ReadTrusted(const std::string& path, int directory, const std::string& name) {
  // Not blocking: what is no regular file is opened before that is known.
  const UniqueFd fd(
      openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ELOOP) {
    return FailedPrecondition(path + ": it is a symbolic link; only files themselves are read");
  }
  if (!fd) return ErrnoStatus(errno, "open " + path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition(path + ": it is " + FileKind(info.st_mode) + ", not a regular file");
  }
  ODY_RETURN_IF_ERROR(CheckOwner(path, info));
  return ReadAll(path, fd.get());
}

std::string ResolveHome(const char* home) {
  const std::unique_ptr<char, decltype(&free)> resolved(realpath(home, nullptr), free);
  return resolved != nullptr ? resolved.get() : home;
}

std::string NameOfGroup(gid_t gid) {
  std::vector<char> buffer(kLookupBytes);
  group entry{};
  group* found = nullptr;
  const bool known =
      getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? found->gr_name : "";
}

void FindGroups(const passwd& entry, ceiling::Owner* owner) {
  std::vector<gid_t> gids(kMaxGroups);
  int count = kMaxGroups;
  if (getgrouplist(entry.pw_name, entry.pw_gid, gids.data(), &count) < 0) count = kMaxGroups;
  for (int i = 0; i < count; ++i) {
    owner->gids.push_back(gids[static_cast<size_t>(i)]);
    std::string name = NameOfGroup(gids[static_cast<size_t>(i)]);
    if (!name.empty()) owner->groups.push_back(std::move(name));
  }
}

}  // namespace

Result<std::optional<CeilingTexts>> ReadCeilingTexts(const std::string& directory) {
  using Texts = std::optional<CeilingTexts>;
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return Texts();
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + directory);
  ODY_RETURN_IF_ERROR(CheckOwner(directory, info));
  UniqueFd listed(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!listed) return ErrnoStatus(errno, "list " + directory);
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                       ListFiles(directory, std::move(listed)));
  CeilingTexts texts;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    ODY_ASSIGN_OR_RETURN(std::string text, ReadTrusted(path, fd.get(), name));
    texts.push_back({path, std::move(text)});
  }
  return Texts(std::move(texts));
}

Result<ceiling::Ceiling> ParseCeiling(const std::optional<CeilingTexts>& texts) {
  if (!texts) return ceiling::BuiltIn();
  ceiling::Ceiling out;
  Problems problems;
  for (const CeilingText& file : *texts) {
    ceiling::Merge(ReadCeiling(file.file, file.text, &problems), &out);
  }
  if (problems.empty()) {
    // Last: what a file grants is said to be by that file.
    if (out.keeps_built_in) ceiling::Merge(ceiling::BuiltIn(), &out);
    return out;
  }
  const std::string more =
      problems.size() == 1 ? "" : " (and " + std::to_string(problems.size() - 1) + " more)";
  return InvalidArgument(ToString(problems.front()) + more);
}

Result<ceiling::Ceiling> LoadCeiling(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const std::optional<CeilingTexts> texts, ReadCeilingTexts(directory));
  return ParseCeiling(texts);
}

Result<CeilingFiles::InForcePtr> CeilingFiles::Get() {
  auto texts = ReadCeilingTexts(directory_);
  const std::lock_guard lock(mutex_);
  if (!texts.ok()) {
    parsed_.reset();  // whatever is read next is parsed
    return texts.status();
  }
  if (parsed_ && texts_ == *texts) return *parsed_;
  texts_ = *std::move(texts);
  Result<ceiling::Ceiling> ceiling = ParseCeiling(texts_);
  if (!ceiling.ok()) return *(parsed_ = ceiling.status());
  const auto count = texts_ ? std::optional(texts_->size()) : std::nullopt;
  std::string digest = ceiling::Digest(*ceiling);
  parsed_ = std::make_shared<const InForce>(InForce{*std::move(ceiling), digest, count});
  return *parsed_;
}

ceiling::Owner OwnerOf(uid_t uid) {
  ceiling::Owner owner = {.uid = uid};
  std::vector<char> buffer(kLookupBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return owner;
  }
  owner.name = found->pw_name;
  owner.home = ResolveHome(found->pw_dir);
  FindGroups(*found, &owner);
  return owner;
}

Result<ceiling::Owner> FindOwner(const std::string& option, const std::string& user) {
  uid_t uid = 0;
  const char* const end = user.data() + user.size();
  const auto [stop, error] = std::from_chars(user.data(), end, uid);
  if (error == std::errc() && stop == end && uid != kNoUser) return OwnerOf(uid);
  std::vector<char> buffer(kLookupBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    return OwnerOf(found->pw_uid);
  }
  return NotFound(option + " " + user + ": no such user; give a name or a uid");
}

}  // namespace odyssey::dialect
