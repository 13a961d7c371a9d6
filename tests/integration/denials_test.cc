// What confinement refuses is told with what refused it and what would allow it; and guesses are
// told as hints.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/rpc/status_map.h"
#include "tests/integration/audit_reader.h"

namespace odyssey::testing {
namespace {

namespace pv1 = ::odyssey::policy::v1;

// "kind access resource (rule) grant [certain]"
std::string Text(const v1::Denial& denial) {
  return denial.kind() + " " + denial.access() + " " + denial.resource() + " (" + denial.rule() +
         ") " + denial.grant() + (denial.hint() ? " [hint]" : " [certain]");
}

class DenialsTest : public ::testing::Test {
 protected:
  DenialsTest() { request_.mutable_key()->set_session_id("ses_1"); }

  std::string HostDirectory(const std::string& name) {
    const std::string path = supervisor_.directory() + "/" + name;
    std::filesystem::create_directories(path);
    return path;
  }

  static void Mount(const std::string& source, pv1::Access access,
                    v1::PrepareCellRequest* request) {
    pv1::Mount* mount = request->mutable_sandbox()->add_mounts();
    mount->set_source(source);
    mount->set_target("/data");
    mount->set_access(access);
  }

  // The only denial of a script.
  std::string OnlyDenial(const ExecResult& result) {
    EXPECT_TRUE(result.status.ok()) << result.ToString();
    EXPECT_EQ(result.denials.size(), 1u) << result.ToString();
    EXPECT_EQ(result.outcome.denials(), result.denials.size());
    if (result.denials.empty()) return "";
    const v1::Denial& denial = result.denials[0];
    EXPECT_EQ(denial.session_id(), "ses_1");
    EXPECT_EQ(denial.exec_id().substr(0, 4), "exe_");
    EXPECT_NE(denial.process(), "") << Text(denial);
    EXPECT_NE(denial.verdict(), "") << Text(denial);
    return Text(denial);
  }

  SupervisorHarness supervisor_;
  v1::PrepareCellRequest request_ = SupervisorHarness::Request("denied");
};

TEST_F(DenialsTest, SystemTree) {
  const ExecResult result = supervisor_.Shell(supervisor_.Cell(request_), "echo x > /usr/lib/x");
  EXPECT_EQ(OnlyDenial(result), "path write /usr/lib/x (mount /usr read_only)  [hint]");
  const AuditRecord deny = AwaitRecords(supervisor_, "deny")[0];
  EXPECT_EQ(deny["exec_id"], result.denials[0].exec_id());
  EXPECT_EQ(deny["session_id"], "ses_1");
  EXPECT_EQ(deny["process"], result.denials[0].process());
  EXPECT_EQ(deny["resource"], "/usr/lib/x");
  EXPECT_EQ(deny["verdict"], "deny");
}

TEST_F(DenialsTest, ReadOnlyMountNamesTheWritableOne) {
  const std::string source = HostDirectory("shown");
  Mount(source, pv1::ACCESS_READ_ONLY, &request_);
  const std::string cell = supervisor_.Cell(request_);
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(cell, "mkdir ./sub", {.cwd = "/data"})),
            "path write /data/sub (mount /data read_only) "
            "sandbox.permissions.filesystem.mounts.write: [\"" +
                source + "\"] [hint]");
}

// The grant is what it says: with it, the same command works.
TEST_F(DenialsTest, WhatTheGrantSaysAllowsIt) {
  Mount(HostDirectory("shown"), pv1::ACCESS_READ_WRITE, &request_);
  const ExecResult result =
      supervisor_.Shell(supervisor_.Cell(request_), "mkdir sub", {.cwd = "/data"});
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_TRUE(result.denials.empty());
}

TEST_F(DenialsTest, ReadOnlyWorkspaceNamesTheMode) {
  request_.mutable_sandbox()->set_mode(pv1::MODE_READ_ONLY);
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(supervisor_.Cell(request_), "touch ./x")),
            "path write /workspace/x (mount /workspace read_only) sandbox.mode: "
            "\"workspace_write\" [hint]");
}

