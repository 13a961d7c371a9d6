#ifndef ODYSSEY_SUPERVISOR_WIRE_CELL_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_CELL_WIRE_H_

// What odyssey-supervisor-rpc and the processes of a cell say to each other, one SOCK_SEQPACKET
// message each (common/os/message_socket.h). rpc trusts nothing that comes out of a cell; the cell
// trusts rpc, except that the seccomp filters are cell-init's own.
//
//   cell socket      rpc → cell-init: Configure, in a cell with egress OpenEgress, then WantSlot
//   and
//                    WantTools; each SlotGone again when no command of the cell lives (ADR 0032)
//                    cell-init → rpc: Hello, Unmapped, EgressWay + 1 fd, SlotReady + 2 fds,
//                    ToolsReady + 1 fd, SlotGone, CellError
//                    slot → rpc: SlotReady + 2 fds again, when its command's every process is dead
//   slot.exec fd     rpc → slot: ExecSpec + 3 fds (0 with a terminal)
//                    slot → rpc: TerminalReady + master fd; ExecError{step, errno}
//   slot.control fd  rpc → slot: SignalSlot, KillSlot
//                    slot → rpc: ExecExited
//
// A slot is a process pair prepared ahead of need: a nested pid 1 and, below it, a process already
// confined that waits for its ExecSpec. KillSlot kills everything in the slot, which is offered
// again; closing slot.control ends the slot too.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/field_codec.h"
#include "common/base/status.h"
#include "policy/plan/cell_configure.h"  // IWYU pragma: export
#include "policy/plan/refused_call.h"

