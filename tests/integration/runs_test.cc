// The directories of a command, files into them and out of them.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/run_calls.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

// ── Directories ─────────────────────────────────────────────────────────────────────────────────

TEST_F(RunsTest, EveryCommandHasDirectoriesOfItsOwn) {
  const std::string script =
      "echo $ODYSSEY_RUN; cd $ODYSSEY_RUN && ls && stat -c %u:%a . inbox outbox work tmp && "
      "for d in inbox outbox work tmp; do test -z \"$(ls -A $d)\" && echo x > $d/f; done";
  std::set<std::string> runs;
  for (int i = 0; i < 5; ++i) {
    const ExecResult result = Shell(script);
    ASSERT_TRUE(result.Exited(0)) << result.ToString();
    EXPECT_EQ(result.out, "/cell/runs/" + result.run_id +
                              "\ninbox\noutbox\ntmp\nwork\n1000:755\n1000:755\n1000:755\n1000:755\n"
                              "1000:755\n");
    EXPECT_EQ(result.run_id.size(), 20u);
    runs.insert(result.run_id);
  }
  EXPECT_EQ(runs.size(), 5u);
}

// Nobody else made them: on the host they belong to the store's user, like what commands write.
TEST_F(RunsTest, OnDiskTheyBelongToWhoeverTheCellsFilesBelongTo) {
  UseDiskCell();
  const ExecResult result = Shell("echo x > $ODYSSEY_RUN/work/f");
  ASSERT_TRUE(result.Exited(0)) << result.ToString();
  int seen = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(supervisor_.directory() + "/state/cells")) {
    if (entry.path().string().find(result.run_id) == std::string::npos) continue;
    struct stat info {};
    ASSERT_EQ(lstat(entry.path().c_str(), &info), 0);
    EXPECT_NE(info.st_uid, 0u) << entry.path();
    ++seen;
  }
  EXPECT_EQ(seen, 6);  // the run, its four directories, the file
}

TEST_F(RunsTest, AnotherCommandMayUseTheSameRun) {
  const ExecResult first = Shell("echo one > $ODYSSEY_RUN/work/f");
  const ExecResult second = Shell("cat $ODYSSEY_RUN/work/f", {.run_id = first.run_id});
  EXPECT_EQ(second.out, "one\n") << second.ToString();
  EXPECT_EQ(second.run_id, first.run_id);
}

TEST_F(RunsTest, NamesThatAreNoRunAreErrors) {
  EXPECT_EQ(Shell("true", {.run_id = "run_0000000000000001"}).status.code(), Code::kNotFound);
  for (const std::string bad : {"x", "run_1", "../..", "run_000000000000000g"}) {
    EXPECT_EQ(Shell("true", {.run_id = bad}).status.code(), Code::kInvalidArgument) << bad;
    Collect(bad);
    EXPECT_EQ(collect_status_.code(), Code::kInvalidArgument) << bad;
  }
  Collect("run_0000000000000001");
  EXPECT_EQ(collect_status_.code(), Code::kNotFound);
}

TEST_F(RunsTest, ACommandRunsAlthoughItsDirectoriesCannotBeMade) {
  // Nothing can be made there any more.
  ASSERT_TRUE(Shell("chmod 500 /cell/runs").Exited(0));
  (void)Shell("true");  // its directories were made before
  const ExecResult result = Shell("echo run=$ODYSSEY_RUN");
  EXPECT_EQ(result.out, "run=\n") << result.ToString();
  ASSERT_TRUE(Shell("chmod 700 /cell/runs").Exited(0));
  EXPECT_NE(Shell("echo run=$ODYSSEY_RUN").out, "run=\n");
}