TEST_F(DenialsTest, ProtectedPartNamesItsProtection) {
  const std::string source = HostDirectory("project");
  HostDirectory("project/.git/hooks");
  Mount(source, pv1::ACCESS_READ_WRITE, &request_);
  const std::string denial = OnlyDenial(
      supervisor_.Shell(supervisor_.Cell(request_), "touch .git/hooks/x", {.cwd = "/data"}));
  EXPECT_EQ(denial,
            "path write /data/.git/hooks/x (policy protection /data/.git/hooks read_only) "
            "sandbox.protection: \"none\" [hint]");
}

TEST_F(DenialsTest, DeniedNameNamesItsPattern) {
  if (const std::string why = supervisor_.WhyNoDeniedNames(); !why.empty()) GTEST_SKIP() << why;
  const std::string source = HostDirectory("project");
  std::ofstream(source + "/.env") << "TOKEN=1";
  Mount(source, pv1::ACCESS_READ_ONLY, &request_);
  request_.mutable_sandbox()->add_deny("**/.env");
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(supervisor_.Cell(request_), "cat /data/.env")),
            "path read /data/.env (policy deny **/.env) sandbox.deny: without \"**/.env\" "
            "[hint]");
}

// ── Network ─────────────────────────────────────────────────────────────────────────────────────

constexpr char kNetworkGrant[] = " (network none) sandbox.permissions.network: [\"*\"] [certain]";

TEST_F(DenialsTest, AddressIsToldBeforeTheConnectionIsMade) {
  const ExecResult result = supervisor_.Python(
      supervisor_.Cell(request_), "import socket; socket.create_connection(('192.0.2.1', 80))");
  EXPECT_EQ(OnlyDenial(result), std::string("network connect 192.0.2.1:80") + kNetworkGrant);
  EXPECT_EQ(result.denials[0].process().substr(0, 8), "python3[");
}

TEST_F(DenialsTest, NetworkIsToldThoughTheCommandEndsWell) {
  const ExecResult result = supervisor_.Python(supervisor_.Cell(request_), R"(
import socket
for to in [(2, ('192.0.2.1', 443)), (2, ('192.0.2.1', 443)), (10, ('2001:db8::1', 53))]:
    try: socket.socket(to[0], 2).sendto(b'x', to[1])
    except OSError: pass
try: socket.getaddrinfo('Exfiltrated.example.org', 80)
except OSError: pass
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  ASSERT_EQ(result.denials.size(), 3u) << result.ToString();
  EXPECT_EQ(Text(result.denials[0]), std::string("network connect 192.0.2.1:443") + kNetworkGrant);
  EXPECT_EQ(result.denials[0].count(), 2u);
  EXPECT_EQ(Text(result.denials[1]),
            std::string("network connect [2001:db8::1]:53") + kNetworkGrant);
  EXPECT_EQ(Text(result.denials[2]),
            std::string("network resolve exfiltrated.example.org") + kNetworkGrant);
  EXPECT_EQ(AwaitRecords(supervisor_, "deny", 3)[2]["resource"], "exfiltrated.example.org");
}

TEST_F(DenialsTest, NameIsRefusedAtOnceAndToldToTheCommandThatAsked) {
  const std::string cell = supervisor_.Cell(request_);
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string name : {"a.example", "b.example"}) {
    const ExecResult result = supervisor_.Shell(cell, "getent hosts " + name + " || true");
    EXPECT_EQ(OnlyDenial(result), "network resolve " + name + kNetworkGrant);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4)) << "no retries";
  EXPECT_TRUE(supervisor_.Shell(cell, "getent hosts localhost cell").denials.empty());
}

TEST_F(DenialsTest, LoopbackOfTheCellWorksAndIsNotTold) {
  const ExecResult result = supervisor_.Python(supervisor_.Cell(request_), R"(
import socket
server = socket.create_server(('localhost', 0))
client = socket.create_connection(server.getsockname()[:2])
server.accept()[0].sendall(b'hello')
print(client.recv(5))
)");
  EXPECT_EQ(result.out, "b'hello'\n") << result.ToString();
  EXPECT_TRUE(result.denials.empty());
}

