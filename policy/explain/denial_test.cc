#include "policy/explain/denial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sched.h>
#include <sys/syscall.h>

#include <map>

#include "policy/model/default_limits.h"
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
  // Of `sh -c script`, on a host that has ls and nmap.
  Command Shell(const std::string& script, const std::string& cwd = "/workspace") {
    return {{"sh", "-c", script}, cwd, [](const std::string& name) {
              return name == "ls" || name == "nmap" ? "/usr/bin/" + name : "";
            }};
  }
  std::vector<Denial> Judge(const std::string& text, const Command& command) {
    return JudgeComplaints(cell(), command, ParseComplaints(text));
  }
  std::vector<Denial> Judge(const std::string& text) { return Judge(text, Shell("true")); }
  // "access resource (rule) grant" of the only one; "" if there is none.
  std::string Only(const std::string& text, const Command& command) {
    const auto denials = Judge(text, command);
    EXPECT_LE(denials.size(), 1u);
    if (denials.empty()) return "";
    EXPECT_EQ(denials[0].source, "command");
    return denials[0].access + " " + denials[0].resource + " (" + denials[0].rule + ") " +
           denials[0].grant.text;
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
  const auto denials = Judge("tee: x: Read-only file system", Shell("tee x", "/data/sub"));
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
                    "sh: 1: /workspace/x: Operation not permitted\n"
                    "sh: 1: cannot open f: Permission denied"),
              IsEmpty());
  EXPECT_THAT(Judge("bash: line 1: x: Permission denied", {{"bash", "-c", ": >x"}, "/data", {}}),
              SizeIs(1));
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
  EXPECT_EQ(Only("touch: cannot touch 'x': Read-only file system", Shell("cd $D; touch x")), "");
  compiled_.plan.entries.clear();
  EXPECT_THAT(Judge("touch: cannot touch '/usr/x': Permission denied\n"
                    "unshare: unshare failed: Operation not permitted\n"
                    "sh: 1: ./x: Permission denied\n"
                    "curl: (6) Could not resolve host: example.com\n"),
              IsEmpty());
}

TEST_F(DenialTest, UnlistedToolOfExplicitMode) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  compiled_.plan.entries[0].executable = false;
  EXPECT_THAT(Judge("sh: 1: nmap: not found"),
              ElementsAre(Denial{"exec", "nmap", "execute", "policy system_tools_mode explicit",
                                 "sandbox.system_tools: [\"nmap\"]", "sh", "command"}));
  for (const char* words :
       {"sh: 1: ls: Permission denied", "script.sh: 12: ls: Permission denied",
        "/bin/sh: 1: ls: Permission denied", "env: 'ls': Permission denied",
        "timeout: failed to run command 'ls': Permission denied", "find: 'ls': Permission denied",
        "xargs: ls: Permission denied", "nice: 'ls': Permission denied",
        "nohup: failed to run command 'ls': Permission denied",
        "time: cannot run ls: Permission denied", "setsid: 'ls': Permission denied",
        "stdbuf: failed to run command 'ls': Permission denied", "make: ls: Permission denied",
        "Error: spawn ls EACCES", "PermissionError: [Errno 13] Permission denied: 'ls'"}) {
    EXPECT_EQ(Only(words, Shell("x")),
              "execute ls (policy system_tools_mode explicit) "
              "sandbox.system_tools: [\"ls\"]")
        << words;
  }
}

TEST_F(DenialTest, ProgramThatNobodyHasIsNotRefused) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  compiled_.plan.entries[0].executable = false;
  EXPECT_THAT(Judge("sh: 1: nosuch: not found\nbash: line 1: nosuch: command not found\n"
                    "sh: 1: nosuch: Permission denied\nenv: 'nosuch': Permission denied"),
              IsEmpty());
  compiled_.plan.entries[2].access = plan::Access::kReadOnly;
  EXPECT_THAT(Judge("sh: 1: nosuch: Permission denied"), IsEmpty()) << "not a file of the cwd's";
}

TEST_F(DenialTest, WhatIsNotCalledAsAProgramIsNone) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  compiled_.plan.entries[0].executable = false;
  const Command everything = {
      {"sh", "-c", "cd $D; x"}, "/workspace", [](auto& name) { return "/usr/bin/" + name; }};
  EXPECT_EQ(Only("cat: ls: Permission denied", everything), "") << "a file that it reads";
  EXPECT_EQ(Only("sh: 1: d/ls: not found", everything), "");
  request_.executables_mode = policy::ExecutablesMode::kStandard;
  EXPECT_EQ(Only("sh: 1: ls: not found", everything), "") << "no list has left it out";
}

