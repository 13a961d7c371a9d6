// Every malformed field of every request: an error that names the field, nothing started, nothing
// left, and the cells that live go on.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/testing/running_exec.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;
namespace pv1 = ::odyssey::policy::v1;

// One bad value: what it does to a good request, and the words that the error must have.
template <typename Request>
struct BadField {
  std::string name;
  std::function<void(Request*)> spoil;
  Code code;
  std::string words;
};

class BadInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(host_ / "real");
    fs::create_symlink(host_ / "real", host_ / "link");
    fs::create_directory(host_ / "real/below");
    ASSERT_EQ(mkfifo((host_ / "fifo").c_str(), 0600), 0);
    ASSERT_EQ(mknod((host_ / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  }
  void TearDown() override { fs::remove_all(host_); }

  static fs::path MakeHostDirectory() {
    std::string path = (fs::temp_directory_path() / "odyssey-host-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) abort();
    return path;
  }

  void ExpectRefused(const Status& status, Code code, const std::string& words) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_NE(status.message().find(words), std::string::npos)
        << "\"" << words << "\" is not in: " << status.message().substr(0, 400);
  }

  void ExpectNothingLeft() {
    // What a failed launch started has ended; it may not have been reaped yet.
    EXPECT_TRUE(Eventually([&] { return supervisor_.CellProcesses().empty(); }));
    EXPECT_TRUE(Eventually([&] { return supervisor_.CellGroups().empty(); }));
    grpc::ClientContext context;
    v1::GetInfoResponse info;
    EXPECT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
    EXPECT_EQ(info.live_cells(), 0u);
  }

  // Spoils a good request in each way; each must be refused and leave nothing.
  void ExpectAllRefused(const std::vector<BadField<v1::PrepareCellRequest>>& fields) {
    for (const auto& field : fields) {
      SCOPED_TRACE(field.name);
      v1::PrepareCellRequest request = SupervisorHarness::Request("bad");
      field.spoil(&request);
      const auto cell = supervisor_.Prepare(request);
      ASSERT_FALSE(cell.ok());
      ExpectRefused(cell.status(), field.code, field.words);
    }
    ExpectNothingLeft();
    EXPECT_TRUE(supervisor_.Prepare(SupervisorHarness::Request("good")).ok());
  }

  static std::function<void(v1::PrepareCellRequest*)> WithMount(
      const std::string& source, const std::string& target,
      pv1::Access access = pv1::ACCESS_READ_ONLY) {
    return [=](v1::PrepareCellRequest* request) {
      pv1::Mount* mount = request->mutable_sandbox()->add_mounts();
      mount->set_source(source);
      mount->set_target(target);
      mount->set_access(access);
    };
  }

  std::string Host(const std::string& name) const { return (host_ / name).string(); }

  const fs::path host_ = MakeHostDirectory();
  SupervisorHarness supervisor_;
};

using Bad = BadField<v1::PrepareCellRequest>;
constexpr Code kInvalid = Code::kInvalidArgument;
constexpr Code kDenied = Code::kPermissionDenied;

TEST_F(BadInputTest, KeysOfCells) {
  using Key = v1::CellKey;
  const auto plain = [](const std::string& field, const std::string& value) {
    return [=](v1::PrepareCellRequest* r) {
      Key* key = r->mutable_key();
      if (field == "session_id") key->set_session_id(value);
      if (field == "agent_id") key->set_agent_id(value);
      if (field == "kind") key->set_kind(value);
      if (field == "component") key->set_component(value);
    };
  };
  std::vector<Bad> fields = {
      {"no key", [](v1::PrepareCellRequest* r) { r->clear_key(); }, kInvalid, "key.agent_id"}};
  for (const std::string field : {"session_id", "agent_id", "kind", "component"}) {
    const std::string words = "key." + field;
    if (field != "session_id") fields.push_back({field, plain(field, ""), kInvalid, words});
    fields.push_back({field + " slash", plain(field, "../../etc"), kInvalid, words});
    fields.push_back({field + " space", plain(field, "a b"), kInvalid, words});
    fields.push_back({field + " NUL", plain(field, std::string("a\0b", 3)), kInvalid, words});
    fields.push_back({field + " newline", plain(field, "a\n"), kInvalid, words});
    fields.push_back({field + " not ASCII", plain(field, "é"), kInvalid, words});
    fields.push_back({field + " long", plain(field, std::string(129, 'a')), kInvalid, words});
  }
  ExpectAllRefused(fields);
}

TEST_F(BadInputTest, EnumsOfSandboxes) {
  const auto spoil = [](auto change) {
    return [=](v1::PrepareCellRequest* r) { change(r->mutable_sandbox()); };
  };
  std::vector<Bad> fields = {{"no sandbox", [](v1::PrepareCellRequest* r) { r->clear_sandbox(); },
                              kInvalid, "sandbox.mode 0: give MODE_READ_ONLY"}};
  for (const int value : {0, 4, 99, -1}) {
    const std::string text = std::to_string(value);
    fields.push_back({"mode " + text,
                      spoil([=](auto* s) { s->set_mode(static_cast<pv1::Mode>(value)); }), kInvalid,
                      "sandbox.mode " + text});
    fields.push_back({"network " + text,
                      spoil([=](auto* s) { s->set_network(static_cast<pv1::Network>(value)); }),
                      kInvalid, "sandbox.network " + text});
  }
  for (const int value : {0, 4}) {
    fields.push_back({"executables_mode", spoil([=](auto* s) {
                        s->set_executables_mode(static_cast<pv1::ExecutablesMode>(value));
                      }),
                      kInvalid, "sandbox.executables_mode " + std::to_string(value)});
  }
  fields.push_back({"executables without explicit",
                    spoil([](auto* s) { s->add_executables("git"); }), kInvalid, "executables"});
  for (const int value : {0, 3}) {
    fields.push_back({"access", WithMount(Host("real"), "/data", static_cast<pv1::Access>(value)),
                      kInvalid, "sandbox.mounts.access " + std::to_string(value)});
  }
  ExpectAllRefused(fields);
}

TEST_F(BadInputTest, SourcesOfMounts) {
  std::vector<Bad> fields;
  for (const std::string source :
       {"", ".", "real", "/a/../etc", "/a//b", "/a/./b", "/a/", "/a\nb"}) {
    fields.push_back({"shape " + source, WithMount(source, "/data"), kInvalid, "mounts[0].source"});
  }
  for (const std::string source : {"/", "/proc", "/proc/self", "/sys", "/dev", "/dev/null", "/run",
                                   "/etc", "/etc/passwd", "/root", "/home", "/var", "/usr"}) {
    fields.push_back(
        {"forbidden " + source, WithMount(source, "/data"), kDenied, "mounts[0].source " + source});
  }
  for (const std::string source : {"/usr/local", "/usr/bin", "/var/spool/cron"}) {
    fields.push_back({"to write " + source, WithMount(source, "/data", pv1::ACCESS_READ_WRITE),
                      kDenied, "may be shown read-only only"});
  }
  const std::string own = supervisor_.directory();
  for (const std::string& source :
       {own, own + "/state", own + "/state/cells", own + "/run", own + "/run/supervisor.sock"}) {
    fields.push_back(
        {"own " + source, WithMount(source, "/data"), kDenied, "Odyssey's own directories"});
  }
  ExpectAllRefused(fields);
}

// What only root can see: whether the source is there, and what it is.
TEST_F(BadInputTest, SourcesOfMountsOnTheHost) {
  ExpectAllRefused({
      {"missing", WithMount(Host("missing"), "/data"), Code::kNotFound, Host("missing")},
      {"a symbolic link", WithMount(Host("link"), "/data"), kInvalid,
       Host("link") + " is or passes through a symbolic link"},
      {"below a symbolic link", WithMount(Host("link/below"), "/data"), kInvalid,
       "passes through a symbolic link"},
      {"below a file", WithMount("/usr/bin/true/x", "/data"), kInvalid, "/usr/bin/true/x"},
      {"a pipe", WithMount(Host("fifo"), "/data"), kInvalid,
       "neither a directory nor a regular file"},
      {"a device", WithMount(Host("device"), "/data"), kInvalid,
       "neither a directory nor a regular file"},
      {"a missing workspace", [&](auto* r) { r->set_workspace(Host("missing")); }, Code::kNotFound,
       Host("missing")},
      {"a linked workspace", [&](auto* r) { r->set_workspace(Host("link")); }, kInvalid,
       Host("link")},
  });
}

TEST_F(BadInputTest, TargetsOfMounts) {
  std::vector<Bad> fields;
  for (const std::string target : {"", "data", "/", "/data/../proc", "/data/", "//data"}) {
    fields.push_back(
        {"shape " + target, WithMount(Host("real"), target), kInvalid, "mounts[0].target"});
  }
  for (const std::string target :
       {"/proc", "/proc/sys", "/dev", "/dev/shm", "/usr", "/usr/bin", "/etc", "/etc/ld.so.preload",
        "/bin", "/lib64", "/sys", "/tmp", "/run", "/.odyssey", "/.odyssey/cell-init", "/cell",
        "/workspace", "/workspace/src", "/workspace/mount"}) {
    fields.push_back({"taken " + target, WithMount(Host("real"), target), kInvalid,
                      "mounts[0].target: " + target});
  }
  fields.push_back({"twice",
                    [&](auto* r) {
                      WithMount(Host("real"), "/data")(r);
                      WithMount(Host("real/below"), "/data")(r);
                    },
                    kInvalid, "mounts[1].target: /data"});
  fields.push_back({"one inside the other",
                    [&](auto* r) {
                      WithMount(Host("real"), "/data")(r);
                      WithMount(Host("real/below"), "/data/below")(r);
                    },
                    kInvalid, "/data/below"});
  fields.push_back({"too many",
                    [&](auto* r) {
                      for (int i = 0; i < 600; ++i) {
                        WithMount(Host("real"), "/data/" + std::to_string(i))(r);
                      }
                    },
                    kInvalid, "mounts"});
  ExpectAllRefused(fields);
}

TEST_F(BadInputTest, Limits) {
  const auto limit = [](auto change) {
    return [=](v1::PrepareCellRequest* r) { change(r->mutable_sandbox()->mutable_limits()); };
  };
  constexpr uint32_t kHuge32 = ~uint32_t{0};
  ExpectAllRefused({
      {"memory", limit([](auto* l) { l->set_memory_bytes(1); }), kInvalid, "memory_bytes"},
      {"memory", limit([](auto* l) { l->set_memory_bytes(1 << 20); }), kInvalid, "memory_bytes"},
      {"cpu", limit([](auto* l) { l->set_cpu_millis(1); }), kInvalid, "cpu_millis"},
      {"cpu", limit([](auto* l) { l->set_cpu_millis(kHuge32); }), kInvalid, "cpu_millis"},
      {"pids", limit([](auto* l) { l->set_pids(1); }), kInvalid, "pids"},
      {"pids", limit([](auto* l) { l->set_pids(kHuge32); }), kDenied, "pids"},
      {"files", limit([](auto* l) { l->set_open_files(3); }), kInvalid, "open_files"},
      {"files", limit([](auto* l) { l->set_open_files(kHuge32); }), kInvalid, "open_files"},
      {"tmp", limit([](auto* l) { l->set_tmp_bytes(1); }), kInvalid, "tmp_bytes"},
  });
}

TEST_F(BadInputTest, EnvironmentWorkspaceAndDigestOfCells) {
  const auto env = [](const std::string& name, const std::string& value) {
    return [=](v1::PrepareCellRequest* r) { (*r->mutable_sandbox()->mutable_env())[name] = value; };
  };
  std::vector<Bad> fields = {
      {"no name", env("", "x"), kInvalid, "env: name"},
      {"name with =", env("A=B", "x"), kInvalid, "env: name"},
      {"name with a digit first", env("1A", "x"), kInvalid, "env: name"},
      {"name with NUL", env(std::string("A\0B", 3), "x"), kInvalid, "env: name"},
      {"value with NUL", env("A", std::string("\0", 1)), kInvalid, "env: value of A"},
      {"large", env("A", std::string(100'000, 'x')), kInvalid, "env"},
      {"digest", [](auto* r) { r->set_bundle_digest(std::string(1000, 'a')); }, kInvalid,
       "bundle_digest"},
  };
  for (const std::string path : {".", "relative", "/a/../b", "/a/"}) {
    fields.push_back(
        {"workspace " + path, [=](auto* r) { r->set_workspace(path); }, kInvalid, "workspace"});
  }
  for (const std::string path : {"/", "/proc", "/etc", "/root", "/usr/local"}) {
    fields.push_back({"workspace " + path, [=](auto* r) { r->set_workspace(path); }, kDenied,
                      "workspace: source " + path});
  }
  ExpectAllRefused(fields);
}

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

TEST_F(BadInputTest, StartsOfCommands) {
  const std::string cell = supervisor_.Cell();
  const std::vector<BadField<v1::ExecStart>> fields = {
      {"no cell", [](auto* s) { s->clear_cell_id(); }, Code::kNotFound, "cell_id \"\""},
      {"no such cell", [](auto* s) { s->set_cell_id("cel_0"); }, Code::kNotFound, "cell_id"},
      {"a path as cell", [](auto* s) { s->set_cell_id("../../x"); }, Code::kNotFound, "cell_id"},
      {"a long cell", [](auto* s) { s->set_cell_id(std::string(1 << 20, 'c')); }, Code::kNotFound,
       "cell_id"},
      {"no argv", [](auto* s) { s->clear_argv(); }, kInvalid, "start.argv"},
      {"empty argv[0]", [](auto* s) { s->set_argv(0, ""); }, kInvalid, "start.argv"},
      {"NUL in argv", [](auto* s) { s->add_argv(std::string("a\0b", 3)); }, kInvalid, "start.argv"},
      {"large argv", [](auto* s) { s->add_argv(std::string(200 << 10, 'a')); }, kInvalid,
       "start.argv"},
      {"many words",
       [](auto* s) {
         for (int i = 0; i < 5000; ++i) s->add_argv("a");
       },
       kInvalid, "start.argv"},
      {"env not exported", [](auto* s) { (*s->mutable_env())["LD_PRELOAD"] = "x"; }, kDenied,
       "environment variable is not allowed by sandbox policy: LD_PRELOAD"},
      {"NUL in env", [](auto* s) { (*s->mutable_env())["TERM"] = std::string("\0", 1); }, kInvalid,
       "start.env"},
      {"NUL in cwd", [](auto* s) { s->set_cwd(std::string("/tmp\0x", 6)); }, kInvalid, "start.cwd"},
      {"long cwd", [](auto* s) { s->set_cwd("/" + std::string(5000, 'a')); }, kInvalid,
       "start.cwd"},
      {"terminal", [](auto* s) { s->mutable_terminal()->set_rows(65536); }, kInvalid,
       "start.terminal"},
      {"terminal", [](auto* s) { s->mutable_terminal()->set_columns(~0U); }, kInvalid,
       "start.terminal"},
  };
  for (const auto& field : fields) {
    SCOPED_TRACE(field.name);
    v1::ExecStart start;
    start.set_cell_id(cell);
    start.add_argv("/bin/true");
    field.spoil(&start);
    RunningExec exec(supervisor_.stub(), start);
    ExpectRefused(exec.Finish().status, field.code, field.words);
  }
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
}

TEST_F(BadInputTest, AMissingDirectoryIsAnOutcomeThatNamesIt) {
  const std::string cell = supervisor_.Cell();
  const ExecResult result = supervisor_.Exec(cell, {"/bin/true"}, {.cwd = "not/there"});
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_SETUP_FAILED) << result.ToString();
  EXPECT_NE(result.outcome.message().find("/workspace/not/there"), std::string::npos)
      << result.ToString();
}

TEST_F(BadInputTest, WhatFollowsTheStartOfACommand) {
  const std::string cell = supervisor_.Cell();
  const std::vector<BadField<v1::ExecRequest>> fields = {
      {"second start", [](auto* r) { r->mutable_start()->add_argv("true"); }, kInvalid, "start"},
      {"nothing", [](auto* r) { r->Clear(); }, kInvalid, "message"},
      {"signal 0", [](auto* r) { r->set_signal(0); }, kInvalid, "signal 0: give 1 to 31"},
      {"signal 64", [](auto* r) { r->set_signal(64); }, kInvalid, "signal 64"},
      {"signal -9", [](auto* r) { r->set_signal(-9); }, kInvalid, "signal -9"},
      {"resize", [](auto* r) { r->mutable_resize()->set_rows(70000); }, kInvalid, "resize"},
  };
  for (const auto& field : fields) {
    SCOPED_TRACE(field.name);
    RunningExec exec(supervisor_.stub(), cell, "echo here; exec sleep 1000");
    ASSERT_TRUE(exec.ReadUntil("here\n"));
    v1::ExecRequest request;
    field.spoil(&request);
    EXPECT_TRUE(exec.Send(request));
    ExpectRefused(exec.Finish().status, field.code, field.words);
  }
  const std::string list = supervisor_.Shell(cell, "cat /proc/[0-9]*/comm").out;
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0)) << list;
}

TEST_F(BadInputTest, AStreamThatDoesNotBeginWithAStart) {
  for (const bool send : {true, false}) {
    grpc::ClientContext context;
    const auto stream = supervisor_.stub()->Exec(&context);
    v1::ExecRequest request;
    request.set_stdin("too early");
    if (send) stream->Write(request);
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    ExpectRefused(Status(static_cast<Code>(status.error_code()), status.error_message()), kInvalid,
                  "message: the first must be start");
  }
}

// What nobody would read is said, and not dropped. The end of nothing is no error.
TEST_F(BadInputTest, StdinOfACommandThatHasNone) {
  const std::string cell = supervisor_.Cell();
  {
    RunningExec exec(supervisor_.stub(), cell, "echo up; exec sleep 1000");
    ASSERT_TRUE(exec.ReadUntil("up"));
    v1::ExecRequest request;
    request.set_stdin("text");
    exec.Send(request);
    ExpectRefused(exec.Finish().status, kInvalid, "start.open_stdin");
  }
  RunningExec exec(supervisor_.stub(), cell, "echo up; sleep 0.1; cat; echo read");
  ASSERT_TRUE(exec.ReadUntil("up"));
  v1::ExecRequest end;
  end.set_stdin_eof(true);
  exec.Send(end);
  const ExecResult result = exec.Finish();
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "up\nread\n");
}

