#ifndef ODYSSEY_POLICY_MODEL_LIMIT_BOUNDS_H_
#define ODYSSEY_POLICY_MODEL_LIMIT_BOUNDS_H_

// What a limit may be for any uid: nothing too small to run a shell, and nothing that no
// cell can have. Read by the dialects, the compiler and the options of commands.

#include <cstdint>

namespace odyssey::policy {

// A shell, its pipeline and the C library's buffers fit; with less, programs fail without a clear
// error.
inline constexpr uint64_t kMinMemoryBytes = uint64_t{16} << 20;
// More than any machine has.
inline constexpr uint64_t kMaxMemoryBytes = uint64_t{16} << 40;
// cell-init, a slot's own pid 1, a shell, and a pipeline of four.
inline constexpr uint32_t kMinPids = 8;
inline constexpr uint32_t kMaxPids = 32'768;  // root's own bound: plan::kMaxPids
// The kernel's smallest quota is 1 ms in a period of 100 ms.
inline constexpr uint32_t kMinCpuMillis = 10;
inline constexpr uint32_t kMaxCpuMillis = 1'024'000;
inline constexpr uint32_t kMinOpenFiles = 16;
inline constexpr uint32_t kMaxOpenFiles = 1'048'576;  // fs.nr_open
inline constexpr uint64_t kMinTmpBytes = uint64_t{64} << 10;
inline constexpr uint64_t kMaxTmpBytes = kMaxMemoryBytes;
// A file system with a journal, and room for a program's caches.
inline constexpr uint64_t kMinDiskBytes = uint64_t{16} << 20;
// As its image is one file of the host: ext4's largest has 16 TiB but a block.
inline constexpr uint64_t kMaxDiskBytes = uint64_t{8} << 40;

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_LIMIT_BOUNDS_H_
