#include "policy/compile/visible_limits.h"

#include <algorithm>
#include <string>

namespace odyssey::compile {
namespace {

using plan::Entry;
using plan::EntryKind;

constexpr uint32_t kMillis = 1000;
constexpr uint64_t kKib = 1024;

// sysconf(_SC_NPROCESSORS_ONLN). Not `possible`: programs index arrays of that size by the number
// of the processor that they run on, which is the machine's.
constexpr char kOnline[] = "/sys/devices/system/cpu/online";

// Programs that know neither the control group nor kOnline, but a variable for the number that they
// start with: nproc and OpenMP, Go before 1.25, Python from 3.13 on, pytest -n auto.
constexpr const char* kCounts[] = {"OMP_NUM_THREADS", "GOMAXPROCS", "PYTHON_CPU_COUNT",
                                   "PYTEST_XDIST_AUTO_NUM_WORKERS"};

// Of proc_meminfo(5), what programs read. In use is what memory.current of the control group says:
// this file is made once.
constexpr const char* kZeroes[] = {"Buffers",   "Cached",   "SwapCached", "Active",      "Inactive",
                                   "SwapTotal", "SwapFree", "Dirty",      "AnonPages",   "Mapped",
                                   "Shmem",     "Slab",     "Writeback",  "SReclaimable"};

std::string MemoryInformation(uint64_t bytes) {
  const auto line = [](std::string name, uint64_t kib) {
    const std::string number = std::to_string(kib);
    name += ":";
    name.resize(std::max<size_t>(name.size() + 1, 24 - std::min<size_t>(number.size(), 8)), ' ');
    return name + number + " kB\n";
  };
  std::string text;
  for (const char* name : {"MemTotal", "MemFree", "MemAvailable"}) text += line(name, bytes / kKib);
  for (const char* name : kZeroes) text += line(name, 0);
  return text;
}

uint64_t VisibleMemory(const policy::Limits& limits, const HostFacts& facts) {
  const uint64_t most = facts.memory_bytes == 0 ? limits.memory_bytes : facts.memory_bytes;
  return std::min(limits.memory_bytes, most);
}

}  // namespace

uint32_t VisibleProcessors(const policy::Limits& limits, const HostFacts& facts) {
  const uint32_t whole = limits.cpu_millis / kMillis + (limits.cpu_millis % kMillis != 0 ? 1 : 0);
  return facts.processors == 0 ? whole : std::min(whole, facts.processors);
}

void AddVisibleLimits(const HostFacts& facts, Compiled* out) {
  const uint32_t processors = VisibleProcessors(out->limits, facts);
  const uint64_t memory = VisibleMemory(out->limits, facts);
  const auto add = [&](EntryKind kind, const std::string& target, const std::string& source = "") {
    out->plan.entries.push_back({.kind = kind, .target = target, .source = source});
  };
  add(EntryKind::kDirectory, cell::kControlGroups);
  for (const SystemEntry& hierarchy : facts.control_groups) {
    const bool link = !hierarchy.link_target.empty();
    add(link ? EntryKind::kSymlink : EntryKind::kDirectory, hierarchy.path, hierarchy.link_target);
  }
  const std::string last = std::to_string(processors - 1);
  add(EntryKind::kFile, kOnline, processors == 1 ? "0\n" : "0-" + last + "\n");
  add(EntryKind::kFile, std::string(cell::kOwnProc) + "/meminfo", MemoryInformation(memory));
  for (const char* name : kCounts) {
    out->base_env.push_back(std::string(name) + "=" + std::to_string(processors));
  }
  out->explanation.push_back("programs see " + std::to_string(processors) + " processors and " +
                             std::to_string(memory) + " bytes of memory: " + cell::kControlGroups +
                             ", " + kOnline + ", /proc/meminfo, variables");
}

}  // namespace odyssey::compile
