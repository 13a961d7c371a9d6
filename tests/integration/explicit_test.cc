// Explicit mode: what is named runs, with all it needs; nothing else does, by no trick. Two layers
// hold: of unnamed programs the mounts are noexec, so that nothing maps them as code, the loader
// included; of what may be mapped only the named programs have Landlock's right to be executed.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

namespace pv1 = ::odyssey::policy::v1;

constexpr char kLoader[] = "/lib64/ld-linux-x86-64.so.2";

v1::PrepareCellRequest Naming(const std::vector<std::string>& tools) {
  v1::PrepareCellRequest request = SupervisorHarness::Request("explicit");
  request.mutable_sandbox()->set_executables_mode(pv1::EXECUTABLES_MODE_EXPLICIT);
  for (const std::string& tool : tools) request.mutable_sandbox()->add_executables(tool);
  return request;
}

bool IsDenied(const ExecResult& result) {
  return result.status.ok() && result.outcome.kind() == v1::OUTCOME_KIND_DENIED;
}

class ExplicitTest : public ::testing::Test {
 protected:
  std::string Cell(const std::vector<std::string>& tools) {
    return supervisor_.Cell(Naming(tools));
  }
  // A directory of the host with a file in it that may be executed there.
  std::string HostDirectory(const std::string& name, const std::string& file,
                            const std::string& content) {
    const std::string directory = supervisor_.directory() + "/" + name;
    mkdir(directory.c_str(), 0755);
    const std::string path = directory + "/" + file;
    std::ofstream(path) << content;
    chmod(path.c_str(), 0755);
    return directory;
  }
  static void Mount(const std::string& source, const std::string& target, bool executable,
                    v1::PrepareCellRequest* request) {
    pv1::Mount* mount = request->mutable_sandbox()->add_mounts();
    mount->set_source(source);
    mount->set_target(target);
    mount->set_access(pv1::ACCESS_READ_ONLY);
    mount->set_executable(executable);
  }

  SupervisorHarness supervisor_;
};

TEST_F(ExplicitTest, NamedToolsRunByEveryNameTheyHave) {
  const std::string cell = Cell({"sh", "ls"});
  ASSERT_TRUE(supervisor_.Shell(cell, "echo data > f").Exited(0));
  for (const std::string shell : {"sh", "/bin/sh", "/usr/bin/sh"}) {
    const ExecResult result =
        supervisor_.Exec(cell, {shell, "-c", "ls f; /bin/ls f; /usr/bin/ls f"});
    EXPECT_TRUE(result.Exited(0)) << result.ToString();
    EXPECT_EQ(result.out, "f\nf\nf\n");
  }
}

TEST_F(ExplicitTest, OtherToolsDoNot) {
  const std::string cell = Cell({"sh"});
  for (const std::string tool : {"ls", "id", "/usr/bin/id", "python3", "/usr/bin/python3"}) {
    const ExecResult direct = supervisor_.Exec(cell, {tool});
    EXPECT_TRUE(IsDenied(direct)) << tool << ": " << direct.ToString();
    const ExecResult by_shell = supervisor_.Shell(cell, tool);
    EXPECT_TRUE(by_shell.Exited(126)) << tool << ": " << by_shell.ToString();
  }
}

// What is there can be read all the same: a tool needs its data.
TEST_F(ExplicitTest, TheSystemsFilesStayReadable) {
  const std::string cell = Cell({"sh", "cat", "wc"});
  EXPECT_TRUE(supervisor_.Shell(cell, "cat /usr/bin/id | wc -c && cat /etc/os-release").Exited(0));
}

TEST_F(ExplicitTest, TheLoaderRunsNoOtherProgram) {
  const std::string cell = Cell({"sh", "true"});
  // It works, so what follows is refused and not broken.
  EXPECT_TRUE(supervisor_.Exec(cell, {kLoader, "/usr/bin/true"}).Exited(0));
  for (const std::string tool : {"/usr/bin/id", "/usr/bin/env", "/bin/ls"}) {
    const ExecResult result = supervisor_.Exec(cell, {kLoader, tool});
    EXPECT_TRUE(result.Exited(127)) << tool << ": " << result.ToString();
    EXPECT_NE(result.err.find("failed to map segment"), std::string::npos) << result.ToString();
  }
}

TEST_F(ExplicitTest, NoCopyOfAProgramRuns) {
  const std::string cell = Cell({"sh", "cp", "chmod", "true"});
  for (const std::string place :
       {"/workspace", "/tmp", "/cell/tmp", "/cell/data/home", "/dev/shm"}) {
    const std::string copy = place + "/copy";
    const ExecResult direct =
        supervisor_.Shell(cell, "cp /bin/true " + copy + " && chmod +x " + copy + " && " + copy);
    EXPECT_TRUE(direct.Exited(126)) << place << ": " << direct.ToString();
    EXPECT_TRUE(supervisor_.Exec(cell, {kLoader, copy}).Exited(127)) << place;
    const ExecResult preloaded = supervisor_.Exec(cell, {kLoader, "--preload", copy, "/bin/true"});
    EXPECT_NE(preloaded.err.find("cannot be preloaded"), std::string::npos)
        << place << ": " << preloaded.ToString();
  }
}

