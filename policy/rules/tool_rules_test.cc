#include "policy/rules/tool_rules.h"

#include <gtest/gtest.h>

namespace odyssey::rules {
namespace {

using List = std::vector<std::string>;

ToolRules Rules(const List& allow, const List& ask, const List& deny) {
  Result<ToolRules> rules = Parse(allow, ask, deny);
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return rules.ok() ? *rules : ToolRules{};
}

// "verdict rule".
std::string Bash(const ToolRules& rules, const std::string& command) {
  const Result<Decision> decision = Decide(rules, {.name = "Bash", .command = command});
  if (!decision.ok()) return decision.status().ToString();
  return std::string(VerdictName(decision->verdict)) + " " + decision->rule;
}

std::string Path(const ToolRules& rules, const std::string& tool, const std::string& path) {
  const Result<Decision> decision = Decide(rules, {.name = tool, .paths = {path}});
  return std::string(VerdictName(decision->verdict)) + " " + decision->rule;
}

TEST(ParseRuleTest, NamesTheMistakeInAnEntry) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "agent.tools.ask entries cannot be empty"},
      {"  ", "agent.tools.ask entries cannot be empty"},
      {"Bash(find:*",
       "agent.tools.ask entry `Bash(find:*` must end with `)` when using a granular matcher"},
      {"(x)", "agent.tools.ask entry `(x)` is missing a tool name"},
      {"Bash()", "agent.tools.ask entry `Bash()` is missing a matcher target"},
      {"Bash(a(b))", "agent.tools.ask entry `Bash(a(b))` cannot contain nested parentheses"},
      {"Bash)", "agent.tools.ask entry `Bash)` has an unmatched closing parenthesis"},
      {"Bash(a))", "agent.tools.ask entry `Bash(a))` has an unmatched closing parenthesis"},
      {"*(x)",
       "agent.tools.ask entry `*(x)` cannot have a matcher target for every tool: name the tool"},
  };
  for (const auto& [entry, message] : cases) {
    const Result<Rule> rule = ParseRule("agent.tools.ask", Verdict::kAsk, entry);
    ASSERT_FALSE(rule.ok()) << entry;
    EXPECT_EQ(rule.status().message(), message);
    EXPECT_EQ(rule.status().code(), Code::kInvalidArgument);
  }
}

TEST(ParseRuleTest, TrimsAndKeepsTheTarget) {
  const Result<Rule> rule = ParseRule("x", Verdict::kDeny, "  Bash(cargo build:*) ");
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ(*rule, (Rule{Verdict::kDeny, "Bash", "cargo build:*", "Bash(cargo build:*)"}));
}

TEST(ParseTest, SaysWhichEntryOfWhichListIsWrong) {
  const Result<ToolRules> rules = Parse({"Read"}, {}, {"Bash("});
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(rules.status().message(),
            "invalid tool permission rule `Bash(`: agent.tools.deny entry `Bash(` must end with "
            "`)` when using a granular matcher");
}

TEST(SelectToolsTest, FollowsAllowAskAndDeny) {
  const List registry = {"Bash", "Edit", "Read", "Write"};
  const auto select = [&](const ToolRules& rules, const List& manifest = {}) {
    return SelectTools(manifest, registry, rules);
  };
  EXPECT_EQ(select(Rules({"Read"}, {"Bash(cargo test:*)"}, {})), (List{"Bash", "Read"}));
  EXPECT_EQ(select(Rules({}, {}, {"Write", "Bash(curl:*)"})), (List{"Bash", "Edit", "Read"}));
  EXPECT_EQ(select(Rules({"*"}, {"Bash"}, {}), {"Write", "Bash"}), (List{"Bash", "Write"}));
  EXPECT_EQ(select(Rules({}, {"Bash"}, {})), (List{"Bash"}));
  EXPECT_EQ(select(Rules({}, {}, {})), registry);
  EXPECT_EQ(select(Rules({}, {"*"}, {})), registry);
  EXPECT_EQ(select(Rules({}, {}, {"*"})), List{});
  EXPECT_EQ(select(Rules({}, {}, {}), {"Write", "Nope", "Write"}), (List{"Write"}));
}

