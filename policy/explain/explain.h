#ifndef ODYSSEY_POLICY_EXPLAIN_EXPLAIN_H_
#define ODYSSEY_POLICY_EXPLAIN_EXPLAIN_H_

// May a command of a cell do this, what decides it, and what would have to be asked for. Pure:
// answers come from the same plan that root executes and the same rules that cell-init applies.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "policy/compile/compile.h"
#include "policy/model/policy_keys.h"
#include "policy/model/request.h"

namespace odyssey::explain {

// A cell: what was asked for and what it became. Borrowed.
struct Cell {
  const policy::SandboxRequest& request;
  const compile::Compiled& compiled;
};

enum class Access { kRead, kWrite, kExecute };
// "read", "write", "execute".
std::string AccessName(Access access);

// The smallest change of a manifest that would allow what is refused.
struct Grant {
  // As supervisor.proto's GrantKey.
  enum class Key : uint8_t {
    kOther,
    kMountRead,
    kMountWrite,
    kWorkspaceWrite,
    kNetworkFull,
    kExecutable,
    kAllExecutables,
    kLimit,
    kNetworkEndpoint,
  };

  // NOLINTNEXTLINE(google-explicit-constructor): most are a text alone.
  Grant(std::string written = "") : text(std::move(written)) {}
  Grant(const char* written) : text(written) {}  // NOLINT(google-explicit-constructor)
  Grant(Key of, std::string what, std::string written)
      : text(std::move(written)), key(of), value(std::move(what)) {}

  bool empty() const { return text.empty(); }
  friend bool operator==(const Grant& a, const Grant& b) { return a.text == b.text; }
  friend bool operator<(const Grant& a, const Grant& b) { return a.text < b.text; }

  std::string text;  // key and value; "" if nothing would
  Key key = Key::kOther;
  // Of a mount its path on the host, of an executable its name, of a limit a number in the units of
  // its field.
  std::string value;
};

struct Answer {
  bool allowed = true;
  // What decides: the mechanism, then its line: "mount /srv/x read_only", "network none".
  std::string rule;
  Grant grant;  // if it is refused
  friend bool operator==(const Answer&, const Answer&) = default;
};

// danger_full_access: there is no cell, and nothing but limits that refuses anything.
bool IsOnHost(const Cell& cell);

// One of the host's own, which every cell has: it keeps its owners.
bool IsSystemTree(const plan::Entry& entry);

// `path` is absolute in the cell and normalised. Says what confinement does, not what the mode and
// owner of a file do. A path that the cell does not have is refused.
Answer ExplainPath(const Cell& cell, const std::string& path, Access access);

// A program of the host that a policy does not name, where it names what may be executed.
Answer ExplainUnlisted(const std::string& name);

// Connecting to anything but the cell's own loopback.
Answer ExplainNetwork(const Cell& cell);

// Those that a command can be seen to reach, by row of policy::kLimitKeys.
enum class Limit : size_t {
  kMemory = policy::LimitIndex("memory_bytes"),
  kPids = policy::LimitIndex("pids"),
  kWallClock = policy::LimitIndex("wall_clock_ms"),
  kCpuSeconds = policy::LimitIndex("cpu_seconds"),
  kOpenFiles = policy::LimitIndex("open_files"),
  kTmp = policy::LimitIndex("tmp_bytes"),
  kDisk = policy::LimitIndex("disk_bytes"),
};
// As policy.proto spells it.
std::string LimitName(Limit limit);
// What was reached, if it was: never allowed. `value`: of this command, where that is not the
// cell's; 0: the cell's.
Answer ExplainLimit(const Cell& cell, Limit limit, uint64_t value = 0);

// Which limit bounds the size of what is written at `path`; nullopt: none of the cell's.
std::optional<Limit> SpaceLimitAt(const Cell& cell, const std::string& path);

// An absolute path without empty, "." and ".." components; ".." of the root is the root.
std::string Normalize(const std::string& path);

// Where `path`, relative to `cwd`, is in the cell: by its text and the plan's own links. Links in
// host trees are not followed. "" if it is no path.
std::string ResolveInCell(const Cell& cell, const std::string& cwd, const std::string& path);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_EXPLAIN_H_
