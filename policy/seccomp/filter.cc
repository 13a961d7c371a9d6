#include "policy/seccomp/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include <seccomp.h>

#include "common/os/unique_fd.h"
#include "policy/seccomp/rules.h"

#ifndef __x86_64__
#error "the system call tables are written for x86-64"
#endif

namespace odyssey::seccomp {
namespace {

// Numbers of the x32 ABI carry this bit.
constexpr uint32_t kX32Bit = 0x40000000;
constexpr uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM;

struct ReleaseContext {
  void operator()(void* context) const { seccomp_release(context); }
};
using Context = std::unique_ptr<void, ReleaseContext>;

Status Failure(const std::string& what, int result) { return ErrnoStatus(-result, what); }

Result<int> Resolve(const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number < 0) return Internal(std::string("resolve system call ") + name + ": unknown");
  return number;
}

Status AddNumber(const Context& context, uint32_t action, int number, const char* name) {
  const int result = seccomp_rule_add_array(context.get(), action, number, 0, nullptr);
  return result == 0 ? OkStatus() : Failure(std::string("add rule for ") + name, result);
}

Status AddName(const Context& context, uint32_t action, const char* name) {
  ODY_ASSIGN_OR_RETURN(const int number, Resolve(name));
  return AddNumber(context, action, number, name);
}

Status AddGroups(const Context& context, uint32_t action, const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    for (const char* name : group.names) ODY_RETURN_IF_ERROR(AddName(context, action, name));
  }
  return OkStatus();
}

Status AddNumbered(const Context& context, uint32_t action,
                   const std::vector<NumberedCall>& calls) {
  for (const NumberedCall& call : calls) {
    ODY_RETURN_IF_ERROR(AddNumber(context, action, call.number, call.name));
  }
  return OkStatus();
}

Status AddArguments(const Context& context, uint32_t action,
                    const std::vector<ArgumentRule>& rules) {
  for (const ArgumentRule& rule : rules) {
    ODY_ASSIGN_OR_RETURN(const int number, Resolve(rule.name));
    const int result = seccomp_rule_add_array(context.get(), action, number,
                                              static_cast<unsigned>(rule.conditions.size()),
                                              rule.conditions.data());
    if (result != 0) return Failure(std::string("add argument rule for ") + rule.name, result);
  }
  return OkStatus();
}

bool NotifiesOfConnects(FilterKind kind) {
  return kind == FilterKind::kNotifyingOfConnects || kind == FilterKind::kBuild;
}

bool Notifies(FilterKind kind) {
  return kind == FilterKind::kNotifying || NotifiesOfConnects(kind);
}

Status AddRules(const Context& context, FilterKind kind) {
  switch (kind) {
    case FilterKind::kCommand:
    case FilterKind::kNotifying:
    case FilterKind::kNotifyingOfConnects:
    case FilterKind::kBuild:
      ODY_RETURN_IF_ERROR(AddGroups(context, SCMP_ACT_ALLOW, AllowedCalls()));
      ODY_RETURN_IF_ERROR(AddNumbered(context, SCMP_ACT_ALLOW, AllowedNewCalls()));
      ODY_RETURN_IF_ERROR(AddArguments(context, SCMP_ACT_ALLOW, AllowedWithArguments()));
      if (kind == FilterKind::kBuild) {
        ODY_RETURN_IF_ERROR(AddGroups(context, SCMP_ACT_ALLOW, AllowedToBuilds()));
      }
      if (kind == FilterKind::kCommand) {
        ODY_RETURN_IF_ERROR(AddArguments(context, SCMP_ACT_ALLOW, AllowedUnlessNotified()));
      }
      ODY_RETURN_IF_ERROR(AddArguments(context, SCMP_ACT_ALLOW,
                                       NotifiesOfConnects(kind)
                                           ? std::vector<ArgumentRule>{SendWithoutAddress()}
                                           : ConnectingCalls()));
      return AddGroups(context, SCMP_ACT_ERRNO(ENOSYS), SaidToBeUnknown());
    case FilterKind::kInit:
      return AddGroups(context, SCMP_ACT_ERRNO(EPERM), DeniedToInit());
  }
  return Internal("build filter: unknown kind");
}

Result<Context> MakeContext(FilterKind kind) {
  Context context(seccomp_init(kind == FilterKind::kInit ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM)));
  if (context == nullptr) return Internal("seccomp_init: failed");
  int result = seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (result != 0) return Failure("set the action for foreign architectures", result);
  // A binary tree by number: the kernel runs a new filter once for every system call, to learn
  // which ones it always allows, so depth is what a filter costs at each exec.
  result = seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (result != 0) return Failure("set the filter's optimisation", result);
  return context;
}