TEST_F(ExplicitTest, NoProgramInMemoryRuns) {
  const Findings findings = Probe(&supervisor_, Cell({"python3"}), R"(
def run(flags, *before):
    fd = os.memfd_create('x', flags)
    os.write(fd, open('/bin/true', 'rb').read())
    os.set_inheritable(fd, True)
    words = [*before, f'/proc/self/fd/{fd}']
    if os.spawnv(os.P_WAIT, words[0], words) != 0:
        raise OSError(errno.EACCES, 'refused')
for flags in [0, 1, 8, 16]:
    attempt(f'memfd {flags}', lambda: run(flags))
    attempt(f'memfd {flags} loaded', lambda: run(flags, '/lib64/ld-linux-x86-64.so.2'))
)");
  ExpectAllRefused(findings, 8);
}

// As a file that is made for the loader would have its code written, and run.
TEST_F(ExplicitTest, MemoryThatWasWrittenIsNotExecuted) {
  constexpr char kWrite[] = R"(
sub try { my ($name, $done) = @_; print "$name ", $done == -1 ? $!{EACCES} || $!{EPERM} : "done", "\n" }
use Errno; use constant {ANY => 0x22};
try('both', syscall(9, 0, 4096, 7, ANY, -1, 0));
try('gained', syscall(10, syscall(9, 0, 4096, 3, ANY, -1, 0), 4096, 5));
try('shared', syscall(30, syscall(29, 0, 4096, 01600), 0, 0100000));
)";
  const auto run = [&](std::vector<std::string> names) {
    return supervisor_.Exec(Cell(std::move(names)), {"perl", "-e", kWrite}).out;
  };
  const auto kept = run({"perl"});
  for (const char* name : {"both", "gained", "shared"}) {
    EXPECT_EQ(kept.find(std::string(name) + " done"), std::string::npos) << kept;
    EXPECT_NE(kept.find(name), std::string::npos) << kept;
  }
  const auto with_git = run({"perl", "git"});
  EXPECT_NE(with_git.find("both done"), std::string::npos) << with_git << "git needs it";
  EXPECT_EQ(with_git.find("shared done"), std::string::npos) << with_git;
}

TEST_F(ExplicitTest, NoOtherLibraryIsLoaded) {
  const Findings findings = Probe(&supervisor_, Cell({"python3"}), R"(
import shutil
def load(path):
    try:
        ctypes.CDLL(path)
        raise SystemExit(path + ' was loaded')
    except OSError as error:
        report(path, 'EACCES' if 'failed to map' in str(error) else str(error))
ctypes.CDLL('libm.so.6')
shutil.copy('/lib/x86_64-linux-gnu/libm.so.6', '/tmp/mine.so')
load('/tmp/mine.so')
load('/usr/lib/x86_64-linux-gnu/libBrokenLocale.so.1')
)");
  ExpectAllRefused(findings, 2);
}

// libc.so.6 is a program too: mapped by everything, and named by nobody.
TEST_F(ExplicitTest, LibrariesAreNotExecuted) {
  const std::string cell = Cell({"sh"});
  const ExecResult result = supervisor_.Exec(cell, {"/lib/x86_64-linux-gnu/libc.so.6"});
  EXPECT_TRUE(IsDenied(result)) << result.ToString();
  EXPECT_TRUE(supervisor_.Exec(supervisor_.Cell(), {"/lib/x86_64-linux-gnu/libc.so.6"}).Exited(0));
}

TEST_F(ExplicitTest, PythonHasItsModules) {
  const ExecResult result = supervisor_.Python(
      Cell({"python3"}),
      "import ssl, json, hashlib, sqlite3, ctypes, zlib, bz2, lzma, decimal, multiprocessing\n"
      "print(hashlib.sha256(json.dumps([1]).encode()).hexdigest()[:8], ssl.OPENSSL_VERSION[:7])");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "080a9ed4 OpenSSL\n");
}

TEST_F(ExplicitTest, GitHasItsCommands) {
  const ExecResult result = supervisor_.Shell(Cell({"sh", "git"}), R"(
git init -q . && git config user.name A && git config user.email a@example.org &&
echo data > f && git add f && git commit -qm first && git log --format=%s && git gc -q &&
git fsck && git http-fetch 2>/dev/null; test $? -eq 129 || test $? -eq 1)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "first\n");
}

TEST_F(ExplicitTest, ACompilerCompilesWhatIsNotExecuted) {
  if (access("/usr/bin/gcc", X_OK) != 0) GTEST_SKIP() << "no gcc on this host";
  const ExecResult result = supervisor_.Shell(Cell({"sh", "gcc", "ls"}), R"(
echo 'int main(void) { return 0; }' > a.c && gcc -o a a.c && ls a && ./a)");
  EXPECT_TRUE(result.Exited(126)) << result.ToString();
}

