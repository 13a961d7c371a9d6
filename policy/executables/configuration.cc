#include "policy/executables/configuration.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "common/os/unique_fd.h"
#include "policy/executables/etc_list.h"
#include "policy/plan/plan_check.h"

namespace odyssey::executables {
namespace {

constexpr int kMostDirectories = 200'000;
constexpr int kDeepest = 24;
constexpr int kMostLinks = 8;      // in one chain
constexpr size_t kMostFound = 96;  // each is a mount of every command
// A package's directory of which more is linked is shown as a whole: a JDK links to 24 files.
constexpr int kMostOfOne = 8;

constexpr std::string_view kEtc = "/etc/";

// Large, and without anything below them that a program reads at run time.
constexpr std::string_view kPassedOver[] = {"doc", "include", "locale", "man", "src"};

template <size_t kCount>
bool IsOneOf(std::string_view text, const std::string_view (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

// Nor is a directory that has something in it that is not shown.
bool IsShown(const std::string& path) {
  return std::none_of(
      std::begin(kNotShownOfEtc), std::end(kNotShownOfEtc), [&](const EtcPath& hidden) {
        return plan::IsWithin(path, hidden.path) || plan::IsWithin(hidden.path, path);
      });
}

class Finder final {
 public:
  explicit Finder(std::string root) : root_(std::move(root)) {}

  void Scan() {
    for (const EtcPath& shown : kShownOfEtc) Follow(std::string(shown.path), "/");
    ScanDirectory(AT_FDCWD, root_ + "/usr", "/usr", 0);
  }

  std::vector<compile::SystemEntry> Take() {
    std::map<std::string, int> files;  // by their directory in /etc
    for (const auto& [path, link] : found_) ++files[path.substr(0, path.find('/', kEtc.size()))];
    for (const auto& [directory, count] : files) {
      if (count > kMostOfOne) Follow(directory, "/");
    }
    std::vector<compile::SystemEntry> out;
    for (const auto& [path, link] : found_) {
      const bool inside = std::any_of(out.begin(), out.end(), [&, at = path](const auto& other) {
        return plan::IsWithin(at, other.path);
      });
      if (!inside && out.size() < kMostFound) out.push_back({path, link});
    }
    return out;
  }

 private:
  // `name` as openat(2) takes it; `path` is the directory's own.
  void ScanDirectory(int parent, const std::string& name, const std::string& path, int depth) {
    if (depth > kDeepest || ++directories_ > kMostDirectories) return;
    UniqueFd fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd.get()), closedir);
    if (!stream) return;
    const int directory = fd.release();
    const bool descend = !IsOneOf(path.substr(path.rfind('/') + 1), kPassedOver);
    std::vector<std::string> below;
    // Only this thread reads this stream.
    while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
      const std::string_view child = entry->d_name;
      if (child == "." || child == "..") continue;
      if (entry->d_type == DT_LNK) Follow(ReadLink(directory, entry->d_name), path);
      if (entry->d_type == DT_DIR && descend) below.emplace_back(child);
    }
    for (const std::string& child : below) {
      ScanDirectory(directory, child, path + "/" + child, depth + 1);
    }
  }

  static std::string ReadLink(int directory, const char* name) {
    char text[PATH_MAX];
    const ssize_t n = readlinkat(directory, name, text, sizeof(text));
    return n > 0 ? std::string(text, static_cast<size_t>(n)) : "";
  }

  // Of a link in `directory` that says `text`. By text alone as far as it is not in /etc.
  void Follow(const std::string& text, const std::string& directory, int links = 0) {
    if (text.empty() || links > kMostLinks) return;
    std::string path = (std::filesystem::path(directory) / text).lexically_normal().string();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (!plan::IsWithin(path, "/etc") || !IsShown(path)) return;
    for (size_t end = path.find('/', 1); end != std::string::npos;) {
      end = path.find('/', end + 1);
      const std::string here = path.substr(0, end);
      struct stat info;
      if (lstat((root_ + here).c_str(), &info) != 0) return;
      if (S_ISLNK(info.st_mode)) return Add(here, path.substr(here.size()), links);
      const mode_t enter = S_ISDIR(info.st_mode) ? S_IXOTH : 0;
      const mode_t needed = enter | (end == std::string::npos ? S_IROTH : 0);
      if ((info.st_mode & needed) != needed) return;
      if (end != std::string::npos) continue;
      const bool kind = S_ISDIR(info.st_mode) || S_ISREG(info.st_mode);
      if (kind) found_.emplace(path, "");
    }
  }

  // A link of /etc, with what is left of the way behind it.
  void Add(const std::string& link, const std::string& rest, int links) {
    const std::string text = ReadLink(AT_FDCWD, (root_ + link).c_str());
    found_.emplace(link, text);
    Follow(text + rest, link.substr(0, link.rfind('/')), links + 1);
  }

  const std::string root_;
  int directories_ = 0;
  std::map<std::string, std::string> found_;  // path → what it says, if it is a link
};

}  // namespace

std::vector<compile::SystemEntry> FindConfiguration(const std::string& root) {
  Finder finder(root);
  finder.Scan();
  return finder.Take();
}

}  // namespace odyssey::executables
