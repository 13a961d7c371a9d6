#include "supervisor/cell_init/identity.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/os/file.h"
#include "supervisor/cell_init/kernel_table.h"
#include "supervisor/cell_init/seccomp_notify.h"

namespace odyssey::cell_init {
namespace {

constexpr size_t kMaxStat = 4096;
constexpr std::string_view kSocketLink = "socket:[";

std::string LinkOf(const std::string& path) {
  char target[cell::kMaxPath + 1];
  const ssize_t size = readlink(path.c_str(), target, sizeof(target));
  return size < 0 || size > ssize_t{cell::kMaxPath} ? "" : std::string(target, size);
}

// 0: none in the slot.
uint32_t ParentOf(uint32_t pid) {
  const auto stat = ReadFile("/proc/" + std::to_string(pid) + "/stat", kMaxStat);
  if (!stat.ok()) return 0;
  const auto words = WordsOf(std::string_view(*stat).substr(stat->rfind(')') + 1));
  return words.size() < 2 ? 0 : NumberIn(words[1]);
}

}  // namespace

cell::Identity IdentityOf(const seccomp_notif& call) {
  cell::Identity out;
  const std::string link = LinkOf(ProcOf(call, "fd/" + std::to_string(Arg32(call.data, 0))));
  if (link.rfind(kSocketLink, 0) != 0) return out;
  out.socket = strtoull(link.c_str() + kSocketLink.size(), nullptr, 10);
  out.program = LinkOf(ProcOf(call, "exe"));
  // 1 is the slot's own.
  for (uint32_t pid = ParentOf(call.pid); pid > 1; pid = ParentOf(pid)) {
    if (out.ancestors.size() == cell::kMaxAncestors) break;
    out.ancestors.push_back(LinkOf("/proc/" + std::to_string(pid) + "/exe"));
  }
  return out;
}

}  // namespace odyssey::cell_init