TEST_F(ExplicitTest, PerlHasItsModules) {
  if (access("/usr/bin/perl", X_OK) != 0) GTEST_SKIP() << "no perl on this host";
  const ExecResult result =
      supervisor_.Exec(Cell({"perl"}), {"perl", "-MPOSIX", "-MList::Util=sum", "-MDigest::SHA",
                                        "-e", "print sum(1, 2), POSIX::floor(1.5), \"\\n\""});
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "31\n");
}

TEST_F(ExplicitTest, NothingNamedRunsNothing) {
  const std::string cell = Cell({});
  EXPECT_TRUE(IsDenied(supervisor_.Shell(cell, "true")));
  EXPECT_TRUE(IsDenied(supervisor_.Exec(cell, {kLoader, "/bin/true"})));
  // Files are another matter.
  grpc::ClientContext context;
  v1::FileOpRequest write;
  write.set_cell_id(cell);
  write.mutable_write()->set_path("f");
  write.mutable_write()->set_content("data");
  v1::FileOpResponse response;
  EXPECT_TRUE(supervisor_.stub()->FileOp(&context, write, &response).ok());
}

TEST_F(ExplicitTest, AMissingToolIsSaidBeforeThereIsACell) {
  const auto made = supervisor_.Prepare(Naming({"sh", "no-such"}));
  EXPECT_EQ(made.status().code(), Code::kNotFound);
  EXPECT_EQ(made.status().message(), "executables: missing system tool: no-such");
  EXPECT_TRUE(supervisor_.CellProcesses().empty());
}

TEST_F(ExplicitTest, TheSameToolsAreTheSameWarmCell) {
  const std::string cell = Cell({"sh", "ls"});
  ASSERT_TRUE(supervisor_.Shell(cell, "echo data > /tmp/f").Exited(0));
  EXPECT_EQ(Cell({"sh", "ls"}), cell);
  EXPECT_EQ(supervisor_.Shell(cell, "ls /tmp").out, "f\n");
  EXPECT_NE(Cell({"sh", "ls", "cat"}), cell);
}

TEST_F(ExplicitTest, AMountOfProgramsNeedsTheirInterpreters) {
  auto request = Naming({"sh"});
  Mount(HostDirectory("by-sh", "run", "#!/bin/sh\necho ran\n"), "/by-sh", true, &request);
  Mount(HostDirectory("by-perl", "run", "#!/usr/bin/perl\nprint 1;\n"), "/by-perl", true, &request);
  Mount(HostDirectory("data", "run", "#!/bin/sh\necho ran\n"), "/data", false, &request);
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(supervisor_.Exec(cell, {"/by-sh/run"}).out, "ran\n");
  EXPECT_TRUE(IsDenied(supervisor_.Exec(cell, {"/by-perl/run"})));
  EXPECT_TRUE(IsDenied(supervisor_.Exec(cell, {"/data/run"})));
}

TEST_F(ExplicitTest, AMountOfProgramsIsOneInStandardModeToo) {
  auto request = SupervisorHarness::Request("standard");
  Mount(HostDirectory("programs", "run", "#!/bin/sh\necho ran\n"), "/programs", true, &request);
  Mount(HostDirectory("data", "run", "#!/bin/sh\necho ran\n"), "/data", false, &request);
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(supervisor_.Exec(cell, {"/programs/run"}).out, "ran\n");
  EXPECT_TRUE(IsDenied(supervisor_.Exec(cell, {"/data/run"})));
}

TEST_F(ExplicitTest, OneFileOfAReadOnlyTreeMayBeNamed) {
  const std::string tree = HostDirectory("tree", "run", "#!/bin/sh\necho ran\n");
  HostDirectory("tree", "other", "#!/bin/sh\necho ran\n");
  auto request = Naming({"sh", "/workspace/run", "/tree/run"});
  request.mutable_sandbox()->set_mode(pv1::MODE_READ_ONLY);
  request.set_workspace(tree);
  Mount(tree, "/tree", false, &request);
  const std::string cell = supervisor_.Cell(request);
  for (const std::string place : {"/workspace", "/tree"}) {
    EXPECT_EQ(supervisor_.Exec(cell, {place + "/run"}).out, "ran\n") << place;
    EXPECT_TRUE(IsDenied(supervisor_.Exec(cell, {place + "/other"}))) << place;
  }
}

TEST_F(ExplicitTest, AHostFileMayBeNamedByItsPath) {
  const std::string tree = HostDirectory("tools", "run", "#!/bin/sh\necho ran\n");
  const std::string cell = Cell({"sh", tree + "/run"});
  EXPECT_EQ(supervisor_.Exec(cell, {tree + "/run"}).out, "ran\n");
  EXPECT_FALSE(supervisor_.Prepare(Naming({"sh", tree + "/no-such"})).ok());
}

}  // namespace
}  // namespace odyssey::testing