TEST_F(DenialTest, ProgramThatThePolicyNamesIsNotRefused) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  EXPECT_THAT(Judge("sh: 1: ls: not found"), IsEmpty());
}

TEST_F(DenialTest, UnlistedToolInAReadOnlyWorkspaceIsNoFileOfIt) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  compiled_.plan.entries[0].executable = false;
  compiled_.plan.entries[2].access = plan::Access::kReadOnly;
  EXPECT_EQ(Only("sh: 1: ls: Permission denied", Shell("ls")),
            "execute ls (policy system_tools_mode explicit) sandbox.system_tools: [\"ls\"]");
}

// ── Relative names ──────────────────────────────────────────────────────────────────────────────

TEST_F(DenialTest, RelativeNameBeginsWhereTheScriptWentFirst) {
  compiled_.confinement.guards = {{.path = "/workspace", .deny = {"d/.env"}}};
  EXPECT_EQ(Only("cat: .env: Permission denied", Shell("cd d && cat .env")),
            "read /workspace/d/.env (policy deny d/.env) sandbox.deny: without \"d/.env\"");
  EXPECT_EQ(Only("sh: 1: ./t: Permission denied", Shell("cd /tmp/d && ./t")),
            "execute /tmp/d/t (mount /tmp noexec) sandbox.system_tools_mode: \"all\"");
}

TEST_F(DenialTest, NoOtherFileIsNamedWhereTheDirectoryIsNotKnown) {
  const std::string words = "touch: cannot touch 'x': Read-only file system";
  for (const char* script : {"cd $D && touch x", "cd d; touch x", "ls -C d; touch x", "./build"}) {
    EXPECT_EQ(Only(words, Shell(script, "/data")), "write x (mount read_only) ") << script;
  }
  EXPECT_EQ(Only("cat: x: Permission denied", Shell("cd $D && cat x")), "") << "perhaps its mode";
  EXPECT_EQ(Only("sh: 1: ./t: Permission denied", Shell("cd $D && ./t")),
            "execute ./t (mount noexec) ")
      << "the rule is the same for each, the grant is not";
  EXPECT_EQ(Only("mv: cannot move 'x' to '..': Read-only file system", Shell("cd $D && mv x ..")),
            "")
      << "not the one that it is hardly about";
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  EXPECT_EQ(Only("sh: 1: ./t: Permission denied", Shell("cd $D && ./t")),
            "execute ./t (mount noexec) ")
      << "each another";
  for (plan::Entry& entry : compiled_.plan.entries) entry.executable = true;
  compiled_.confinement.rules = {{"/", cell::kRead | cell::kWrite | cell::kExecute}};
  EXPECT_EQ(Only("sh: 1: ./t: Permission denied", Shell("cd $D && ./t")), "") << "by no tree";
}

TEST_F(DenialTest, NameThatIsDeniedEverywhereIsToldAsItWasSaid) {
  compiled_.confinement.guards = {{.path = "/workspace", .deny = {"a/.env", "*.pem", "**/.env"}}};
  const Command command = Shell("cd $D && cat .env ../x.pem");
  EXPECT_EQ(Only("cat: .env: Permission denied", command),
            "read .env (policy deny **/.env) sandbox.deny: without \"**/.env\"");
  EXPECT_EQ(Only("cat: d/../.env: Permission denied", command),
            "read d/../.env (policy deny **/.env) sandbox.deny: without \"**/.env\"");
  EXPECT_EQ(Only(std::string("cat: d\0/.env: Permission denied", 31), command), "") << "no name";
  EXPECT_EQ(Only("cat: ../x.pem: Permission denied", command), "") << "at the top only";
  compiled_.confinement.guards[0].deny = {"*.pem", "*/*/*/x.pem"};
  EXPECT_EQ(Only("cat: x.pem: Permission denied", command), "") << "at two depths of many";
}

TEST_F(DenialTest, NameThatIsKeptInOnePlaceIsThatOne) {
  compiled_.plan.entries[2] = testing::HostTree("/workspace", "/srv/p", plan::Access::kReadWrite);
  compiled_.plan.entries.push_back({.kind = EntryKind::kPart, .target = "/workspace/.git/hooks"});
  const Command command = Shell("cd $D && echo x > .git/hooks/x");
  EXPECT_EQ(Only("sh: 1: cannot create .git/hooks/x: Read-only file system", command),
            "write /workspace/.git/hooks/x (policy protection /workspace/.git/hooks read_only) "
            "sandbox.protection: \"none\"");
  EXPECT_EQ(Only("sh: 1: cannot create hooks/x: Read-only file system", command),
            "write hooks/x (mount read_only) ")
      << "a name that may be anywhere";
  compiled_.plan.entries.push_back({.kind = EntryKind::kPart, .target = "/workspace/d/.git/hooks"});
  EXPECT_EQ(Only("sh: 1: cannot create .git/hooks/x: Read-only file system", command),
            "write .git/hooks/x (policy protection) sandbox.protection: \"none\"");
}

