#include "policy/explain/denial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sched.h>
#include <sys/syscall.h>

#include <map>

#include "policy/seccomp/filter.h"
#include "tests/testing/bpf_evaluator.h"
#include "tests/testing/hand_made_plan.h"

namespace odyssey::explain {
namespace {

using plan::EntryKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DenialTest : public ::testing::Test {
 protected:
  DenialTest() {
    compiled_.limits = policy::kDefaultLimits;
    compiled_.limits.tmp_bytes = uint64_t{64} << 20;
    compiled_.plan.entries = {
        testing::SystemTree(),
        {.kind = EntryKind::kTmpfs, .target = "/tmp", .access = plan::Access::kReadWrite},
        {.kind = EntryKind::kCellTree, .target = "/workspace", .access = plan::Access::kReadWrite},
        testing::HostTree("/data", "/srv/data"),
    };
    compiled_.confinement.rules = testing::RulesWriting({"/tmp", "/workspace"});
  }

  Cell cell() { return {request_, compiled_}; }
  std::vector<Denial> Judge(const std::string& text, const std::string& cwd = "/workspace") {
    return JudgeComplaints(cell(), cwd, ParseComplaints(text));
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
};

TEST_F(DenialTest, WriteBelowAReadOnlyMount) {
  EXPECT_THAT(Judge("touch: cannot touch '/data/x': Read-only file system"),
              ElementsAre(Denial{"path", "/data/x", "write", "mount /data read_only",
                                 "sandbox.permissions.filesystem.mounts.write: [\"/srv/data\"]",
                                 "touch", "command"}));
}

TEST_F(DenialTest, RelativePathIsTakenFromTheWorkingDirectory) {
  const auto denials = Judge("tee: x: Read-only file system", "/data/sub");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].resource, "/data/sub/x");
}

TEST_F(DenialTest, ExecutionOnNoexec) {
  EXPECT_THAT(Judge("sh: 1: ./x: Permission denied"),
              ElementsAre(Denial{"exec", "/workspace/x", "execute", "mount /workspace noexec",
                                 "sandbox.system_tools_mode: \"all\"", "sh", "command"}));
}

// Who owns a file, or which signal may be sent, is no matter of the policy's.
TEST_F(DenialTest, WhatMayHaveAnotherCauseThanExecutionIsNotTakenForIt) {
  EXPECT_THAT(Judge("bash: line 1: f: Permission denied\n"
                    "bash: line 1: kill: (1) - Operation not permitted\n"
                    "sh: 1: cannot open f: Permission denied"),
              IsEmpty());
  EXPECT_THAT(Judge("bash: line 1: x: Permission denied", "/data"), SizeIs(1));
}

TEST_F(DenialTest, NetworkNone) {
  EXPECT_THAT(Judge("curl: (6) Could not resolve host: example.com"),
              ElementsAre(Denial{"socket", "example.com", "connect", "network none",
                                 "sandbox.permissions.network: [\"*\"]", "curl", "command"}));
}

TEST_F(DenialTest, NetworkFullRefusesNothing) {
  compiled_.plan.network = plan::Network::kFull;
  EXPECT_THAT(Judge("curl: (6) Could not resolve host: example.com"), IsEmpty());
}

TEST_F(DenialTest, OwnLoopbackIsNotRefused) {
  EXPECT_THAT(Judge("curl: (7) Failed to connect to localhost port 80 after 0 ms: Couldn't connect "
                    "to server\ncurl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: "
                    "Couldn't connect to server"),
              IsEmpty());
}

// A command's words count only as far as the plan agrees: what it allows was not refused by it.
TEST_F(DenialTest, WhatThePlanAllowsIsNoDenial) {
  EXPECT_THAT(Judge("touch: cannot touch '/tmp/x': Read-only file system\n"
                    "cat: /data/secret: Permission denied\n"
                    "sh: 1: /usr/bin/thing: Permission denied\n"
                    "sh: 1: cannot create /workspace/x: Permission denied\n"
                    "sh: 1: nmap: not found\n"),
              IsEmpty());
}

TEST_F(DenialTest, ReadingADeniedName) {
  compiled_.confinement.guards = {{.path = "/data", .deny = {"**/.env"}}};
  EXPECT_THAT(Judge("cat: /data/.env: Permission denied"),
              ElementsAre(Denial{"path", "/data/.env", "read", "policy deny **/.env",
                                 "sandbox.deny: without \"**/.env\"", "cat", "command"}));
}

// There is no cell then: what the host refuses is the host's.
TEST_F(DenialTest, NothingIsRefusedOnTheHostItself) {
  request_.mode = policy::Mode::kDangerFullAccess;
  compiled_.plan.entries.clear();
  EXPECT_THAT(Judge("touch: cannot touch '/usr/x': Permission denied\n"
                    "unshare: unshare failed: Operation not permitted\n"
                    "sh: 1: ./x: Permission denied\n"
                    "curl: (6) Could not resolve host: example.com\n"),
              IsEmpty());
}

TEST_F(DenialTest, UnlistedToolOfExplicitMode) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  EXPECT_THAT(Judge("sh: 1: nmap: not found"),
              ElementsAre(Denial{"exec", "nmap", "execute", "policy system_tools_mode explicit",
                                 "sandbox.system_tools: [\"nmap\"]", "sh", "command"}));
}

