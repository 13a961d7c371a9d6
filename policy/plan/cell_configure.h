#ifndef ODYSSEY_POLICY_PLAN_CELL_CONFIGURE_H_
#define ODYSSEY_POLICY_PLAN_CELL_CONFIGURE_H_

// What rpc sends to cell-init about its cell, once (supervisor/wire/cell_wire.h).

#include <cstdint>
#include <string>
#include <vector>

namespace odyssey::cell {

inline constexpr uint32_t kMaxPath = 4095;  // PATH_MAX without its NUL
inline constexpr uint32_t kMaxRules = 512;
inline constexpr uint32_t kMaxDenyPatterns = 64;
inline constexpr uint32_t kMaxSuffixes = 32;  // of one tool root
inline constexpr uint32_t kMaxSuffixBytes = 32;

// Where cell-init mounts the cell's control groups, if the plan has made the directories.
inline constexpr char kControlGroups[] = "/sys/fs/cgroup";
// What the plan has here, a slot binds over the file of the same name in /proc; and over those that
// are the host's an empty file or directory.
inline constexpr char kOwnProc[] = "/.proc";
inline constexpr char kEmptyFile[] = "/.proc/none";
inline constexpr char kEmptyDirectory[] = "/.proc/empty";

// Rights of a Landlock rule, beneath `path` (a directory or a file in the cell).
inline constexpr uint8_t kRead = 1;
inline constexpr uint8_t kWrite = 2;
inline constexpr uint8_t kExecute = 4;
inline constexpr uint8_t kIfThere = 8;  // no error if it is not

struct LandlockRule {
  std::string path;
  uint8_t rights = 0;
  friend bool operator==(const LandlockRule&, const LandlockRule&) = default;
};

// A place where file operations may look.
struct ToolRoot {
  std::string path;
  std::vector<std::string> suffixes;  // in lower case; of names that they see; empty: any
  uint64_t max_file_bytes = 0;        // of what they read and write; 0: no bound
  friend bool operator==(const ToolRoot&, const ToolRoot&) = default;
};

// A tree on which cell-init puts a guard, unless it is a file. supervisor/cell_guard serves all
// guards of a cell: it is executed with the patterns of each, an empty argument behind those of
// each, and with two descriptors for each from 3 on: the tree (O_PATH) and the FUSE connection.
struct Guard {
  std::string path;
  bool read_only = false;
  std::vector<std::string> deny;  // policy/pattern
  friend bool operator==(const Guard&, const Guard&) = default;
};

// How every command of the cell is confined, beyond its namespaces.
struct Configure {
  std::vector<LandlockRule> rules;   // a path that is not in the cell is an error, but for kIfThere
  std::vector<ToolRoot> tool_roots;  // beside the workspace and the cell's own directories
  std::vector<Guard> guards;
  bool own_network = true;   // false: it is the host's
  uint32_t max_sockets = 0;  // of the own network, by all commands together (kernel_memory.h)
  bool denies_write_exec =
      false;  // what was written is not executed, where the kernel can (PR_SET_MDWE)
  // Root's commands keep the capabilities of plan::Plan::build.
  bool build = false;
  uint32_t landlock_abi = 1;  // an older kernel is an error; 0: without Landlock if need be
  friend bool operator==(const Configure&, const Configure&) = default;
};

// The fields of each (common/base/field_codec.h), in the order of the encoding.

void VisitFields(auto& v, LandlockRule& m) {
  v.Text("path", m.path, kMaxPath);
  v.U8("rights", m.rights);
}

void VisitFields(auto& v, ToolRoot& m) {
  v.Text("path", m.path, kMaxPath);
  v.Texts("suffixes", m.suffixes, kMaxSuffixes, kMaxSuffixBytes);
  v.U64("max_file_bytes", m.max_file_bytes);
}

void VisitFields(auto& v, Guard& m) {
  v.Text("path", m.path, kMaxPath);
  v.Bool("read_only", m.read_only);
  v.Texts("deny", m.deny, kMaxDenyPatterns, kMaxPath);
}

void VisitFields(auto& v, Configure& m) {
  v.List("rules", m.rules, kMaxRules);
  v.List("tool_roots", m.tool_roots, kMaxRules);
  v.List("guards", m.guards, kMaxRules);
  v.Bool("own_network", m.own_network);
  v.U32("max_sockets", m.max_sockets);
  v.Bool("denies_write_exec", m.denies_write_exec);
  v.Bool("build", m.build);
  v.U32("landlock_abi", m.landlock_abi);
}

}  // namespace odyssey::cell

#endif  // ODYSSEY_POLICY_PLAN_CELL_CONFIGURE_H_
