#include "policy/plan/landlock_rights.h"

#include <errno.h>

namespace odyssey::landlock {
namespace {

// The first version: execute, write_file, read_file, read_dir, remove_dir, remove_file, make_char,
// make_dir, make_reg, make_sock, make_fifo, make_block, make_sym.
constexpr uint64_t kFirstFileRights = (1ULL << 13) - 1;

// Debian 12's headers stop at refer; the rest is from landlock(7).
constexpr RightInfo kRights[] = {
    {Right::kRefer, "refer", 2, "5.19", 1ULL << 13, 0,
     "nothing can be moved or linked from one directory to another"},
    {Right::kTruncate, "truncate", 3, "6.2", 1ULL << 14, 0,
     "no rule keeps a file that may only be read from being truncated"},
    {Right::kIoctlDevice, "ioctl_dev", 5, "6.10", 1ULL << 15, 0,
     "no rule keeps a device from being controlled; a cell sees none but its own terminals and "
     "null, zero, full, random and urandom"},
    {Right::kScopeAbstractSocket, "scope_abstract_socket", 6, "6.12", 0, 1ULL << 0,
     "abstract sockets of the host can be connected to, unless the network namespace keeps them "
     "apart"},
    {Right::kScopeSignal, "scope_signal", 6, "6.12", 0, 1ULL << 1,
     "only the pid namespace keeps processes from being signalled"},
};

}  // namespace

Support SupportFrom(long result, int error) {
  if (result > 0) return {Probe::kInForce, static_cast<uint32_t>(result)};
  return {error == EOPNOTSUPP ? Probe::kSwitchedOff : Probe::kNotBuilt, 0};
}

std::string DescribeSupport(const Support& support) {
  switch (support.probe) {
    case Probe::kInForce:
      return "ABI " + std::to_string(support.abi);
    case Probe::kNotBuilt:
      return "this kernel has no Landlock: Linux 5.13 with CONFIG_SECURITY_LANDLOCK has";
    case Probe::kSwitchedOff:
      return "this kernel has Landlock but was booted without it: add landlock to lsm=";
  }
  return "";
}

std::span<const RightInfo> Rights() { return kRights; }

std::string NameWithAbi(const RightInfo& info) {
  return std::string(info.name) + " (Landlock ABI " + std::to_string(info.abi) + ", Linux " +
         info.kernel + ")";
}

uint64_t HandledFileRights(uint32_t abi) {
  uint64_t rights = abi > 0 ? kFirstFileRights : 0;
  for (const RightInfo& info : kRights) {
    if (info.abi <= abi) rights |= info.file_bit;
  }
  return rights;
}

uint64_t HandledScopes(uint32_t abi, bool own_network) {
  uint64_t scopes = 0;
  for (const RightInfo& info : kRights) {
    if (own_network && info.right == Right::kScopeAbstractSocket) continue;
    if (info.abi <= abi) scopes |= info.scope_bit;
  }
  return scopes;
}

}  // namespace odyssey::landlock