TEST(SelectToolsTest, ToolsOfServersAreOfferedWhereRulesNameThem) {
  const auto offers = [](const ToolRules& rules) {
    return IsOffered(rules, "mcp__git-hub__create_issue");
  };
  EXPECT_TRUE(offers(Rules({}, {}, {})));
  EXPECT_TRUE(offers(Rules({"*"}, {}, {})));
  EXPECT_TRUE(offers(Rules({}, {"mcp__git-hub__*"}, {})));
  EXPECT_TRUE(offers(Rules({"mcp__*__create_*"}, {}, {})));
  EXPECT_FALSE(offers(Rules({"Bash"}, {}, {})));
  EXPECT_FALSE(offers(Rules({"mcp__git__*"}, {}, {})));
  EXPECT_FALSE(offers(Rules({"*"}, {}, {"mcp__git-hub__create_issue"})));
  EXPECT_FALSE(offers(Rules({"*"}, {}, {"mcp__*"})));
}

TEST(ServedToolTest, APatternSpeaksOfWholeNamesOfServersAlone) {
  const auto decide = [](const char* rule, const char* tool) {
    return Decide(Rules({}, {}, {rule}), {tool, "", {}, ""})->verdict;
  };
  EXPECT_EQ(decide("mcp__s__*", "mcp__s__a"), Verdict::kDeny);
  EXPECT_EQ(decide("mcp__s__*_b", "mcp__s__a_b_b"), Verdict::kDeny);
  EXPECT_EQ(decide("mcp__s__a", "mcp__s__ab"), Verdict::kAllow);
  EXPECT_EQ(decide("mcp__s__*b", "mcp__s__ba"), Verdict::kAllow);
  EXPECT_EQ(decide("mcp__*", "Bash"), Verdict::kAllow);
  EXPECT_EQ(decide("Ba*", "mcp__s__a"), Verdict::kAllow);
  EXPECT_EQ(Decide(Rules({}, {}, {"Ba*"}), {"Bash", "ls", {}, ""})->verdict, Verdict::kAllow);
}

TEST(SelectToolsTest, JobIsWhereBashIs) {
  const List registry = {"Bash", "Job", "Read"};
  EXPECT_EQ(SelectTools({"Bash"}, registry, Rules({}, {}, {})), (List{"Bash", "Job"}));
  EXPECT_EQ(SelectTools({}, registry, Rules({"Bash(git:*)"}, {}, {})), (List{"Bash", "Job"}));
  EXPECT_EQ(SelectTools({}, registry, Rules({"Read"}, {}, {})), List{"Read"});
  EXPECT_EQ(SelectTools({}, registry, Rules({}, {}, {"Bash"})), List{"Read"});
  EXPECT_EQ(SelectTools({}, registry, Rules({}, {}, {"Job"})), (List{"Bash", "Read"}));
  EXPECT_EQ(SelectTools({}, registry, Rules({}, {}, {"Job(input)"})), registry);
  EXPECT_EQ(SelectTools({"Job", "Read"}, registry, Rules({}, {}, {})), List{"Read"});
}

// A rule against Edit is not left open by another tool that edits.
TEST(DecideTest, ARuleForEditSpeaksOfMultiEdit) {
  const ToolRules rules = Rules({}, {"Edit"}, {"Edit(secrets/*)", "MultiEdit(own/*)"});
  EXPECT_EQ(Path(rules, "MultiEdit", "a"), "ask Edit");
  EXPECT_EQ(Path(rules, "MultiEdit", "/workspace/secrets/a"), "deny Edit(secrets/*)");
  EXPECT_EQ(Path(rules, "MultiEdit", "own/a"), "deny MultiEdit(own/*)");
  EXPECT_EQ(Path(rules, "Edit", "own/a"), "ask Edit");
  EXPECT_EQ(Path(Rules({}, {}, {"Write"}), "MultiEdit", "a"), "allow ");

  const List registry = {"Bash", "Edit", "MultiEdit"};
  EXPECT_EQ(SelectTools({}, registry, Rules({}, {}, {"Edit"})), List{"Bash"});
  EXPECT_EQ(SelectTools({}, registry, Rules({"Edit"}, {}, {})), (List{"Edit", "MultiEdit"}));
  EXPECT_EQ(SelectTools({}, registry, Rules({"MultiEdit"}, {}, {})), List{"MultiEdit"});
  EXPECT_EQ(SelectTools({}, registry, Rules({"Edit"}, {}, {"MultiEdit"})), List{"Edit"});
}