TEST_F(DenialsTest, FloodOfQueriesAndOfMalformedOnesLeavesTheResolver) {
  const std::string cell = supervisor_.Cell(request_);
  const ExecResult result = supervisor_.Python(cell, R"(
import os, socket
s = socket.socket(2, 2); s.connect(('127.0.0.1', 53))
for i in range(20000):
    try: s.send(os.urandom(i % 600) if i % 2 else b'\0\1\1\0\0\1' + bytes(6) + b'\3%03d\0\0\1\0\1' % (i % 999))
    except OSError: pass
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_LE(result.denials.size(), 16u);
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(cell, "getent hosts c.example || true")),
            std::string("network resolve c.example") + kNetworkGrant);
}

// ── Execution ───────────────────────────────────────────────────────────────────────────────────

TEST_F(DenialsTest, ExecutionThatTheKernelRefusesIsCertain) {
  const std::string cell = supervisor_.Cell(request_);
  ASSERT_TRUE(supervisor_.Shell(cell, "printf '#!/bin/sh\\n' > tool; chmod 755 tool").Exited(0));
  const ExecResult direct = supervisor_.Exec(cell, {"./tool"});
  EXPECT_EQ(direct.outcome.kind(), v1::OUTCOME_KIND_DENIED);
  const std::string what =
      "exec execute /workspace/tool (mount /workspace noexec) sandbox.system_tools_mode: \"all\" ";
  EXPECT_EQ(OnlyDenial(direct), what + "[certain]");
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(cell, "./tool")), what + "[hint]");
}

TEST_F(DenialsTest, UnlistedExecutableNamesItself) {
  request_.mutable_sandbox()->set_executables_mode(pv1::EXECUTABLES_MODE_EXPLICIT);
  request_.mutable_sandbox()->add_executables("sh");
  const std::string cell = supervisor_.Cell(request_);
  const ExecResult direct = supervisor_.Exec(cell, {"/usr/bin/env"});
  ASSERT_EQ(direct.denials.size(), 1u) << direct.ToString();
  EXPECT_EQ(direct.denials[0].grant(), "sandbox.system_tools: [\"/usr/bin/env\"]");
  EXPECT_FALSE(direct.denials[0].hint());
  const ExecResult shell = supervisor_.Shell(cell, "/usr/bin/env");
  ASSERT_EQ(shell.denials.size(), 1u) << shell.ToString();
  EXPECT_EQ(shell.denials[0].grant(), "sandbox.system_tools: [\"/usr/bin/env\"]");
}

// A shell without paths in its words: by its name, whatever directory it is tried in.
TEST_F(DenialsTest, UnlistedProgramIsToldByItsName) {
  request_.mutable_sandbox()->set_executables_mode(pv1::EXECUTABLES_MODE_EXPLICIT);
  for (const char* name : {"dash", "env"}) request_.mutable_sandbox()->add_executables(name);
  const std::string what =
      "exec execute ls (policy system_tools_mode explicit) sandbox.system_tools: [\"ls\"] ";
  for (const pv1::Mode mode : {pv1::MODE_WORKSPACE_WRITE, pv1::MODE_READ_ONLY}) {
    request_.mutable_sandbox()->set_mode(mode);
    request_.mutable_key()->set_component("c" + std::to_string(mode));
    const std::string cell = supervisor_.Cell(request_);
    EXPECT_EQ(OnlyDenial(supervisor_.Exec(cell, {"dash", "-c", "ls"})), what + "[hint]");
    EXPECT_EQ(OnlyDenial(supervisor_.Exec(cell, {"env", "ls"})), what + "[hint]");
    EXPECT_EQ(OnlyDenial(supervisor_.Exec(cell, {"ls"})), what + "[certain]");
  }
}

TEST_F(DenialsTest, ProgramThatTheHostDoesNotHaveIsNotDenied) {
  request_.mutable_sandbox()->set_executables_mode(pv1::EXECUTABLES_MODE_EXPLICIT);
  request_.mutable_sandbox()->add_executables("dash");
  const std::string cell = supervisor_.Cell(request_);
  const ExecResult shell = supervisor_.Exec(cell, {"dash", "-c", "no-such-program"});
  EXPECT_TRUE(shell.Exited(127)) << shell.ToString();
  EXPECT_TRUE(shell.denials.empty()) << Text(shell.denials[0]);
  const ExecResult direct = supervisor_.Exec(cell, {"no-such-program"});
  EXPECT_EQ(direct.outcome.kind(), v1::OUTCOME_KIND_NOT_FOUND);
  EXPECT_TRUE(direct.denials.empty()) << Text(direct.denials[0]);
}

