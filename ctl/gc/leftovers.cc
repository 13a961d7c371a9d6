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
constexpr char kNoSession[] = "shared";

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

bool IsOlder(const Use& use, uint64_t age_s) {
  return time(nullptr) - use.changed >= static_cast<time_t>(age_s);
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

bool IsOfASession(const fs::path& directory) {
  return directory.parent_path().filename().string().rfind("ses_", 0) == 0;
}

bool IsOfACommand(const fs::path& directory) {
  static const std::string command = DigestOf("command");
  const CellDigests digests = DigestsIn(directory);
  return digests.kind == command && digests.session == kNoSession;
}

struct CommandCell {
  std::string path;
  Use use;
  bool used = false;
};

// Those that go, the longest unchanged first.
std::vector<CommandCell> ChooseCommandCells(const std::vector<std::string>& directories,
                                            const LeftoverRequest& request) {
  std::vector<CommandCell> cells;
  uint64_t bytes = 0;
  for (const std::string& directory : directories) {
    if (!IsOfACommand(directory)) continue;
    cells.push_back({directory, UseOf(directory), request.used.count(DigestsIn(directory)) != 0});
    bytes += cells.back().use.bytes;
  }
  std::sort(cells.begin(), cells.end(), [](const CommandCell& a, const CommandCell& b) {
    return a.use.changed < b.use.changed;
  });
  std::vector<CommandCell> out;
  for (const CommandCell& cell : cells) {
    if (request.keep_bytes && bytes <= *request.keep_bytes) break;
    if (cell.used || !IsOlder(cell.use, request.older_than_s)) continue;
    bytes -= cell.use.bytes;
    out.push_back(cell);
  }
  return out;
}

}  // namespace

CellDigests DigestsOf(const supervisor::v1::CellKey& key) {
  return {DigestOf(key.kind()), DigestOf(key.agent_id()),
          key.session_id().empty() ? kNoSession : DigestOf(key.session_id()),
          DigestOf(key.component())};
}

CellDigests DigestsIn(const std::string& directory) {
  const fs::path component = directory, session = component.parent_path(),
                 agent = session.parent_path();
  return {DigestIn(agent.parent_path().filename()), DigestIn(agent.filename()),
          session.filename() == kNoSession ? kNoSession : DigestIn(session.filename()),
          DigestIn(component.filename())};
}

std::string GoneDirectory(const StateLayout& layout) {
  return layout.supervisor_dir + "/cells.gone";
}

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
  return std::vector<std::string>(level.begin(), level.end());
}

Result<std::vector<Leftover>> FindLeftovers(const StateLayout& layout,
                                            const std::vector<std::string>& directories,
                                            const LeftoverRequest& request) {
  ODY_ASSIGN_OR_RETURN(std::set<std::string> used, KnownSessions(layout));
  for (const CellDigests& cell : request.used) used.insert(cell.session);
  std::vector<Leftover> out;
  const auto add = [&](const std::string& kind, const std::string& path) {
    const Use use = UseOf(path);
    if (IsOlder(use, request.older_than_s)) out.push_back({kind, path, use.bytes});
  };
  for (const std::string& directory : directories) {
    if (!IsOfASession(directory)) continue;
    if (used.count(DigestsIn(directory).session) == 0) add("session cell", directory);
  }
  if (request.command_cells) {
    for (const CommandCell& cell : ChooseCommandCells(directories, request)) {
      out.push_back({"command cell", cell.path, cell.use.bytes});
    }
  }
  std::error_code error;
  const std::string gone = GoneDirectory(layout);
  if (fs::exists(fs::symlink_status(gone, error))) out.push_back({"gc", gone, UseOf(gone).bytes});
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