TEST(DecideTest, AnswersTheWorkedExamples) {
  const ToolRules find = Rules({}, {"Bash(find:*)"}, {"Bash(cargo build:*)"});
  EXPECT_EQ(Bash(find, "find ./src -name *.rs"), "ask Bash(find:*)");
  EXPECT_EQ(Bash(find, "cargo build --workspace"), "deny Bash(cargo build:*)");
  EXPECT_EQ(Bash(find, "cargo test -p t"), "allow ");
  EXPECT_EQ(Bash(Rules({"Bash(curl:*)"}, {"Bash"}, {}), "curl -s x"), "allow Bash(curl:*)");
  EXPECT_EQ(Bash(Rules({"Bash"}, {}, {"Bash(curl:*)"}), "curl -s x"), "deny Bash(curl:*)");
  const ToolRules skill = Rules({}, {"Skill", "Bash(cargo test:*)"}, {});
  EXPECT_EQ(Path(skill, "Read", "a"), "allow ");
  EXPECT_EQ(Path(skill, "Skill", "deploy"), "ask Skill");
  EXPECT_EQ(Bash(skill, "cargo test"), "ask Bash(cargo test:*)");
  EXPECT_EQ(Bash(Rules({"Bash(a:*)"}, {}, {"Bash(a b:*)"}), "a b c"), "deny Bash(a b:*)");
}

TEST(DecideTest, MatchesGlobsOverPrefixesOfTheWords) {
  const auto asks = [](const std::string& rule, const std::string& command) {
    return Bash(Rules({}, {rule}, {}), command) == "ask " + rule;
  };
  EXPECT_TRUE(asks("Bash(*)", "ls"));
  EXPECT_TRUE(asks("Bash(*)", "cargo test -p x"));
  EXPECT_TRUE(asks("Bash(git*:*)", "git-lfs x"));
  EXPECT_TRUE(asks("Bash(git*:*)", "git x"));
  EXPECT_TRUE(asks("Bash(cargo test:)", "cargo test"));
  EXPECT_FALSE(asks("Bash(cargo test:)", "cargo test -p x"));
  EXPECT_TRUE(asks("Bash(cargo test:-p x)", "cargo test -p x"));
  EXPECT_FALSE(asks("Bash(cargo:*)", "cargo-audit"));
  EXPECT_TRUE(asks("Bash(*push*:*)", "git push origin"));
  EXPECT_TRUE(asks("Bash(curl:*)", "c\"\"u'r'\\l x"));
}

TEST(DecideTest, EveryToolIsMeantByAStar) {
  const ToolRules ask = Rules({}, {"*"}, {});
  EXPECT_EQ(Bash(ask, "ls"), "ask *");
  EXPECT_EQ(Path(ask, "Read", "a"), "ask *");
  EXPECT_EQ(Path(Rules({}, {}, {"*"}), "Write", "a"), "deny *");
}

TEST(DecideTest, CoarseRulesCountForEveryLine) {
  for (const char* line : {"", "time", "# x", "f() { }", "A=1", "> f", "sh -c ''", "eval", "{ }"}) {
    EXPECT_EQ(Bash(Rules({}, {}, {"Bash"}), line), "deny Bash") << line;
  }
}

TEST(DecideTest, RefusesALineTheShellCannotRead) {
  const ToolRules rules = Rules({}, {"Bash"}, {});
  for (const char* line : {"echo 'unterminated", "echo \"x", "echo `x", "echo $(echo 'x)"}) {
    EXPECT_EQ(Bash(rules, line), "INVALID_ARGUMENT: invalid shell command: missing closing quote")
        << line;
  }
  EXPECT_EQ(Bash(rules, std::string("a\0b", 3)),
            "INVALID_ARGUMENT: invalid shell command: a NUL byte");
  EXPECT_EQ(Bash(rules, std::string(kMaxCommandBytes + 1, 'x')),
            "INVALID_ARGUMENT: invalid shell command: longer than 65536 bytes");
}