TEST_F(BadInputTest, AMessageBeyondTheSizeIsRefusedAndTheCellGoesOn) {
  const std::string cell = supervisor_.Cell();
  v1::ExecStart start;
  start.set_cell_id(cell);
  start.add_argv("/bin/cat");
  start.set_open_stdin(true);
  RunningExec exec(supervisor_.stub(), start);
  v1::ExecRequest request;
  request.set_stdin(std::string(18 << 20, 'x'));
  exec.Send(request);
  EXPECT_EQ(exec.Finish().status.code(), Code::kResourceExhausted);
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
}

// ── Files, and the rest ─────────────────────────────────────────────────────────────────────────

TEST_F(BadInputTest, FileOperations) {
  const std::string cell = supervisor_.Cell();
  ASSERT_TRUE(supervisor_.Shell(cell, "ln -s /etc out; mkfifo fifo; echo text > file").Exited(0));
  const auto read = [](const std::string& path) {
    return [=](v1::FileOpRequest* r) { r->mutable_read()->set_path(path); };
  };
  const auto write = [](const std::string& path, uint32_t mode) {
    return [=](v1::FileOpRequest* r) {
      r->mutable_write()->set_path(path);
      r->mutable_write()->set_mode(mode);
    };
  };
  const std::vector<BadField<v1::FileOpRequest>> fields = {
      {"no cell", [&](auto* r) { read("file")(r), r->clear_cell_id(); }, Code::kNotFound,
       "cell_id"},
      {"no op", [](auto*) {}, kInvalid, "op: give read"},
      {"no path", read(""), kInvalid, "path"},
      {"NUL", read(std::string("a\0b", 3)), kInvalid, "path"},
      {"long", read(std::string(5000, 'a')), kInvalid, "path"},
      {"up", read("../etc/passwd"), kDenied, "path traversal"},
      {"a link out", read("out/passwd"), kDenied, "sandbox policy blocks Read access"},
      {"a pipe", read("fifo"), Code::kFailedPrecondition, "fifo"},
      {"proc", read("/proc/self/fd/0"), kDenied, "/proc/self/fd/0"},
      {"missing", read("missing"), Code::kNotFound, "missing"},
      {"outside", write("/etc/x", 0), kDenied, "/etc/x"},
      {"set-uid", write("file", 04755), kInvalid, "mode"},
      {"large",
       [&](auto* r) {
         write("file", 0)(r);
         r->mutable_write()->set_content(std::string((8 << 20) + 1, 'x'));
       },
       kInvalid, "content"},
      {"edit nothing", [](auto* r) { r->mutable_edit()->set_path("file"); }, kInvalid, "old_text"},
      {"list a file", [](auto* r) { r->mutable_list()->set_path("file"); },
       Code::kFailedPrecondition, "file"},
  };
  for (const auto& field : fields) {
    SCOPED_TRACE(field.name);
    v1::FileOpRequest request;
    request.set_cell_id(cell);
    field.spoil(&request);
    grpc::ClientContext context;
    v1::FileOpResponse response;
    const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
    ExpectRefused(Status(static_cast<Code>(status.error_code()), status.error_message()),
                  field.code, field.words);
  }
  EXPECT_EQ(supervisor_.Shell(cell, "cat file").out, "text\n");
}

TEST_F(BadInputTest, CellsThatAreNotThere) {
  for (const std::string& id : {std::string(), std::string("cel_0123456789abcdef"),
                                std::string("../x"), std::string(100'000, 'a')}) {
    EXPECT_EQ(supervisor_.Remove(id).code(), Code::kNotFound);
    grpc::ClientContext context;
    v1::DescribeCellRequest request;
    request.set_cell_id(id);
    v1::DescribeCellResponse response;
    const grpc::Status status = supervisor_.stub()->DescribeCell(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_NE(status.error_message().find("cell_id"), std::string::npos);
  }
}

}  // namespace
}  // namespace odyssey::testing