TEST_F(DenialTest, NamesThatAreKeptByDifferentWordsNameNone) {
  compiled_.plan.entries[2] = testing::HostTree("/workspace", "/srv/p", plan::Access::kReadWrite);
  compiled_.plan.entries.push_back({.kind = EntryKind::kPart, .target = "/workspace/e/.envrc"});
  const std::string words = "sh: 1: cannot create .//.envrc: Read-only file system";
  EXPECT_EQ(Only(words, Shell("cd $D; x")),
            "write /workspace/e/.envrc (policy protection /workspace/e/.envrc read_only) "
            "sandbox.protection: \"none\"");
  compiled_.plan.entries.push_back({.kind = EntryKind::kPart, .target = "/workspace/.envrc"});
  request_.protect = {".envrc"};
  EXPECT_EQ(Only("sh: 1: cannot create .envrc: Read-only file system", Shell("cd $D; x")),
            "write .envrc (policy protection) ");
}

TEST_F(DenialTest, FullPlaceIsTheOneThatItsNameIsIn) {
  const std::string words = "dd: error writing 'x': No space left on device";
  EXPECT_EQ(Only(words, Shell("dd of=x")), "");
  EXPECT_EQ(Only(words, Shell("cd /tmp && dd of=x")).substr(0, 17), "exceed tmp_bytes ");
  EXPECT_EQ(Only(words, Shell("cd $D; dd of=x")).substr(0, 17), "exceed tmp_bytes ");
  const std::string of_stream = "head: error writing 'standard output': No space left on device";
  EXPECT_EQ(Only(of_stream, Shell("head x > /tmp/y")).substr(0, 17), "exceed tmp_bytes ");
  compiled_.limits.disk_bytes = 1;
  EXPECT_EQ(Only(words, Shell("cd $D; dd of=x")), "");
  EXPECT_EQ(Only(of_stream, Shell("head x > /tmp/y")), "") << "one of two";
}

TEST_F(DenialTest, WhatMayNotBeReadIsToldAsRead) {
  compiled_.confinement.guards = {{.path = "/data", .deny = {"**/.env"}}};
  EXPECT_EQ(Only("cat: /data/write/.env: Permission denied", Shell("x")).substr(0, 5), "read ");
  EXPECT_EQ(Only("bash: line 1: /data/.env: Permission denied", Shell("x")).substr(0, 5), "read ");
  EXPECT_EQ(Only("touch: cannot touch '/data/.env': Permission denied", Shell("x")).substr(0, 6),
            "write ");
}

TEST_F(DenialTest, ReadingAndWritingAreToldEach) {
  compiled_.confinement.guards = {{.path = "/data", .deny = {"**/.env"}}};
  const auto denials = Judge(
      "sh: 1: cannot create /data/.env: Permission denied\n"
      "cat: /data/.env: Permission denied\n");
  ASSERT_THAT(denials, SizeIs(2));
  EXPECT_EQ(denials[0].access, "write");
  EXPECT_EQ(denials[1].access, "read");
}

TEST_F(DenialTest, NameOfAnErrorIsNoHost) {
  EXPECT_EQ(Only("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name "
                 "resolution>\nsocket.gaierror: [Errno -2] Name or service not known",
                 Shell("x")),
            "connect  (network none) sandbox.permissions.network: [\"*\"]");
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
  const auto of = [this](const std::string& name) {
    return ExecuteDenial(cell(), {{name}, "/workspace", {}}, kFromKernel);
  };
  EXPECT_EQ(of("./x"), (Denial{"exec", "/workspace/x", "execute", "mount /workspace noexec",
                               "sandbox.system_tools_mode: \"all\"", "", "kernel"}));
  EXPECT_EQ(of("/usr/share/doc/x").rule, "mode: the file may not be executed");
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
  compiled_.confinement.guards = {{.path = "/data", .deny = {"**/x*"}}};
  EXPECT_EQ(Judge("cat: " + path + ": Permission denied").at(0).grant, "") << "of what is not said";
}

TEST_F(DenialTest, Description) {
  EXPECT_EQ(DescribeDenial({"path", "/usr/x", "write", "mount /usr read_only", "", "", "kernel"}),
            "write /usr/x (mount /usr read_only)");
  EXPECT_EQ(DescribeDenial({"socket", "", "connect", "network none", "a: [\"*\"]", "", "kernel"}),
            "connect (network none); to allow: a: [\"*\"]");
}

}  // namespace
}  // namespace odyssey::explain