TEST(DecideTest, FindsADeniedProgramWhereverItStands) {
  const ToolRules rules = Rules({}, {}, {"Bash(curl:*)"});
  for (const char* line : {"cd / && curl x",
                           "env curl x",
                           "FOO=1 curl x",
                           "sh -c 'curl x'",
                           "/usr/bin/curl x",
                           "(curl x)",
                           "echo $(curl x)",
                           "true|curl -d@- x",
                           "timeout 5 curl x",
                           "\\curl x",
                           "c\"\"url x",
                           "curl",
                           "true; curl x",
                           "true & curl x",
                           "true\ncurl x",
                           "true || curl x",
                           "echo `curl x`",
                           "echo \"a $(curl x) b\"",
                           "cat <(curl x)",
                           "tee >(curl x)",
                           "{ curl x; }",
                           "if true; then curl x; fi",
                           "while curl x; do :; done",
                           "for i in $(curl x); do :; done",
                           "for i in a b; do curl $i; done",
                           "case x in a|b) true ;; *) curl x ;; esac",
                           "f() { curl x; }; f",
                           "function f { curl x; }; f",
                           "! curl x",
                           "time curl x",
                           "time -p curl x",
                           "env -i -u A B=1 curl x",
                           "nice -n 5 curl x",
                           "nice -10 curl x",
                           "nohup curl x",
                           "timeout -s KILL --kill-after=1 5 curl x",
                           "sudo -u root curl x",
                           "sudo -n -- curl x",
                           "xargs curl",
                           "echo x | xargs -n1 -I{} curl {}",
                           "command curl x",
                           "exec curl x",
                           "exec -a name curl x",
                           "setsid -w curl x",
                           "stdbuf -oL -e0 curl x",
                           "builtin curl",
                           "env timeout 5 nice sh -c 'env curl x'",
                           "bash -lc 'curl x'",
                           "bash -e -o pipefail -c 'curl x'",
                           "sh -c \"sh -c 'curl x'\"",
                           "eval curl x",
                           "eval 'curl x'",
                           "trap 'curl x' EXIT",
                           "find . -exec curl {} \\;",
                           "find . -name a -execdir env curl {} +",
                           "busybox curl x",
                           "flock /tmp/l curl x",
                           "> out curl x",
                           "2>/dev/null curl x",
                           "curl>out",
                           "cu\\\nrl x",
                           "A=$(curl x)",
                           "A=(1 $(curl x))",
                           "echo ${A:-$(curl x)}",
                           "echo $((1 + $(curl x)))",
                           "cat <<E\n$(curl x)\nE",
                           "cat <<'E'\nit's\nE\ncurl x",
                           "cat <<-E\n\tx\n\tE\ncurl x",
                           "# it's\ncurl x",
                           "echo a#b; curl x",
                           "(true); (curl x)",
                           "((curl x))",
                           "$( (curl x) )",
                           "echo \"${A}\"; curl x",
                           "coproc curl x",
                           "true &>/dev/null; curl x",
                           "[ -f a ] && curl x",
                           "[[ -f a ]] && curl x",
                           "echo {a,b}; curl x"}) {
    EXPECT_EQ(Bash(rules, line), "deny Bash(curl:*)") << line;
  }
}

TEST(DecideTest, DoesNotTakeArgumentsForPrograms) {
  const ToolRules rules = Rules({}, {}, {"Bash(curl:*)", "Bash(git push:*)"});
  for (const char* line : {"echo curl x",
                           "echo 'curl x'",
                           "grep -r \"curl\" .",
                           "# curl x",
                           "ls # ; curl x",
                           "cat <<'E'\ncurl x\n$(curl x)\nE",
                           "apt-get install curl",
                           "A=curl true",
                           "echo > curl",
                           "case curl in curl) true ;; esac",
                           "for i in curl; do true; done",
                           "echo \\$x",
                           "echo $HOME",
                           "ls *.c",
                           "find . -name curl",
                           "env A=curl true",
                           "git status",
                           "git commit -m \"push $X\"",
                           "command -v curl",
                           "timeout 5 grep curl a",
                           "echo '$(curl x)'"}) {
    EXPECT_EQ(Bash(rules, line), "allow ") << line;
  }
}