TEST_F(DenialsTest, LimitsAreCertain) {
  pv1::Limits* limits = request_.mutable_sandbox()->mutable_limits();
  limits->set_memory_bytes(uint64_t{64} << 20);
  limits->set_cpu_seconds(1);
  const std::string cell = supervisor_.Cell(request_);
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(cell, "sleep 30", {.wall_clock_ms = 200})),
            "limit exceed wall_clock_ms (policy wall_clock_ms 200) "
            "sandbox.resources.wall_clock_s: 1 [certain]");
  const ExecResult greedy =
      supervisor_.Python(cell, "b = []\nwhile True: b.append(bytearray(b'x' * 4000000))");
  EXPECT_EQ(OnlyDenial(greedy),
            "limit exceed memory_bytes (cgroup memory_bytes 67108864) "
            "sandbox.resources.memory_mb: 128 [certain]");
  EXPECT_EQ(greedy.denials[0].verdict(), "kill");
  EXPECT_EQ(greedy.denials[0].process().substr(0, 8), "python3[");
  EXPECT_EQ(OnlyDenial(supervisor_.Exec(cell, {"/bin/sh", "-c", "while :; do :; done"})),
            "limit exceed cpu_seconds (rlimit cpu_seconds 1) sandbox.resources.cpu_seconds: 2 "
            "[certain]");
}

TEST_F(DenialsTest, TooManyProcesses) {
  request_.mutable_sandbox()->mutable_limits()->set_pids(16);
  const ExecResult result = supervisor_.Shell(
      supervisor_.Cell(request_),
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done");
  EXPECT_EQ(OnlyDenial(result),
            "limit exceed pids (cgroup pids 16) sandbox.resources.pids: 32 [certain]")
      << result.err;
  EXPECT_GT(result.denials[0].count(), 0u);
}

// A program that tries again and gets its way may say nothing of it, or anything.
TEST_F(DenialsTest, TooManyProcessesAreToldThoughTheCommandEndsWell) {
  request_.mutable_sandbox()->mutable_limits()->set_pids(16);
  const std::string cell = supervisor_.Cell(request_);
  const std::string script =
      "import os, signal, sys\n"
      "try:\n"
      "    while True:\n"
      "        if os.fork() == 0: signal.pause()\n"
      "except OSError: sys.stderr.write('so many\\n')\n";
  const ExecResult result = supervisor_.Python(cell, script);
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(OnlyDenial(result),
            "limit exceed pids (cgroup pids 16) sandbox.resources.pids: 32 [certain]");
  const ExecResult next = supervisor_.Shell(cell, "echo words >&2; exit 1");
  EXPECT_TRUE(next.denials.empty()) << "what was told is not told again";
}

TEST_F(DenialsTest, WordsAboutProcessesAreNothingWhenTheKernelRefusedNone) {
  const ExecResult result =
      supervisor_.Shell(supervisor_.Cell(request_), "echo 'sh: 1: Cannot fork' >&2; exit 2");
  EXPECT_TRUE(result.denials.empty()) << Text(result.denials[0]);
}

TEST_F(DenialsTest, FullFileSystemIsToldThoughTheCommandEndsWell) {
  request_.mutable_sandbox()->mutable_limits()->set_tmp_bytes(1 << 20);
  const std::string cell = supervisor_.Cell(request_);
  const std::string full =
      "limit exceed tmp_bytes (mount tmp_bytes 1048576) sandbox.resources.tmp_mb: 2 [certain]";
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(cell, "head -c 9M /dev/zero >/tmp/x; true")), full);
  EXPECT_TRUE(supervisor_.Shell(cell, "true").denials.empty()) << "not this one's doing";
  EXPECT_EQ(OnlyDenial(supervisor_.Shell(cell, "echo x >/tmp/y")), full);
}

TEST_F(DenialsTest, CutOutputIsTold) {
  const ExecResult result =
      supervisor_.Shell(supervisor_.Cell(request_), "echo 0123456789", {.stdout_cap = 4});
  EXPECT_EQ(
      OnlyDenial(result),
      "limit exceed stdout (policy output_bytes 4) sandbox.resources.output_bytes: 11 [certain]");
  EXPECT_EQ(result.denials[0].verdict(), "cut");
}

