#ifndef ODYSSEY_POLICY_PLAN_CELL_WIRE_H_
#define ODYSSEY_POLICY_PLAN_CELL_WIRE_H_

// What odyssey-supervisor-rpc and the processes of a cell say to each other, one SOCK_SEQPACKET
// message each (common/os/message_socket.h). rpc trusts nothing that comes out of a cell; the cell
// trusts rpc, except that the seccomp filters are cell-init's own.
//
//   cell socket      rpc → cell-init: Configure, then WantSlot and WantTools; each SlotGone
//                    again when no command of the cell lives (ADR 0032)
//                    cell-init → rpc: Hello, Unmapped, SlotReady + 2 fds,
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
  uint64_t run = 0;  // made unless it is there; 0 = none
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
  friend bool operator==(const ExecExited&, const ExecExited&) = default;
};

// The type of an encoded message; INVALID_ARGUMENT if it is none.
Result<MessageType> TypeOf(std::string_view bytes);

std::string Encode(const Hello& m);
std::string Encode(const Unmapped& m);
std::string Encode(const Configure& m);
std::string Encode(const SlotReady& m);
std::string Encode(const SlotGone& m);
std::string Encode(const CellError& m);
std::string Encode(const ExecSpec& m);
std::string Encode(const ExecError& m);
std::string Encode(const SignalSlot& m);
std::string Encode(const ExecExited& m);
// WantSlot, WantTools, ToolsReady, TerminalReady, KillSlot carry nothing.
std::string EncodeEmpty(MessageType type);

Status Decode(std::string_view bytes, Hello* m);
Status Decode(std::string_view bytes, Unmapped* m);
Status Decode(std::string_view bytes, Configure* m);
Status Decode(std::string_view bytes, SlotReady* m);
Status Decode(std::string_view bytes, SlotGone* m);
Status Decode(std::string_view bytes, CellError* m);
Status Decode(std::string_view bytes, ExecSpec* m);
Status Decode(std::string_view bytes, ExecError* m);
Status Decode(std::string_view bytes, SignalSlot* m);
Status Decode(std::string_view bytes, ExecExited* m);

}  // namespace odyssey::cell

#endif  // ODYSSEY_POLICY_PLAN_CELL_WIRE_H_