TEST(DecideTest, AsksWhenTheCommandIsKnownOnlyAtRunTime) {
  const ToolRules deny = Rules({"Bash"}, {}, {"Bash(curl:*)"});
  const ToolRules granular = Rules({"Bash(ls:*)"}, {}, {});
  for (const char* line : {"eval \"$X\"",
                           "$X y",
                           "\"$X\" y",
                           "sh -c \"$X\"",
                           "bash -c \"ls $X\"",
                           "cu?l x",
                           "{curl,x}",
                           "c{u,u}rl x",
                           "echo x | sh",
                           "sh <<E\ncurl x\nE",
                           "$(echo curl) x",
                           "`echo a` x",
                           "PATH=. ls",
                           "LD_PRELOAD=./x ls",
                           "export PATH=.",
                           ". ./x",
                           "source x",
                           "alias ls=x",
                           "xargs -Z ls",
                           "strace ls",
                           "su -c ls",
                           "env -S 'ls x'",
                           "$'ls' x",
                           "echo $'a\\'; b'",
                           "$\\\n(ls)",
                           "echo $[1]",
                           "((i++))",
                           "cat <<E$X\nE",
                           "ls )",
                           "ls (",
                           "x=${x@P}",
                           "/opt/x/env ls",
                           "cat <<E\nno end",
                           "trap \"$X\" EXIT",
                           "env PATH=. ls"}) {
    EXPECT_EQ(Bash(deny, line).substr(0, 4), "ask ") << line;
    EXPECT_EQ(Bash(granular, line).substr(0, 4), "ask ") << line;
    EXPECT_EQ(Bash(Rules({}, {}, {}), line), "allow ") << line;
    EXPECT_EQ(Bash(Rules({"Bash"}, {}, {}), line), "allow Bash") << line;
  }
}

TEST(DecideTest, AsksWhenUnknownWordsMayCompleteADeniedCommand) {
  const ToolRules rules = Rules({"Bash(git:*)"}, {}, {"Bash(git push:*)"});
  EXPECT_EQ(Bash(rules, "git $X"), "ask Bash(git push:*)");
  EXPECT_EQ(Bash(rules, "git pu[s]h x"), "ask Bash(git push:*)");
  EXPECT_EQ(Bash(rules, "git {push,origin}"), "ask Bash(git push:*)");
  EXPECT_EQ(Bash(rules, "git $X status"), "ask Bash(git push:*)");
  EXPECT_EQ(Bash(rules, "echo push | xargs git"), "ask Bash(git push:*)");
  EXPECT_EQ(Bash(rules, "git status $X"), "allow Bash(git:*)");
}

TEST(DecideTest, AnAllowCoversOnlyWhatItNames) {
  const ToolRules rules = Rules({"Bash(curl:*)"}, {"Bash"}, {});
  for (const char* line :
       {"curl x", "curl $URL", "/usr/bin/curl x", "timeout 5 curl x", "curl x | curl y",
        "sh -c 'curl x'", "curl x > out", "(curl x) 2>&1", "A=1 curl x"}) {
    EXPECT_EQ(Bash(rules, line), "allow Bash(curl:*)") << line;
  }
  for (const char* line :
       {"curl x; rm -rf ~", "curl x && rm y", "curl x | sh", "curl $(rm x)", "curl x & rm y",
        "./curl x", "/workspace/curl x", "PATH=. curl x", "A=1", "> ~/.profile", "curl x; > f",
        "echo curl", "sh -c 'rm x; curl y'", "./sh -c 'curl x'", "", "# curl"}) {
    EXPECT_EQ(Bash(rules, line), "ask Bash") << line;
  }
}

TEST(DecideTest, WrappersCountThemselves) {
  const ToolRules rules = Rules({"Bash(ls:*)"}, {}, {"Bash(sudo:*)", "Bash(eval:*)"});
  EXPECT_EQ(Bash(rules, "sudo ls"), "deny Bash(sudo:*)");
  EXPECT_EQ(Bash(rules, "env sudo ls"), "deny Bash(sudo:*)");
  EXPECT_EQ(Bash(rules, "eval ls"), "deny Bash(eval:*)");
}