namespace odyssey::cell {

inline constexpr uint32_t kMaxArgv = 4096;
inline constexpr uint32_t kMaxExecBytes = 128 * 1024;  // argv + env, also MAX_ARG_STRLEN

// A run, the directories of one command: /cell/runs/run_<16 hex digits>/{inbox,outbox,work,tmp}.
// Numbers grow with time, so names sort by age. 0 is none.
inline constexpr char kRunsPath[] = "/cell/runs";
inline constexpr char kRunVariable[] = "ODYSSEY_RUN";  // names them in the command's environment
std::string RunName(uint64_t run);
// 0 if `name` is not exactly what RunName gives.
uint64_t RunNumber(std::string_view name);
// Directories of a run that were made ahead of need: they become a command's by renaming.
std::string SpareRunName(uint32_t number);

enum class MessageType : uint8_t {
  kHello = 1,
  kConfigure,
  kWantSlot,
  kSlotReady,
  kWantTools,
  kToolsReady,
  kSlotGone,
  kCellError,
  kExecSpec,
  kTerminalReady,
  kExecError,
  kSignalSlot,
  kKillSlot,
  kExecExited,
  kUnmapped,
  kOpenEgress,
  kEgressWay,
  kIdentity,
};

struct Hello {
  uint32_t landlock_abi = 0;  // 0: the kernel has none
  uint32_t runs = 0;          // entries of the directory of runs, left by an earlier cell
};

// After Configure, if it holds for any: places for file operations whose files keep their owners.
struct Unmapped {
  std::vector<std::string> targets;
  friend bool operator==(const Unmapped&, const Unmapped&) = default;
};

inline constexpr uint32_t kMaxEgressWays = 64;
inline constexpr uint16_t kProxyPort = 3128;  // of 127.0.0.1

// A way out of a cell with egress. From cell-init with one fd, which odyssey-egress serves.
struct EgressWay {
  enum class Kind : uint8_t {
    kProxy,        // listener of TCP, for CONNECT, absolute-form requests and SOCKS
    kNames,        // DNS: datagrams
    kNameStreams,  // DNS: listener of TCP
    kPort,         // listener of TCP, at every address
    kSocketTable,  // NETLINK_SOCK_DIAG of the cell's network
    kIdentities,   // where each Identity arrives
  };
  Kind kind = Kind::kProxy;
  uint16_t port = 0;  // 0: it has none
  friend auto operator<=>(const EgressWay&, const EgressWay&) = default;
};

// Of a cell with egress, before its first slot; again for ports that a new policy names.
struct OpenEgress {
  std::vector<EgressWay> ways;
  bool files = false;  // slots send what programs execute, beside each Identity from now on
  friend bool operator==(const OpenEgress&, const OpenEgress&) = default;
};

inline constexpr uint32_t kMaxAncestors = 16;

// slot → odyssey-egress, before the connection is made: whose it is. Where OpenEgress says `files`,
// with 2 fds: the file that the program executes, and its /proc/PID/pagemap, which can be read
// while it executes that; without, if they cannot be opened.
struct Identity {
  uint64_t socket = 0;                 // inode; 0: no socket
  std::string program;                 // path in the cell, as the kernel has it
  std::vector<std::string> ancestors;  // programs of its parents in the slot, nearest first
  std::string destination;             // "192.0.2.1:443"; "": the cell's own loopback
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct SlotReady {
  uint64_t slot = 0;  // with fds: exec, control
};

// The slot's every process is dead and reaped.
struct SlotGone {
  uint64_t slot = 0;
};

// cell-init could not do what it was asked; the cell goes on.
struct CellError {
  Status status;
  bool of_tools = false;  // asked by WantTools
};

struct ExecSpec {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"; the whole environment
  std::string cwd;               // absolute in the cell
  // Of kExecLimits; 0 = unlimited.
  uint64_t cpu_seconds = 0;
  uint64_t open_files = 0;
  uint64_t file_bytes = 0;
  bool terminal = false;
  uint16_t rows = 0;
  uint16_t columns = 0;
  uint64_t run = 0;   // made unless it is there; 0 = none
  uint16_t port = 0;  // of the cell's 127.0.0.1, to which stdin and stdout are relayed; 0 = none
  friend bool operator==(const ExecSpec&, const ExecSpec&) = default;
};

// The limits of a command by their names in policy.proto: rpc fills them, and the codec writes
// them, in this order.
struct ExecLimit {
  std::string_view name;
  uint64_t ExecSpec::*member;
};
inline constexpr ExecLimit kExecLimits[] = {
    {"cpu_seconds", &ExecSpec::cpu_seconds},
    {"open_files", &ExecSpec::open_files},
    {"file_bytes", &ExecSpec::file_bytes},
};

// Where a cell may have a file system of its own, in memory or on its disk.
inline constexpr const char* kBoundedPlaces[] = {"/tmp", "/workspace", "/cell/data", "/cell/cache",
                                                 "/cell/tmp"};

enum class ExecStep : uint8_t { kSetUp, kFork, kChdir, kExec };

// The command never started.
struct ExecError {
  ExecStep step = ExecStep::kSetUp;
  Status status;
};

struct SignalSlot {
  int32_t signal = 0;
  bool everyone = false;  // every process of the slot, not just the command's group
};

// Of the processes that a command left running, those that are named.
inline constexpr uint32_t kMaxLeftProcesses = 16;

struct ExecExited {
  int32_t wait_status = 0;  // as waitpid(2) gives it
  uint64_t user_usec = 0;
  uint64_t system_usec = 0;
  uint64_t max_rss_bytes = 0;
  uint32_t pid = 0;  // in the slot
  std::vector<RefusedCall> refused;
  uint64_t refused_more = 0;  // calls that found no room in `refused`
  // Of kBoundedPlaces those whose file system has become full, or is full and the command failed.
  std::vector<std::string> full;
  std::vector<std::string> left;  // names of the processes that it left running
  friend bool operator==(const ExecExited&, const ExecExited&) = default;
};

// The type of an encoded message; INVALID_ARGUMENT if it is none.
Result<MessageType> TypeOf(std::string_view bytes);

// WantSlot, WantTools, ToolsReady, TerminalReady, KillSlot carry nothing.
std::string EncodeEmpty(MessageType type);

// The fields of each message, once for both directions, in the order of the encoding; those of
// Configure are in cell_configure.h.

constexpr MessageType TypeOf(const Hello&) { return MessageType::kHello; }
constexpr MessageType TypeOf(const Unmapped&) { return MessageType::kUnmapped; }
constexpr MessageType TypeOf(const Configure&) { return MessageType::kConfigure; }
constexpr MessageType TypeOf(const OpenEgress&) { return MessageType::kOpenEgress; }
constexpr MessageType TypeOf(const EgressWay&) { return MessageType::kEgressWay; }
constexpr MessageType TypeOf(const Identity&) { return MessageType::kIdentity; }
constexpr MessageType TypeOf(const SlotReady&) { return MessageType::kSlotReady; }
constexpr MessageType TypeOf(const SlotGone&) { return MessageType::kSlotGone; }
constexpr MessageType TypeOf(const CellError&) { return MessageType::kCellError; }
constexpr MessageType TypeOf(const ExecSpec&) { return MessageType::kExecSpec; }
constexpr MessageType TypeOf(const ExecError&) { return MessageType::kExecError; }
constexpr MessageType TypeOf(const SignalSlot&) { return MessageType::kSignalSlot; }
constexpr MessageType TypeOf(const ExecExited&) { return MessageType::kExecExited; }

void VisitFields(auto& v, Hello& m) {
  v.U32("landlock_abi", m.landlock_abi);
  v.U32("runs", m.runs);
}

void VisitFields(auto& v, Unmapped& m) { v.Texts("targets", m.targets, kMaxRules, kMaxPath); }

void VisitFields(auto& v, EgressWay& m) {
  v.Enum("kind", m.kind, EgressWay::Kind::kIdentities);
  v.U16("port", m.port);
}

void VisitFields(auto& v, OpenEgress& m) {
  v.List("ways", m.ways, kMaxEgressWays);
  v.Bool("files", m.files);
}

void VisitFields(auto& v, Identity& m) {
  v.U64("socket", m.socket);
  v.Text("program", m.program, kMaxPath);
  v.Texts("ancestors", m.ancestors, kMaxAncestors, kMaxPath);
  v.Text("destination", m.destination, kMaxComm * 8);
}

void VisitFields(auto& v, SlotReady& m) { v.U64("slot", m.slot); }

void VisitFields(auto& v, SlotGone& m) { v.U64("slot", m.slot); }

void VisitFields(auto& v, CellError& m) {
  v.Result("status", m.status);
  v.Bool("of_tools", m.of_tools);
}

void VisitFields(auto& v, ExecSpec& m) {
  v.Texts("argv", m.argv, kMaxArgv, kMaxExecBytes);
  v.Texts("env", m.env, kMaxArgv, kMaxExecBytes);
  v.Text("cwd", m.cwd, kMaxPath);
  for (const ExecLimit& limit : kExecLimits) v.U64("limit", m.*limit.member);
  v.Bool("terminal", m.terminal);
  v.U16("rows", m.rows);
  v.U16("columns", m.columns);
  v.U64("run", m.run);
  v.U16("port", m.port);
}

void VisitFields(auto& v, ExecError& m) {
  v.Enum("step", m.step, ExecStep::kExec);
  v.Result("status", m.status);
}

void VisitFields(auto& v, SignalSlot& m) {
  v.I32("signal", m.signal);
  v.Bool("everyone", m.everyone);
}

void VisitFields(auto& v, RefusedCall& m) {
  v.U32("number", m.number);
  for (uint32_t& argument : m.arguments) v.U32("argument", argument);
  v.U64("count", m.count);
  v.U32("pid", m.pid);
  v.Text("comm", m.comm, kMaxComm);
  v.Text("destination", m.destination, kMaxDestinationBytes);
}

void VisitFields(auto& v, ExecExited& m) {
  v.I32("wait_status", m.wait_status);
  v.U64("user_usec", m.user_usec);
  v.U64("system_usec", m.system_usec);
  v.U64("max_rss_bytes", m.max_rss_bytes);
  v.U32("pid", m.pid);
  v.List("refused", m.refused, kMaxRefusedCalls + kMaxRefusedNames);
  v.U64("refused_more", m.refused_more);
  v.Texts("full", m.full, std::size(kBoundedPlaces), kMaxPath);
  v.Texts("left", m.left, kMaxLeftProcesses, kMaxComm);
}

// What the fields of a message are to each other, beyond their own bounds.
template <typename M>
Status Check(const M&) {
  return OkStatus();
}
Status Check(const Configure& m);
Status Check(const ExecSpec& m);
Status Malformed(MessageType type, const char* what);

template <typename M>
std::string Encode(const M& message) {
  return EncodeEmpty(TypeOf(message)) + EncodeFields(message);
}

// INVALID_ARGUMENT for another message, a field beyond its bounds, or bytes that follow.
template <typename M>
Status Decode(std::string_view bytes, M* message) {
  ODY_ASSIGN_OR_RETURN(const MessageType type, TypeOf(bytes));
  if (type != TypeOf(*message)) return Malformed(type, "of another type");
  Reader in(bytes.substr(EncodeEmpty(type).size()));
  GetFields get(&in);
  VisitFields(get, *message);
  return in.Done() ? Check(*message) : Malformed(type, "malformed");
}

}  // namespace odyssey::cell

#endif  // ODYSSEY_SUPERVISOR_WIRE_CELL_WIRE_H_
