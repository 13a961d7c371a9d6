#ifndef ODYSSEY_POLICY_MODEL_POLICY_KEYS_H_
#define ODYSSEY_POLICY_MODEL_POLICY_KEYS_H_

// The table of policy keys. Readers of every dialect, the conversion to the proto message, defaults
// and bounds, the digest, the lattice, the ceiling, explanations, the options of `exec` and
// docs/policy/keys.md iterate it. A new limit is a row here, a member of Limits, a field of
// policy.proto, and what enforces it.

#include <cstdint>
#include <iterator>
#include <string_view>

#include "policy/model/limit_bounds.h"
#include "policy/model/policy_key.h"
#include "policy/model/request.h"

namespace odyssey::policy {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kMaxSeconds = uint64_t{7} * 24 * 3600;  // more is a mistake, not a wish
// The most that the ceiling's format can say; no request is bound by so much.
inline constexpr uint64_t kMaxCeilingMb = uint64_t{1} << 40;
inline constexpr uint64_t kMaxCeilingWord = UINT32_MAX;

inline constexpr LimitKey kLimitKeys[] = {
    {.name = "memory_bytes",
     .member = MemberOf<&Limits::memory_bytes>("bytes"),
     .fallback = uint64_t{2} << 30,
     .zero = kNone,
     .least = kMinMemoryBytes,
     .most = kMaxMemoryBytes,
     .scope = Scope::kGroup,
     .order = Order::kLessIsNarrower,
     .enforcer = {"cgroup", "memory.max"},
     .manifest = {"memory_mb", kMiB, kMinMemoryBytes / kMiB, kMaxMemoryBytes / kMiB, 512},
     .foreign = {.llm_do = kNone,
                 .odek = {"sandbox_memory", Format::kSize,
                          "a size such as `512m` or `2g`, from `16m` to `16t`"},
                 .openshell = kNone},
     .ceiling = {"memory_mb", kMiB, 1, kMaxCeilingMb},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {"memory", Format::kSize, "SIZE", "of the whole cell, such as 512m"},
     .help = "memory of the whole cell, files in memory included"},
    {.name = "cpu_millis",
     .member = MemberOf<&Limits::cpu_millis>("thousandths of a core"),
     .fallback = 2000,
     .zero = kNone,
     .least = kMinCpuMillis,
     .most = kMaxCpuMillis,
     .scope = Scope::kGroup,
     .order = Order::kLessIsNarrower,
     .enforcer = {"cgroup", "cpu.max"},
     .manifest = {"cpu", 1000, 1, kMaxCpuMillis / 1000, 1},
     .foreign = {.llm_do = kNone,
                 .odek = {"sandbox_cpus", Format::kCores,
                          "a number of cores such as `0.5` or `2`, from `0.01` to `1024`"},
                 .openshell = kNone},
     .ceiling = {"cpu_millis", 1, 1, kMaxCeilingWord},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {"cpus", Format::kCores, "N", "cores, such as 1.5"},
     .help = "processor time of the whole cell"},
    {.name = "pids",
     .member = MemberOf<&Limits::pids>("processes and threads"),
     .fallback = 512,
     .zero = kNone,
     .least = kMinPids,
     .most = kMaxPids,
     .scope = Scope::kGroup,
     .order = Order::kLessIsNarrower,
     .enforcer = {"cgroup", "pids.max"},
     .manifest = {"pids", 1, kMinPids, kMaxPids},
     .foreign = {.llm_do = kNone, .odek = {kNone}, .openshell = kNone},
     .ceiling = {"pids", 1, 1, kMaxCeilingWord},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {"pids", Format::kWhole, "N", "processes and threads of the whole cell"},
     .help = "processes and threads of the whole cell"},
    {.name = "wall_clock_ms",
     .member = MemberOf<&Limits::wall_clock_ms>("milliseconds"),
     .fallback = 0,  // tools always set one
     .zero = "unlimited",
     .least = 1,
     .most = UINT32_MAX,
     .scope = Scope::kCommand,
     .order = Order::kLessIsNarrower,
     .enforcer = {"policy", "a timer of rpc: SIGTERM, and SIGKILL 250 ms later"},
     .manifest = {"wall_clock_s", 1000, 1, kMaxSeconds},
     .foreign = {.llm_do = kNone, .odek = {kNone}, .openshell = kNone},
     .ceiling = {"wall_clock_s", 1000, 1, kMaxCeilingWord / 1000},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {"timeout", Format::kDuration, "TIME", "then everything is killed, such as 60s",
                Carrier::kExecStart},
     .help = "time of one command"},
    {.name = "cpu_seconds",
     .member = MemberOf<&Limits::cpu_seconds>("seconds"),
     .fallback = 0,
     .zero = "unlimited",
     .least = 1,
     .most = UINT32_MAX,
     .scope = Scope::kCommand,
     .order = Order::kLessIsNarrower,
     .enforcer = {"rlimit", "RLIMIT_CPU"},
     .manifest = {"cpu_seconds", 1, 1, kMaxSeconds},
     .foreign = {.llm_do = kNone, .odek = {kNone}, .openshell = kNone},
     .ceiling = {"cpu_seconds", 1, 1, kMaxCeilingWord},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {kNone},
     .help = "processor time of one process"},
    {.name = "open_files",
     .member = MemberOf<&Limits::open_files>("files"),
     .fallback = 1024,
     .zero = kNone,
     .least = kMinOpenFiles,
     .most = kMaxOpenFiles,
     .scope = Scope::kCommand,
     .order = Order::kLessIsNarrower,
     .enforcer = {"rlimit", "RLIMIT_NOFILE"},
     .manifest = {"open_files", 1, kMinOpenFiles, kMaxOpenFiles},
     .foreign = {.llm_do = kNone, .odek = {kNone}, .openshell = kNone},
     .ceiling = {"open_files", 1, 1, kMaxCeilingWord},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {kNone},
     .help = "open files of one process"},
    {.name = "tmp_bytes",
     .member = MemberOf<&Limits::tmp_bytes>("bytes"),
     .fallback = uint64_t{512} << 20,
     .zero = kNone,
     .least = kMinTmpBytes,
     .most = kMaxTmpBytes,
     .scope = Scope::kTmpfs,
     .order = Order::kLessIsNarrower,
     .enforcer = {"mount", "the size of a tmpfs"},
     .manifest = {"tmp_mb", kMiB, 1, kMaxTmpBytes / kMiB},
     .foreign = {.llm_do = kNone, .odek = {kNone}, .openshell = kNone},
     .ceiling = {"tmp_mb", kMiB, 1, kMaxCeilingMb},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {kNone},
     .help = "size of /tmp, and of each in-memory directory of an ephemeral cell"},
    {.name = "disk_bytes",
     .member = MemberOf<&Limits::disk_bytes>("bytes"),
     .fallback = 0,
     .zero = "unlimited",
     .least = kMinDiskBytes,
     .most = kMaxDiskBytes,
     .scope = Scope::kDisk,
     .order = Order::kLessIsNarrower,
     .enforcer = {"mount", "a file system of the cell's own"},
     .manifest = {"disk_mb", kMiB, kMinDiskBytes / kMiB, kMaxDiskBytes / kMiB},
     .foreign = {.llm_do = kNone, .odek = {kNone}, .openshell = kNone},
     .ceiling = {"disk_mb", kMiB, 1, kMaxCeilingMb},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {kNone},
     .help = "the cell's own directories on disk together; none of an ephemeral cell"},
    {.name = "file_bytes",
     .member = MemberOf<&Limits::file_bytes>("bytes"),
     .fallback = 0,
     .zero = "unlimited",
     .least = kMiB,
     .most = kMaxDiskBytes,
     .scope = Scope::kCommand,
     .order = Order::kLessIsNarrower,
     .enforcer = {"rlimit", "RLIMIT_FSIZE"},
     .manifest = {"file_mb", kMiB, 1, kMaxDiskBytes / kMiB},
     .foreign = {.llm_do = kNone, .odek = {kNone}, .openshell = kNone},
     .ceiling = {"file_mb", kMiB, 1, kMaxCeilingMb},
     .ceiling_rule = CeilingRule::kAtMost,
     .option = {"file-size", Format::kSize, "SIZE", "of any file that it writes, such as 1g"},
     .help = "size of any file that a command writes, in directories of the host too"},
};
inline constexpr size_t kLimitCount = std::size(kLimitKeys);

// The row of a field that is known when this is compiled: a wrong name is read beyond the table,
// which does not compile.
consteval size_t LimitIndex(std::string_view name) {
  size_t index = 0;
  while (kLimitKeys[index].name != name) ++index;
  return index;
}

consteval const LimitKey& LimitNamed(std::string_view name) { return kLimitKeys[LimitIndex(name)]; }

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_POLICY_KEYS_H_
