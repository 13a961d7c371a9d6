// Commands and files in a cell.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/bad_input_fixture.h"
#include "tests/testing/running_exec.h"

namespace odyssey::testing {
namespace {

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

TEST_F(BadInputTest, FileOperations) {
  const std::string cell = supervisor_.Cell();
  ASSERT_TRUE(supervisor_.Shell(cell, "ln -s /etc out; mkfifo fifo; echo text > file").Exited(0));
  ASSERT_TRUE(
      supervisor_.Python(cell, "import socket; socket.socket(socket.AF_UNIX).bind('socket')")
          .Exited(0));
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
      {"writing to a pipe", write("fifo", 0), Code::kFailedPrecondition, "fifo"},
      {"a socket", read("socket"), Code::kFailedPrecondition, "socket` is not a regular file"},
      {"writing to a socket", write("socket", 0), Code::kFailedPrecondition, "socket"},
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
      {"no edits", [](auto* r) { r->mutable_multi_edit()->set_path("file"); }, kInvalid, "edits"},
      {"edits as large as a call takes",
       [](auto* r) {
         r->mutable_multi_edit()->set_path("file");
         for (const size_t mebibytes : {8, 8}) {
           r->mutable_multi_edit()->add_edits()->set_old_text(std::string(mebibytes << 20, 'x'));
         }
         r->mutable_multi_edit()->add_edits()->set_old_text(std::string(1'000'000, 'x'));
       },
       Code::kFailedPrecondition, "edits[0]: old_text not found"},
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

}  // namespace
}  // namespace odyssey::testing