Result<std::string> Export(const Context& context) {
  const UniqueFd file(memfd_create("filter", MFD_CLOEXEC));
  if (!file) return ErrnoStatus(errno, "memfd_create filter");
  const int result = seccomp_export_bpf(context.get(), file.get());
  if (result != 0) return Failure("export filter", result);

  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "fstat filter");
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  if (pread(file.get(), bytes.data(), bytes.size(), 0) != info.st_size) {
    return Internal("read filter: cut off");
  }
  return bytes;
}

constexpr auto Offset(unsigned argument) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(uint64_t));
}

using Instructions = std::vector<sock_filter>;

constexpr sock_filter LoadNumber() {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
}

// Little-endian: the low half of an argument comes first.
constexpr sock_filter LoadLow(unsigned argument) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, Offset(argument));
}

constexpr sock_filter LoadHigh(unsigned argument) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, Offset(argument) + uint32_t{sizeof(uint32_t)});
}

constexpr sock_filter Unless(uint32_t value, size_t skip) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<uint8_t>(skip));
}

constexpr sock_filter Answer(int error) {
  return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error));
}

// `test` for one call. Before and after it the number is loaded, whichever way it is passed.
Instructions OfCall(int number, const Instructions& test) {
  Instructions program = {Unless(static_cast<uint32_t>(number), test.size() + 1)};
  program.insert(program.end(), test.begin(), test.end());
  program.push_back(LoadNumber());
  return program;
}

Instructions Refuse(const RefusedValues& refused) {
  Instructions test = {LoadLow(refused.argument)};
  for (const uint32_t value : refused.values) {
    test.push_back(Unless(value, 1));
    test.push_back(Answer(refused.error));
  }
  for (const RefusedValues::Condition& condition : refused.where) {
    test.insert(test.begin(), {LoadLow(condition.argument), Unless(condition.value, test.size())});
  }
  return OfCall(refused.number, test);
}

// prlimit64 that sets RLIMIT_CORE: a new limit is given if either half of the pointer is not 0.
Instructions RefuseNewCoreLimit() {
  return OfCall(__NR_prlimit64, {LoadLow(1), Unless(RLIMIT_CORE, 5), LoadLow(2),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2), LoadHigh(2),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), Answer(EPERM)});
}

// Instructions before libseccomp's own, for what it cannot say: an answer other than BADARCH for
// x32, and "all but these" of an argument's low half in an allow list. A foreign architecture falls
// through to libseccomp's check. Jumps in BPF are relative, so a prefix moves nothing.
std::string Prologue(FilterKind kind) {
  const uint32_t limit = kind == FilterKind::kInit ? kX32Bit : kFirstUnknownCall;

  Instructions refused;
  if (kind != FilterKind::kInit) {
    const auto add = [&refused](const Instructions& more) {
      refused.insert(refused.end(), more.begin(), more.end());
    };
    for (const RefusedValues& values : RefusedByValue()) add(Refuse(values));
    if (Notifies(kind)) {
      for (const RefusedValues& values : NotifiedByValue()) add(Refuse(values));
    }
    add(RefuseNewCoreLimit());
  }

  Instructions program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
                          Unless(AUDIT_ARCH_X86_64, 3 + refused.size()), LoadNumber(),
                          BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, limit, 0, 1), Answer(ENOSYS)};
  program.insert(program.end(), refused.begin(), refused.end());
  return std::string(reinterpret_cast<const char*>(program.data()),
                     program.size() * sizeof(sock_filter));
}

// The same program that asks a listener where it would have said EPERM. libseccomp has no such
// default action.
void AskListener(std::string* program) {
  sock_filter instruction;
  for (size_t at = 0; at < program->size(); at += sizeof(instruction)) {
    std::memcpy(&instruction, &(*program)[at], sizeof(instruction));
    if (instruction.code != (BPF_RET | BPF_K) || instruction.k != kDenied) continue;
    instruction.k = SECCOMP_RET_USER_NOTIF;
    std::memcpy(&(*program)[at], &instruction, sizeof(instruction));
  }
}

}  // namespace

Result<std::string> BuildFilter(const FilterSpec& spec) {
  ODY_ASSIGN_OR_RETURN(const Context context, MakeContext(spec.kind));
  ODY_RETURN_IF_ERROR(AddRules(context, spec.kind));
  ODY_ASSIGN_OR_RETURN(const std::string rules, Export(context));

  std::string program = Prologue(spec.kind) + rules;
  if (Notifies(spec.kind)) AskListener(&program);
  if (program.size() > BPF_MAXINSNS * sizeof(sock_filter)) {
    return Internal("build filter: more instructions than the kernel takes");
  }
  return program;
}

}  // namespace odyssey::seccomp