TEST(DecideTest, MatchesPathsByEveryNameTheyHave) {
  const ToolRules rules = Rules({}, {}, {"Read(secrets/*)", "Write(/etc/*)"});
  for (const char* path : {"secrets/a", "./secrets/a", "secrets//a", "x/../secrets/a",
                           "/workspace/secrets/a", "/workspace/./secrets/b/c"}) {
    EXPECT_EQ(Path(rules, "Read", path), "deny Read(secrets/*)") << path;
    EXPECT_EQ(Path(rules, "Edit", path), "allow ") << path;
    EXPECT_EQ(Path(rules, "Write", path), "allow ") << path;
    EXPECT_TRUE(IsPathDenied(rules, "Read", path));
  }
  for (const char* path : {"secret", "secrets", "a/secrets/b", "/secrets/a", "../secrets/a"}) {
    EXPECT_EQ(Path(rules, "Read", path), "allow ") << path;
    EXPECT_FALSE(IsPathDenied(rules, "Read", path));
  }
  EXPECT_EQ(Path(rules, "Write", "/etc/../etc/passwd"), "deny Write(/etc/*)");
  EXPECT_EQ(Path(Rules({}, {"Read(./a*)"}, {}), "Read", "ab"), "ask Read(./a*)");
}

TEST(DecideTest, ATreeIsItsDirectoryToo) {
  const ToolRules rules = Rules({}, {}, {"Read(secrets/**)", "LS(secrets/**)", "Skill(deploy*)"});
  for (const char* path :
       {"secrets", "./secrets/", "/workspace/secrets", "secrets/a/b", "x/../secrets"}) {
    EXPECT_EQ(Path(rules, "Read", path), "deny Read(secrets/**)") << path;
    EXPECT_EQ(Path(rules, "LS", path), "deny LS(secrets/**)") << path;
  }
  for (const char* path : {"secrets2", "a/secrets", "secrets.txt", "."}) {
    EXPECT_EQ(Path(rules, "Read", path), "allow ") << path;
  }
  EXPECT_EQ(Path(rules, "Skill", "deploy-prod"), "deny Skill(deploy*)");
  EXPECT_EQ(Path(rules, "Skill", "build"), "allow ");
}

// The characters that stand for unknown text in a shell line are plain ones in a path.
TEST(DecideTest, APathHoldsNoUnknownText) {
  const ToolRules rules = Rules({}, {}, {"Read(secrets/*)"});
  EXPECT_EQ(Path(rules, "Read", "secrets/\x01"), "deny Read(secrets/*)");
  EXPECT_EQ(Path(rules, "Read", "\x01/a"), "allow ");
  EXPECT_EQ(Path(rules, "Read", "\x02"), "allow ");
}

TEST(DecideTest, FilesOfALineCountFromWhereItStarts) {
  const ToolRules rules = Rules({}, {}, {"Write(src/**)"});
  const auto verdict = [&](const std::string& command, const std::string& cwd) {
    return Decide(rules, {.name = "Bash", .command = command, .paths = {}, .cwd = cwd})->verdict;
  };
  EXPECT_EQ(verdict("echo > a", "src"), Verdict::kDeny);
  EXPECT_EQ(verdict("echo > a", "/workspace/src/x"), Verdict::kDeny);
  EXPECT_EQ(verdict("echo > ../src/a", "out"), Verdict::kDeny);
  EXPECT_EQ(verdict("echo > a", "out"), Verdict::kAllow);
  EXPECT_EQ(verdict("echo > src/a", "/tmp"), Verdict::kAllow);
}

TEST(DecideTest, SaysWhatEachPartComesTo) {
  const ToolRules rules = Rules({"Bash(echo:*)"}, {"Write"}, {"Bash(git push:*)"});
  std::vector<Part> parts;
  const ToolCall call{
      .name = "Bash", .command = "git -C r push; echo x > f", .paths = {}, .cwd = ""};
  ASSERT_TRUE(Decide(rules, call, &parts).ok());
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].text, "git -C r push");
  EXPECT_EQ(parts[0].canonical, "git push");
  EXPECT_EQ(parts[0].rule, "Bash(git push:*)");
  EXPECT_EQ(parts[0].risk, RiskClass::kNetworkEgress);
  EXPECT_EQ(parts[1].rule, "Bash(echo:*)");
  EXPECT_EQ(parts[2].text, "> f");
  EXPECT_EQ(parts[2].verdict, Verdict::kAsk);
}

TEST(DecideTest, TheStrictestOfSeveralPathsCounts) {
  const ToolRules rules = Rules({}, {"Read(a)"}, {"Read(b)"});
  EXPECT_EQ(Decide(rules, {.name = "Read", .paths = {"x", "b", "a"}})->rule, "Read(b)");
  EXPECT_EQ(Decide(rules, {.name = "Read"})->verdict, Verdict::kAllow);
}

