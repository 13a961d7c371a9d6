#include "ctl/gc/leftovers.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "agentd/base/quarantine.h"
#include "common/base/sha256.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestDigits = 12;

std::string DigestOf(const std::string& part) { return Sha256Hex(part).substr(0, kDigestDigits); }

// The digest at the end of a directory's name.
std::string DigestIn(const std::string& name) {
  return name.size() > kDigestDigits ? name.substr(name.size() - kDigestDigits) : "";
}

std::vector<fs::path> EntriesOf(const fs::path& directory, std::error_code* error) {
  std::vector<fs::path> out;
  for (fs::directory_iterator it(directory, *error), end; !*error && it != end;
       it.increment(*error)) {
    out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// What is on the disk below the path, without following a link; and when any of it changed last.
struct Use {
  uint64_t bytes = 0;
  time_t changed = 0;
};

Use UseOf(const fs::path& path) {
  Use use;
  const auto add = [&use](const fs::path& at) {
    struct stat info {};
    if (lstat(at.c_str(), &info) != 0) return;
    use.bytes += static_cast<uint64_t>(info.st_blocks) * 512;
    use.changed = std::max({use.changed, info.st_ctim.tv_sec, info.st_mtim.tv_sec});
  };
  add(path);
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) return use;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    add(it->path());
  }
  return use;
}

// Digests of the ids of all sessions, those whose file was set aside too.
Result<std::set<std::string>> KnownSessions(const StateLayout& layout) {
  std::error_code error;
  std::set<std::string> known;
  for (const fs::path& path : EntriesOf(layout.agentd_dir + "/sessions", &error)) {
    const std::string name = path.filename();
    known.insert(DigestOf(name.substr(0, name.find('.'))));
  }
  if (error) return ErrnoStatus(error.value(), "read " + layout.agentd_dir + "/sessions");
  return known;
}

// By the digest of the session in the name of the directory above.
bool IsOfASession(const fs::path& directory) {
  return directory.parent_path().filename().string().rfind("ses_", 0) == 0;
}

bool IsUsed(const fs::path& directory, const std::set<std::string>& used) {
  return used.count(DigestIn(directory.parent_path().filename())) != 0;
}

}  // namespace

Result<std::vector<std::string>> ListCellDirectories(const StateLayout& layout) {
  constexpr int kLevels = 4;
  std::vector<fs::path> level = {layout.supervisor_dir + "/cells"};
  for (int i = 0; i < kLevels; ++i) {
    std::vector<fs::path> next;
    for (const fs::path& directory : level) {
      std::error_code error;
      const std::vector<fs::path> entries = EntriesOf(directory, &error);
      if (error && error.value() != ENOENT && error.value() != ENOTDIR) {
        return ErrnoStatus(error.value(), "read " + directory.string());
      }
      next.insert(next.end(), entries.begin(), entries.end());
    }
    level = std::move(next);
  }
  std::vector<std::string> out;
  std::copy_if(level.begin(), level.end(), std::back_inserter(out), IsOfASession);
  return out;
}

Result<std::vector<Leftover>> FindLeftovers(const StateLayout& layout,
                                            const std::vector<std::string>& directories,
                                            const LeftoverRequest& request) {
  ODY_ASSIGN_OR_RETURN(std::set<std::string> used, KnownSessions(layout));
  for (const std::string& session : request.used_sessions) used.insert(DigestOf(session));
  std::vector<Leftover> out;
  const auto add = [&](const std::string& kind, const std::string& path) {
    const Use use = UseOf(path);
    const time_t now = time(nullptr);
    if (now - use.changed < static_cast<time_t>(request.older_than_s)) return;
    out.push_back({kind, path, use.bytes});
  };
  for (const std::string& directory : directories) {
    if (!IsUsed(directory, used)) add("session cell", directory);
  }
  std::error_code error;
  const std::string restore = layout.state + "/restore.new";
  if (fs::exists(fs::symlink_status(restore, error))) add("restore", restore);
  if (!request.quarantined) return out;
  for (const char* name : {"/sessions", "/journals"}) {
    for (const std::string& path : agent::QuarantinedIn(layout.agentd_dir + name)) {
      add("quarantined file", path);
    }
  }
  return out;
}

}  // namespace odyssey::ctl