TEST_F(RunsTest, OldRunsAreRemovedAndNewOnesStay) {
  UseDiskCell();
  const ExecResult first = Shell(
      "mkdir -p $ODYSSEY_RUN/work/a/b; echo x > $ODYSSEY_RUN/work/a/b/f;"
      "ln -s /workspace $ODYSSEY_RUN/work/link; chmod 0 $ODYSSEY_RUN/work/a/b");
  ASSERT_TRUE(Shell("echo kept > /workspace/f").Exited(0));
  v1::ExecStart start;
  start.set_cell_id(cell_);
  start.set_open_stdin(true);
  for (const char* word :
       {"/bin/sh", "-c", "cd $ODYSSEY_RUN/work; echo up; read x; echo still > here && cat here"})
    start.add_argv(word);
  RunningExec running(supervisor_.stub(), start);
  ASSERT_TRUE(running.ReadUntil("up"));
  std::vector<std::string> later;
  for (int i = 0; i < 150; ++i) later.push_back(Shell("true").run_id);
  // They go beside the commands, one after another.
  std::set<std::string> left;
  EXPECT_TRUE(Eventually([&] {
    left = Runs();
    return left.count(first.run_id) == 0 && left.size() <= 64u + 64u + 8u;
  })) << left.size();
  for (size_t i = later.size() - 60; i < later.size(); ++i) {
    EXPECT_EQ(left.count(later[i]), 1u) << i << ": \"" << later[i] << "\", of " << left.size();
  }
  EXPECT_EQ(Shell("cat /workspace/f").out, "kept\n");
  EXPECT_TRUE(Eventually(
      [&] { return Shell("true", {.run_id = later[0]}).status.code() == Code::kNotFound; }));
  // In use all the while, and older than all of them.
  v1::ExecRequest input;
  input.set_stdin("go\n");
  running.Send(input);
  EXPECT_NE(running.Finish().out.find("still"), std::string::npos);
}

TEST_F(RunsTest, WhatAnEarlierCellLeftCountsToo) {
  UseDiskCell();
  std::string oldest;
  ASSERT_TRUE(
      Shell("for i in $(seq 200); do mkdir /cell/runs/run_$(printf %016x $i); done").Exited(0));
  ASSERT_TRUE(supervisor_.Remove(cell_, /*purge=*/false).ok());
  UseDiskCell();
  // Looked at from the host: a command that looks would be one more run.
  fs::path runs;
  for (const auto& entry :
       fs::recursive_directory_iterator(supervisor_.directory() + "/state/cells")) {
    if (entry.path().filename() == "runs") runs = entry.path();
  }
  const ExecResult result = Shell("true");
  std::error_code gone;
  const auto count = [&] {
    return std::distance(fs::directory_iterator(runs, gone), fs::directory_iterator());
  };
  EXPECT_TRUE(Eventually([&] { return count() <= 64 + 8; })) << count();
  EXPECT_TRUE(fs::exists(runs / result.run_id));
}

// ── Into the inbox ──────────────────────────────────────────────────────────────────────────────

TEST_F(RunsTest, InjectedFilesAreThereForTheCommandThatNamesTheRun) {
  const std::string large(3'000'000, 'x');
  const auto [status, run] = Inject({{"data.txt", "hello\n"},
                                     {"d/e/script", "#!/bin/sh\necho ran\n", 0755},
                                     {"empty", ""},
                                     {"large", large, 0400}});
  ASSERT_TRUE(status.ok()) << status.ToString();
  const ExecResult result = Shell(
      "cd $ODYSSEY_RUN/inbox && cat data.txt && sh d/e/script && wc -c < large && "
      "stat -c '%n %u %a' data.txt d/e/script empty large",
      {.run_id = run});
  EXPECT_EQ(
      result.out,
      "hello\nran\n3000000\ndata.txt 1000 644\nd/e/script 1000 755\nempty 1000 644\nlarge 1000 "
      "400\n")
      << result.ToString();
}

TEST_F(RunsTest, ACollisionIsAnErrorAndNothingOfTheCallStays) {
  const std::string run = Inject({{"there", "before"}}).second;
  const auto [status, same] = Inject({{"new/f", "x"}, {"other", "y"}, {"there", "z"}}, run);
  EXPECT_EQ(status.code(), Code::kAlreadyExists) << status.ToString();
  EXPECT_EQ(Shell("cd $ODYSSEY_RUN/inbox; ls -R; cat there", {.run_id = run}).out,
            ".:\nthere\nbefore");
}