TEST(DecideTest, TheScopeSaysWhatAllowAlwaysWouldCover) {
  const auto scope = [](const ToolRules& rules, const ToolCall& call) {
    return Decide(rules, call)->scope;
  };
  const ToolRules rules = Rules({}, {"Bash(find:*)", "Write", "*"}, {});
  EXPECT_EQ(scope(rules, {.name = "Bash", .command = "find . | sort; find x"}),
            "* + Bash(find:*): find, sort");
  EXPECT_EQ(scope(rules, {.name = "Bash", .command = "find $X"}), "Bash(find:*): find");
  EXPECT_EQ(scope(rules, {.name = "Bash", .command = "find .; eval $X"}),
            "* + Bash(find:*): exactly `find .; eval $X`");
  EXPECT_EQ(scope(rules, {.name = "Bash", .command = "> f"}), "*: exactly `> f`");
  EXPECT_EQ(scope(rules, {.name = "Read", .paths = {"a"}}), "*: Read");
  EXPECT_EQ(scope(Rules({}, {"Write"}, {}), {.name = "Write", .paths = {"a"}}), "Write");
}

// found by use: after "always" for `git --version && rm -rf ./tmp`, `rm -rf ~ && git --version`
// ran.
TEST(DecideTest, AnAlwaysCoversNoMoreThanIsShown) {
  const ToolRules rules = Rules({}, {"Bash", "Bash(cat:*)", "Read(secrets/**)"}, {});
  const auto scope = [&](const std::string& command, const std::string& cwd = "") {
    return Decide(rules, {.name = "Bash", .command = command, .paths = {}, .cwd = cwd})->scope;
  };
  for (const char* line : {"git --version && rm -rf ./tmp",
                           "python3 -c 'print(1)'",
                           "sh x",
                           "dd if=a of=b",
                           "curl x",
                           "npm ci",
                           "mytool x",
                           "./ls",
                           "ls > f",
                           "find . -delete",
                           "find . -exec rm {} +",
                           "rm $X",
                           "eval x",
                           "sed -i s/a/b/ f",
                           "awk 'BEGIN{system(\"x\")}'",
                           "git push",
                           "git clean -f",
                           "ssh h ls",
                           "make x",
                           "git -c core.pager=x log",
                           "echo `date` | sh"}) {
    EXPECT_EQ(scope(line), std::string("Bash: exactly `") + line + "`") << line;
  }
  EXPECT_EQ(scope("rm a", "out"), "Bash: exactly `rm a` in out");
  EXPECT_EQ(scope("ls -la | grep x"), "Bash: grep, ls");
  EXPECT_EQ(scope("git -C r log -3; git commit -m x"), "Bash: git commit, git log");
  // A later call that another rule asks about has another scope.
  EXPECT_EQ(scope("cat a"), "Bash(cat:*): cat");
  EXPECT_EQ(scope("cat secrets/a"), "Bash(cat:*) + Read(secrets/**): cat");
}

TEST(DecideTest, TheReasonNamesTheCommandAndTheRule) {
  const ToolRules rules = Rules({}, {}, {"Bash(curl:*)"});
  EXPECT_EQ(Decide(rules, {.name = "Bash", .command = "ls; curl $X"})->reason,
            "`curl …` matches deny rule Bash(curl:*)");
  EXPECT_EQ(
      Decide(rules, {.name = "Bash", .command = "eval x"})->reason,
      "what runs cannot be known beforehand (eval), and there are rules such as Bash(curl:*)");
}

TEST(DecideTest, DeepAndLongLinesEndInAnAnswer) {
  const ToolRules rules = Rules({}, {}, {"Bash(curl*:*)"});
  std::string nested;
  std::string chain;
  for (int i = 0; i < 5000; ++i) {
    nested += "$(( $(";
    chain += "env ";
  }
  EXPECT_EQ(Bash(rules, nested), "ask ");
  EXPECT_EQ(Bash(rules, chain + "curl"), "ask ");
  std::string many;
  for (int i = 0; i < 6000; ++i) many += "ls;";
  EXPECT_EQ(Bash(rules, many + "curl x"), "ask ");
}

}  // namespace
}  // namespace odyssey::rules
