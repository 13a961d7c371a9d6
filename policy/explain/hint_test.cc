#include "policy/explain/hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/model/default_limits.h"
#include "tests/testing/hand_made_plan.h"

namespace odyssey::explain {
namespace {

using plan::EntryKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HintTest : public ::testing::Test {
 protected:
  HintTest() {
    compiled_.limits = policy::kDefaultLimits;
    compiled_.plan.entries = {
        testing::SystemTree(),
        {.kind = EntryKind::kTmpfs, .target = "/tmp", .access = plan::Access::kReadWrite},
        {.kind = EntryKind::kCellTree, .target = "/workspace", .access = plan::Access::kReadWrite},
        testing::HostTree("/data", "/srv/data"),
    };
    compiled_.confinement.rules = testing::RulesWriting({"/tmp", "/workspace"});
    compiled_.confinement.guards = {{.path = "/data", .deny = {"**/.env"}}};
  }

  // "access resource" of each, from the stderr of a command in `cwd` on a host that has ls.
  std::vector<std::string> Hints(const std::string& text, const std::string& cwd = "/workspace",
                                 int exit_code = 1) {
    const Command command = {
        {"sh"}, cwd, [](const std::string& name) { return name == "ls" ? "/usr/bin/ls" : ""; }};
    std::vector<std::string> out;
    for (const Denial& denial : FindHints({request_, compiled_}, command, exit_code, text)) {
      EXPECT_TRUE(denial.hint);
      out.push_back(denial.access + " " + denial.resource);
    }
    return out;
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
};

TEST_F(HintTest, SaysRuleAndGrant) {
  const auto hints = FindHints({request_, compiled_}, {{"touch"}, "/", {}}, 1,
                               "touch: cannot touch '/data/x': Read-only file system\n");
  ASSERT_THAT(hints, SizeIs(1));
  Denial expected{"path", "/data/x", "write", "mount /data read_only",
                  "sandbox.permissions.filesystem.mounts.write: [\"/srv/data\"]"};
  expected.hint = true;
  EXPECT_EQ(hints[0], expected);
}

// The same message in five languages, and as programs of other families put it.
TEST_F(HintTest, NoLanguageMatters) {
  for (const char* line :
       {"touch: cannot touch '/data/x': Read-only file system",
        "touch: impossible de faire un touch '/data/x': Système de fichiers accessible en lecture",
        "touch: '/data/x' kann nicht berührt werden: '/data/x': Das Dateisystem ist nur lesbar",
        "touch: /data/x に touch できません: /data/x: 読み込み専用ファイルシステムです",
        "touch: cannot touch \xE2\x80\x98/data/x\xE2\x80\x99: Permission denied",
        "sh: 1: cannot create /data/x: Permission denied",
        "PermissionError: [Errno 13] Permission denied: '/data/x'",
        "Error: EROFS: read-only file system, open '/data/x'",
        "open /data/x: read-only file system",
        "java.io.FileNotFoundException: /data/x (Read-only file system)",
        "Could not write to /data/x."}) {
    EXPECT_THAT(Hints(line), ElementsAre("write /data/x")) << line;
  }
}

TEST_F(HintTest, WhatIsNotShownOrDeniedByNameIsRead) {
  EXPECT_THAT(Hints("cat: /srv/secret: No such file or directory"),
              ElementsAre("read /srv/secret"));
  EXPECT_THAT(Hints("cat: /data/a/.env: Permission denied"), ElementsAre("read /data/a/.env"));
}

TEST_F(HintTest, RelativePathsBeginInTheCommandsDirectory) {
  EXPECT_THAT(Hints("tee: sub/x: Read-only file system", "/data"),
              ElementsAre("write /data/sub/x"));
  EXPECT_THAT(Hints("touch: cannot touch 'x': Read-only file system", "/data"),
              ElementsAre("write /data/x"));
  EXPECT_THAT(Hints("cp: ../data/x: no", "/workspace"), ElementsAre("write /data/x"));
}

TEST_F(HintTest, WhatThePolicyAllowsIsNone) {
  EXPECT_THAT(Hints("cat: /workspace/x: No such file or directory\ncat: /tmp/x: Permission denied\n"
                    "KeyError: '/usr'"),
              ElementsAre("write /usr"));
  EXPECT_THAT(Hints("cat: x/y: No such file or directory"), IsEmpty());
}

// In a directory in which every name is refused.
TEST_F(HintTest, WordsNumbersMetersPlacesAndUrlsAreNoPaths) {
  for (const char* line :
       {"100  5042  100  5042    0     0   9311      0 --:--:-- --:--:-- --:--:--  9319",
        " 12.5M  45%   1.2MB/s    0:00:03 (xfr#1, to-chk=0/3)", "3/5", "Test 3/5: 2/3:",
        "12/25/2026", "curl: (7) Failed to connect to https://example.org/a/b: no", "and/or",
        "ratio 5 kB/s", "NameError: name 'x' is not defined", "KeyError: 'x'", "ValueError: bad",
        "  File \"/data/t.py\", line 3, in <module>", "src/a.c:3:5: error: expected ';'",
        "FAILED tests/t.py::test_a - assert 0", "git@host.example:owner/repo: no"}) {
    EXPECT_THAT(Hints(line, "/data"), IsEmpty()) << line;
  }
}

TEST_F(HintTest, OfALineTheLastPath) {
  EXPECT_THAT(Hints("/usr/bin/tool: line 3: /data/x: Permission denied"),
              ElementsAre("write /data/x"));
  EXPECT_THAT(Hints("/bin/sh: 0: Cannot fork\n/usr/bin/tool: /workspace/x: no"), IsEmpty())
      << "a program's name";
}

TEST_F(HintTest, ExecutionIsMeantOnlyAfterTheShellsExitCode) {
  EXPECT_THAT(Hints("sh: 1: ./x: Permission denied", "/workspace", 126),
              ElementsAre("execute /workspace/x"));
  EXPECT_THAT(Hints("cat: ./x: Permission denied", "/workspace", 1), IsEmpty());
}

TEST_F(HintTest, ProgramThatThePolicyDoesNotName) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  compiled_.plan.entries[0].executable = false;
  for (const char* line :
       {"sh: 1: ls: not found", "sh: 1: ls: Permission denied", "env: 'ls': Permission denied",
        "bash: line 1: ls: command not found", "zsh: command not found: ls"}) {
    EXPECT_THAT(Hints(line, "/workspace", 127), ElementsAre("execute ls")) << line;
  }
  EXPECT_THAT(Hints("sh: 1: nosuch: not found", "/workspace", 127), IsEmpty());
  EXPECT_THAT(Hints("ls: no", "/workspace", 1), IsEmpty());
}

TEST_F(HintTest, OnlyTheEndCountsAndOnlyAFew) {
  std::string text = "x: /data/first: no\n";
  for (size_t i = 0; i < kMaxHintLines; ++i) text += "nothing\n";
  EXPECT_THAT(Hints(text), IsEmpty());
  text.clear();
  for (int i = 0; i < 9; ++i)
    text += "x: /data/" + std::string(1, static_cast<char>('a' + i)) + ": no\n";
  EXPECT_THAT(Hints(text),
              ElementsAre("write /data/f", "write /data/g", "write /data/h", "write /data/i"));
  EXPECT_THAT(Hints("a: /data/x: no\nb: '/data/x': no\n"), SizeIs(1));
  EXPECT_THAT(Hints(std::string(kMaxHintBytes, 'x') + ": /data/x: no"), SizeIs(1));
}

TEST_F(HintTest, NothingIsRefusedOnTheHostItself) {
  request_.mode = policy::Mode::kDangerFullAccess;
  compiled_.plan.entries.clear();
  EXPECT_THAT(Hints("touch: cannot touch '/usr/x': Permission denied"), IsEmpty());
}

}  // namespace
}  // namespace odyssey::explain