TEST_F(RunsTest, ACallThatIsCutShortLeavesNothing) {
  const std::string run = Inject({}).second;
  {
    grpc::ClientContext context;
    v1::InjectFilesResponse response;
    const auto writer = supervisor_.stub()->InjectFiles(&context, &response);
    v1::InjectFilesRequest request;
    request.mutable_start()->set_cell_id(cell_);
    request.mutable_start()->set_run_id(run);
    writer->Write(request);
    request.mutable_file()->set_path("first");
    writer->Write(request);
    request.mutable_file()->set_path("second");
    writer->Write(request);
    ASSERT_TRUE(Eventually(
        [&] { return Shell("ls $ODYSSEY_RUN/inbox", {.run_id = run}).out == "first\n"; }));
    context.TryCancel();
    writer->Finish();
  }
  EXPECT_TRUE(
      Eventually([&] { return Shell("ls $ODYSSEY_RUN/inbox", {.run_id = run}).out.empty(); }));
}

TEST_F(RunsTest, RefusesNamesOutsideTheInbox) {
  for (const std::string path : {"../outbox/f", "/etc/f", "a/../../f", "", ".", "a//b", "a/"}) {
    EXPECT_EQ(Inject({{path, "x"}}).first.code(), Code::kInvalidArgument) << path;
  }
  EXPECT_EQ(Inject({{"f", "x", 04755}}).first.code(), Code::kInvalidArgument);
}

// ODEK-021: a link that the cell planted is not followed, wherever it leads.
TEST_F(RunsTest, RefusesLinksThatTheCellPlanted) {
  const fs::path shared = supervisor_.directory() + "/shared";
  fs::create_directory(shared);
  fs::permissions(shared, fs::perms::all);
  auto request = SupervisorHarness::Request("linked");
  auto* mount = request.mutable_sandbox()->add_mounts();
  mount->set_source(shared);
  mount->set_target("/shared");
  mount->set_access(policy::v1::ACCESS_READ_WRITE);
  cell_ = supervisor_.Cell(request);

  const std::string run = Inject({}).second;
  ASSERT_TRUE(Shell("cd $ODYSSEY_RUN/inbox && ln -s /etc sub && ln -s /shared host && "
                    "ln -s /shared/made file && ln -s ../work inside",
                    {.run_id = run})
                  .Exited(0));
  for (const std::string path : {"sub/cron", "host/f", "inside/f"}) {
    const Status status = Inject({{path, "x"}}, run).first;
    EXPECT_EQ(status.code(), Code::kPermissionDenied) << path << " " << status.ToString();
    EXPECT_NE(status.message().find("symbolic link"), std::string::npos);
  }
  EXPECT_EQ(Inject({{"file", "x"}}, run).first.code(), Code::kAlreadyExists);
  // The inbox itself, then the whole run.
  ASSERT_TRUE(
      Shell("cd $ODYSSEY_RUN && rm -r inbox && ln -s /shared inbox", {.run_id = run}).Exited(0));
  EXPECT_EQ(Inject({{"f", "x"}}, run).first.code(), Code::kPermissionDenied);
  ASSERT_TRUE(
      Shell("cd /cell/runs && rm -r " + run + " && mkdir -p /shared/inbox && ln -s /shared " + run)
          .Exited(0));
  EXPECT_EQ(Inject({{"f", "x"}}, run).first.code(), Code::kPermissionDenied);
  EXPECT_TRUE(fs::is_empty(shared / "inbox"));
  fs::remove(shared / "inbox");
  EXPECT_TRUE(fs::is_empty(shared));
}