TEST_F(DenialTest, Limits) {
  const auto denials = Judge(
      "sh: 1: Cannot fork\nOSError: [Errno 24] Too many open files\n"
      "dd: error writing '/tmp/x': No space left on device\n"
      "dd: error writing '/data/x': No space left on device\n");
  ASSERT_THAT(denials, SizeIs(3));
  EXPECT_EQ(denials[0].rule, "cgroup pids 512");
  EXPECT_EQ(denials[1].rule, "rlimit open_files 1024");
  EXPECT_EQ(denials[2].rule, "mount tmp_bytes 67108864");
  EXPECT_EQ(denials[2].grant, "sandbox.resources.tmp_mb: 128");
  for (const Denial& denial : denials) EXPECT_EQ(denial.kind, "limit");
}

TEST_F(DenialTest, SystemCallByTheNameOfItsProgram) {
  EXPECT_THAT(
      Judge("unshare: unshare failed: Operation not permitted"),
      ElementsAre(Denial{"syscall", "unshare", "call", "seccomp", "", "unshare", "command"}));
}

// The list is the filter's, not a guess.
TEST_F(DenialTest, RefusedCallsAreRefused) {
  const std::map<std::string_view, int> numbers = {{"unshare", SYS_unshare},
                                                   {"setns", SYS_setns},
                                                   {"mount", SYS_mount},
                                                   {"umount2", SYS_umount2},
                                                   {"chroot", SYS_chroot},
                                                   {"pivot_root", SYS_pivot_root},
                                                   {"keyctl", SYS_keyctl},
                                                   {"add_key", SYS_add_key},
                                                   {"bpf", SYS_bpf},
                                                   {"perf_event_open", SYS_perf_event_open},
                                                   {"io_uring_setup", SYS_io_uring_setup},
                                                   {"userfaultfd", SYS_userfaultfd},
                                                   {"open_by_handle_at", SYS_open_by_handle_at},
                                                   {"swapon", SYS_swapon},
                                                   {"swapoff", SYS_swapoff},
                                                   {"reboot", SYS_reboot},
                                                   {"init_module", SYS_init_module},
                                                   {"finit_module", SYS_finit_module},
                                                   {"kexec_load", SYS_kexec_load}};
  const auto program = testing::ToProgram(*seccomp::BuildFilter({seccomp::FilterKind::kCommand}));
  for (const RefusedCall& refused : RefusedCalls()) {
    ASSERT_EQ(numbers.count(refused.call), 1u) << refused.call;
    seccomp_data data{};
    data.nr = numbers.at(refused.call);
    data.arch = AUDIT_ARCH_X86_64;
    data.args[0] = CLONE_NEWUSER;  // of unshare; refused whatever the others are given
    const auto verdict = testing::Evaluate(program, data);
    ASSERT_TRUE(verdict.ok());
    EXPECT_NE(verdict->action, SECCOMP_RET_ALLOW) << refused.call;
  }
}

TEST_F(DenialTest, CommandThatMayNotBeExecuted) {
  EXPECT_EQ(ExecuteDenial(cell(), "/workspace", "./x", kFromKernel),
            (Denial{"exec", "/workspace/x", "execute", "mount /workspace noexec",
                    "sandbox.system_tools_mode: \"all\"", "", "kernel"}));
  EXPECT_EQ(ExecuteDenial(cell(), "/workspace", "/usr/share/doc/x", kFromKernel).rule,
            "mode: the file may not be executed");
}

TEST_F(DenialTest, RepetitionsAreOne) {
  EXPECT_THAT(Judge("a: /data/x: Read-only file system\nb: '/data/x': Read-only file system\n"),
              SizeIs(1));
}

TEST_F(DenialTest, LongResourceIsCut) {
  const std::string path = "/data/" + std::string(900, 'x');
  const auto denials = Judge("tee: " + path + ": Read-only file system");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].resource.size(), kMaxResource);
}

TEST_F(DenialTest, Description) {
  EXPECT_EQ(DescribeDenial({"path", "/usr/x", "write", "mount /usr read_only", "", "", "kernel"}),
            "write /usr/x (mount /usr read_only)");
  EXPECT_EQ(DescribeDenial({"socket", "", "connect", "network none", "a: [\"*\"]", "", "kernel"}),
            "connect (network none); to allow: a: [\"*\"]");
}

}  // namespace
}  // namespace odyssey::explain