// ── Hints ───────────────────────────────────────────────────────────────────────────────────────

TEST_F(DenialsTest, SuccessIsNoDenialWhateverItSays) {
  const ExecResult result =
      supervisor_.Shell(supervisor_.Cell(request_),
                        "echo \"touch: cannot touch '/usr/x': Read-only file system\" >&2");
  EXPECT_TRUE(result.Exited(0));
  EXPECT_TRUE(result.denials.empty());
  EXPECT_EQ(result.outcome.denials(), 0u);
}

// A command may name what it likes: it is marked as a hint, and where the plan allows it, nothing
// comes of it.
TEST_F(DenialsTest, ForgedPathsAreHintsAndHeldAgainstThePlan) {
  const ExecResult result =
      supervisor_.Shell(supervisor_.Cell(request_),
                        "echo \"touch: cannot touch '/usr/forged': Read-only file system\" >&2\n"
                        "echo \"touch: cannot touch '/workspace/x': Read-only file system\" >&2\n"
                        "echo \"touch: cannot touch '/tmp/x': Permission denied\" >&2\n"
                        "exit 1");
  EXPECT_EQ(OnlyDenial(result), "path write /usr/forged (mount /usr read_only)  [hint]");
}

TEST_F(DenialsTest, NeverMoreThanSixteenAreSentAndAllAreCounted) {
  const ExecResult result = supervisor_.Python(supervisor_.Cell(request_), R"(
import socket
for port in range(1, 51):
    try: socket.socket(2, 2).connect(('192.0.2.1', port))
    except OSError: pass
)");
  EXPECT_EQ(result.denials.size(), 16u);
  EXPECT_EQ(result.outcome.denials(), 50u);
}

TEST_F(DenialsTest, StormOfDenialsIsCountedAndTheCellGoesOn) {
  const std::string cell = supervisor_.Cell(request_);
  constexpr size_t kCommands = 100;
  size_t denied = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kCommands; ++i) {
    denied += supervisor_
                  .Shell(cell,
                         "for i in 1 2 3 4; do echo \"x: /usr/d$i: Read-only file "
                         "system\" >&2; done; exit 1")
                  .outcome.denials();
  }
  EXPECT_EQ(denied, 4 * kCommands);
  const auto told = [&] {
    size_t count = 0;
    for (const AuditRecord& record : ReadAuditLog(supervisor_)) {
      if (record["type"] == "deny") ++count;
      if (record["type"] == "suppressed" && record["of"] == "deny") {
        EXPECT_EQ(record["about"], cell);
        count += record["count"].get<size_t>();
      }
    }
    return count;
  };
  EXPECT_TRUE(Eventually([&] { return told() == denied; })) << told();
  EXPECT_LE(RecordsOfType(supervisor_, "deny").size(), MostRecordsSince(begin));
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
}

// ── File operations ─────────────────────────────────────────────────────────────────────────────

TEST_F(DenialsTest, FileOperationNamesRuleAndGrant) {
  request_.mutable_sandbox()->set_mode(pv1::MODE_READ_ONLY);
  const std::string cell = supervisor_.Cell(request_);
  grpc::ClientContext context;
  v1::FileOpRequest write;
  write.set_cell_id(cell);
  write.mutable_write()->set_path("x");
  v1::FileOpResponse response;
  const grpc::Status status = supervisor_.stub()->FileOp(&context, write, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(status.error_message().find("(mount /workspace read_only); to allow: sandbox.mode: "
                                        "\"workspace_write\""),
            std::string::npos)
      << status.error_message();
  v1::Denial denial;
  ASSERT_TRUE(rpc::FindInDetails(status, &denial));
  EXPECT_EQ(Text(denial),
            "path write /workspace/x (mount /workspace read_only) sandbox.mode: "
            "\"workspace_write\" [certain]");
  EXPECT_EQ(AwaitRecords(supervisor_, "deny")[0]["resource"], "/workspace/x");
  EXPECT_EQ(AwaitRecords(supervisor_, "file")[0]["code"], "PERMISSION_DENIED");
}

}  // namespace
}  // namespace odyssey::testing