TEST_F(RunsTest, InjectingIsWithinTheCellsLimits) {
  auto request = SupervisorHarness::Request("small");
  request.mutable_sandbox()->mutable_limits()->set_tmp_bytes(2 << 20);
  cell_ = supervisor_.Cell(request);
  const std::string run = Inject({}).second;
  const Status status = Inject({{"a", "fits"}, {"b", std::string(4 << 20, 'x')}}, run).first;
  EXPECT_NE(status.message().find("No space left"), std::string::npos) << status.ToString();
  EXPECT_EQ(Shell("ls $ODYSSEY_RUN/inbox; df --output=pcent /cell/runs | tail -1 | tr -d ' '",
                  {.run_id = run})
                .out,
            "0%\n")
      << "nothing of the call stays";
  // Neither where the file that does not fit is the first of its directories.
  const std::string most(1'900'000, 'x');
  EXPECT_FALSE(Inject({{"most", most}, {"d/e/rest", std::string(500'000, 'x')}}, run).first.ok());
  EXPECT_EQ(Shell("ls -A $ODYSSEY_RUN/inbox", {.run_id = run}).out, "");
  // And of a call that is one file, nobody else would take it away.
  ASSERT_TRUE(Inject({{"most", most}}, run).first.ok());
  EXPECT_FALSE(Inject({{"d/e/rest", std::string(500'000, 'x')}}, run).first.ok());
  EXPECT_EQ(Shell("ls -A $ODYSSEY_RUN/inbox", {.run_id = run}).out, "most\n");
}

// ── Out of the outbox ───────────────────────────────────────────────────────────────────────────

TEST_F(RunsTest, CollectsRegularFilesAndSaysWhatItSkips) {
  const ExecResult made = Shell(
      "cd $ODYSSEY_RUN/outbox && echo report > report.txt && mkdir -p d/e && "
      "head -c 3000000 /dev/zero > d/e/large && chmod 750 d/e/large && : > empty && "
      "ln -s /etc/passwd link && ln -s /etc dir && mkfifo pipe && mkdir hidden && echo x > "
      "hidden/f "
      "&& chmod 0 hidden && echo x > unreadable && chmod 0 unreadable && "
      "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")' && "
      "ln -s /proc/self/fd/0 fd && touch \"$(printf '\\377')\"");
  ASSERT_TRUE(made.Exited(0)) << made.ToString();
  auto files = Collect(made.run_id);
  ASSERT_TRUE(collect_status_.ok()) << collect_status_.ToString();
  EXPECT_EQ(files["report.txt"].content, "report\n");
  EXPECT_EQ(files["report.txt"].mode, 0644u);
  EXPECT_EQ(files["d/e/large"].content, std::string(3'000'000, '\0'));
  EXPECT_EQ(files["d/e/large"].mode, 0750u);
  EXPECT_EQ(files["empty"].content, "");
  EXPECT_EQ(files["empty"].skipped, "");
  EXPECT_EQ(files["link"].skipped, "symbolic link");
  EXPECT_EQ(files["dir"].skipped, "symbolic link");
  EXPECT_EQ(files["fd"].skipped, "symbolic link");
  EXPECT_EQ(files["pipe"].skipped, "named pipe");
  EXPECT_EQ(files["sock"].skipped, "socket");
  EXPECT_NE(files["unreadable"].skipped.find("Permission denied"), std::string::npos);
  for (const auto& [path, file] : files) {
    EXPECT_TRUE(file.skipped.empty() || file.content.empty()) << path;
  }
  EXPECT_EQ(files["\xef\xbf\xbd"].skipped, "name not UTF-8");
  EXPECT_EQ(files.size(), 10u);
}

TEST_F(RunsTest, AnEarlierCellsRunCanStillBeCollected) {
  UseDiskCell();
  const ExecResult made = Shell("echo text > $ODYSSEY_RUN/outbox/f");
  ASSERT_TRUE(supervisor_.Remove(cell_, /*purge=*/false).ok());
  UseDiskCell();
  EXPECT_EQ(Collect(made.run_id)["f"].content, "text\n") << collect_status_.ToString();
}

TEST_F(RunsTest, TheOutboxItselfMayNotBeALink) {
  const ExecResult made = Shell("cd $ODYSSEY_RUN && rmdir outbox && ln -s /etc outbox");
  EXPECT_TRUE(Collect(made.run_id).empty());
  EXPECT_EQ(collect_status_.code(), Code::kPermissionDenied) << collect_status_.ToString();
}

// A client that named the run gets the files although the cell was for one command.
TEST_F(RunsTest, ASingleUseCellWaitsForWhoNamedItsRun) {
  auto request = SupervisorHarness::Request("once");
  request.set_single_use(true);
  cell_ = supervisor_.Cell(request);
  const std::string run = Inject({{"in", "text"}}).second;
  ASSERT_TRUE(
      Shell("cat $ODYSSEY_RUN/inbox/in > $ODYSSEY_RUN/outbox/out", {.run_id = run}).Exited(0));
  EXPECT_EQ(Collect(run)["out"].content, "text");
  EXPECT_TRUE(supervisor_.Remove(cell_).ok());
}

// ── What mounts say about files ─────────────────────────────────────────────────────────────────

class MountFilesTest : public RunsTest {
 protected:
  MountFilesTest() : notes_(supervisor_.directory() + "/notes") {
    fs::create_directory(notes_);
    fs::permissions(notes_, fs::perms::all);
    std::ofstream(notes_ / "a.txt") << "plain\n";
    std::ofstream(notes_ / "b.MD") << "shown\n";
    std::ofstream(notes_ / "large.md") << std::string(1234, 'x');
    auto request = SupervisorHarness::Request("notes");
    auto* mount = request.mutable_sandbox()->add_mounts();
    mount->set_source(notes_);
    mount->set_target("/notes");
    mount->set_access(policy::v1::ACCESS_READ_WRITE);
    mount->add_suffixes(".md");
    mount->set_max_file_bytes(1000);
    cell_ = supervisor_.Cell(request);
  }
  std::pair<Status, v1::FileOpResponse> Op(v1::FileOpRequest request) {
    grpc::ClientContext context;
    request.set_cell_id(cell_);
    v1::FileOpResponse response;
    const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
    return {Status(static_cast<Code>(status.error_code()), status.error_message()), response};
  }
  std::pair<Status, v1::FileOpResponse> Read(const std::string& path) {
    v1::FileOpRequest request;
    request.mutable_read()->set_path(path);
    return Op(request);
  }

  const fs::path notes_;
};

TEST_F(MountFilesTest, FileOperationsSeeSomeFilesAndCommandsAll) {
  EXPECT_EQ(Read("/notes/b.MD").second.read().content(), "shown\n");
  EXPECT_EQ(Read("/notes/a.txt").first,
            PermissionDenied("Cannot access '/notes/a.txt': suffix '.txt' not allowed.\n"
                             "Allowed suffixes: .md"));
  EXPECT_EQ(Read("/notes/large.md").first,
            FailedPrecondition("Cannot read '/notes/large.md': file too large (1,234 bytes).\n"
                               "Maximum allowed: 1,000 bytes"));
  v1::FileOpRequest write;
  write.mutable_write()->set_path("/notes/new.sh");
  EXPECT_EQ(Op(write).first.code(), Code::kPermissionDenied);
  EXPECT_FALSE(fs::exists(notes_ / "new.sh"));
  v1::FileOpRequest list;
  list.mutable_list()->set_path("/notes");
  const auto listed = Op(list).second;
  ASSERT_EQ(listed.list().entries_size(), 2) << listed.ShortDebugString();
  EXPECT_EQ(listed.list().entries(0).name(), "b.MD");
  // A convenience, no confinement.
  EXPECT_EQ(Shell("cat /notes/a.txt; wc -c < /notes/large.md").out, "plain\n1234\n");
}

}  // namespace
}  // namespace odyssey::testing
