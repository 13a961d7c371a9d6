#include "ctl/doctor/probe_snapshot.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include <filesystem>

#include "common/base/sha256.h"
#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 16 << 20;

std::string Describe(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return "";
  std::string out = std::to_string(info.st_uid) + " " + std::to_string(info.st_gid) + " " +
                    std::to_string(info.st_mode) + " " + std::to_string(info.st_rdev);
  if (!S_ISREG(info.st_mode)) return out;
  const Result<std::string> content = ReadFile(path, kMostBytes);
  out += " " + std::to_string(info.st_nlink) + " " + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
  return out + " " + (content.ok() ? Sha256Hex(*content) : content.status().message());
}

// Every path at and below `path`.
std::vector<std::string> Below(const std::string& path) {
  std::vector<std::string> paths = {path};
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    paths.push_back(it->path().string());
  }
  return paths;
}

std::string Danger(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return "";
  if (!S_ISDIR(info.st_mode) && (info.st_mode & S_ISUID) != 0) return "is set-user-id";
  if ((info.st_mode & S_ISGID) != 0) return "is set-group-id";
  if (S_ISBLK(info.st_mode) || S_ISCHR(info.st_mode)) return "is a device";
  char value[64];
  const bool capable = lgetxattr(path.c_str(), "security.capability", value, sizeof(value)) > 0;
  return capable ? "has capabilities" : "";
}

}  // namespace

Snapshot TakeSnapshot(const std::vector<std::string>& paths) {
  Snapshot snapshot;
  for (const std::string& root : paths) {
    for (const std::string& path : Below(root)) snapshot[path] = Describe(path);
  }
  return snapshot;
}

std::vector<std::string> Differences(const Snapshot& before, const Snapshot& after) {
  std::vector<std::string> lines;
  for (const auto& [path, was] : before) {
    const auto it = after.find(path);
    if (it == after.end() || it->second.empty()) {
      if (!was.empty()) lines.push_back(path + " is gone");
    } else if (it->second != was) {
      lines.push_back(path + " changed");
    }
  }
  for (const auto& [path, is] : after) {
    if (before.count(path) == 0) lines.push_back(path + " is new");
  }
  return lines;
}

std::vector<std::string> DangerousFiles(const std::string& directory, const std::string& expected) {
  std::vector<std::string> lines;
  for (const std::string& path : Below(directory)) {
    const std::string danger = path == expected ? "" : Danger(path);
    if (!danger.empty()) lines.push_back(path + " " + danger);
  }
  return lines;
}

}  // namespace odyssey::ctl
