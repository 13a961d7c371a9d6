#include "image/dockerfile/dockerfile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace odyssey::dockerfile {
namespace {

// "LINE: text" of every problem.
std::vector<std::string> ProblemsOf(const std::string& text) {
  Problems problems;
  (void)ParseDockerfile(text, &problems);
  std::vector<std::string> out;
  for (const Problem& problem : problems) {
    out.push_back(std::to_string(problem.line) + ": " + problem.text);
  }
  return out;
}

// Of a text without a problem.
Dockerfile Parsed(const std::string& text) {
  Problems problems;
  Dockerfile file = ParseDockerfile(text, &problems);
  EXPECT_EQ(problems, Problems()) << text;
  return file;
}

// The only instruction behind a FROM.
Instruction One(const std::string& text) {
  const Dockerfile file = Parsed("FROM base\n" + text);
  EXPECT_EQ(file.stages.size(), 1u);
  EXPECT_EQ(file.stages[0].instructions.size(), 1u) << text;
  return file.stages[0].instructions.at(0);
}

using Words = std::vector<std::string>;

TEST(DockerfileTest, Stages) {
  const Dockerfile file = Parsed(
      "# of the base\nARG V=12\nfrom --platform=$BUILDPLATFORM debian:${V} as Build\n"
      "RUN make\n\nFROM scratch\nCOPY --from=build /out /\n");
  ASSERT_EQ(file.stages.size(), 2u);
  EXPECT_EQ(file.arguments.size(), 1u);
  EXPECT_EQ(file.stages[0].base, "debian:${V}");
  EXPECT_EQ(file.stages[0].platform, "$BUILDPLATFORM");
  EXPECT_EQ(file.stages[0].name, "build");
  EXPECT_EQ(file.stages[0].line, 3);
  EXPECT_EQ(file.stages[1].name, "");
  EXPECT_EQ(file.stages[1].instructions[0].flags.at("from"), "build");
  EXPECT_EQ(file.stages[1].instructions[0].line, 7);
}

TEST(DockerfileTest, WordsOfEachInstruction) {
  const struct {
    std::string text;
    Kind kind;
    Words words;
    bool json;
  } cases[] = {
      {"RUN make  all", Kind::kRun, {"make  all"}, false},
      {"run [\"make\", \"all\"]", Kind::kRun, {"make", "all"}, true},
      {"RUN [ -f x ] && y", Kind::kRun, {"[ -f x ] && y"}, false},
      {"RUN a \\\n  # not a part\n\n  b", Kind::kRun, {"a   b"}, false},
      {"RUN a \\  \nb", Kind::kRun, {"a b"}, false},
      {"RUN a \\\\\nUSER x", Kind::kRun, {"a \\\\"}, false},
      {"COPY a \"b c\" /d", Kind::kCopy, {"a", "\"b c\"", "/d"}, false},
      {"COPY [\"a b\", \"/d\"]", Kind::kCopy, {"a b", "/d"}, true},
      {"ADD --chown=1:2 --chmod=0755 a.tar /d/", Kind::kAdd, {"a.tar", "/d/"}, false},
      {"WORKDIR /a b", Kind::kWorkdir, {"/a b"}, false},
      {"USER me:us", Kind::kUser, {"me:us"}, false},
      {"SHELL [\"/bin/bash\", \"-c\"]", Kind::kShell, {"/bin/bash", "-c"}, true},
      {"CMD a b", Kind::kCmd, {"a b"}, false},
      {"CMD []", Kind::kCmd, {}, true},
      {"ENTRYPOINT [\"a\"]", Kind::kEntrypoint, {"a"}, true},
      {"EXPOSE 80 443/udp", Kind::kExpose, {"80", "443/udp"}, false},
      {"VOLUME /a /b", Kind::kVolume, {"/a", "/b"}, false},
      {"VOLUME [\"/a\"]", Kind::kVolume, {"/a"}, true},
      {"STOPSIGNAL SIGTERM", Kind::kStopSignal, {"SIGTERM"}, false},
      {"MAINTAINER me, \"you", Kind::kMaintainer, {"me, \"you"}, false},
      {"\tRUN x\r", Kind::kRun, {"x"}, false},
  };
  for (const auto& c : cases) {
    Problems problems;
    const Dockerfile file = ParseDockerfile("FROM base\n" + c.text + "\n", &problems);
    ASSERT_EQ(problems, Problems()) << c.text;
    const Instruction& instruction = file.stages[0].instructions.at(0);
    EXPECT_EQ(instruction.kind, c.kind) << c.text;
    EXPECT_EQ(instruction.words, c.words) << c.text;
    EXPECT_EQ(instruction.json, c.json) << c.text;
    EXPECT_EQ(instruction.line, 2) << c.text;
  }
}

TEST(DockerfileTest, Pairs) {
  using Pairs = decltype(Instruction::pairs);
  EXPECT_EQ(One("ENV A=1 B=\"2 3\" C=4\\ 5").pairs,
            (Pairs{{"A", "1"}, {"B", "\"2 3\""}, {"C", "4\\ 5"}}));
  EXPECT_EQ(One("ENV A some  words").pairs, (Pairs{{"A", "some  words"}}));
  EXPECT_EQ(One("ENV A=").pairs, (Pairs{{"A", ""}}));
  EXPECT_EQ(One("LABEL a.b=c \"d e\"=f").pairs, (Pairs{{"a.b", "c"}, {"\"d e\"", "f"}}));
  EXPECT_EQ(One("ARG A B=1 C=").pairs, (Pairs{{"A", std::nullopt}, {"B", "1"}, {"C", ""}}));
}

TEST(DockerfileTest, Heredocs) {
  const Instruction script = One("RUN <<EOF\nset -e\n  make\nEOF\n");
  EXPECT_EQ(script.words, Words{"<<EOF"});
  ASSERT_EQ(script.heredocs.size(), 1u);
  EXPECT_EQ(script.heredocs[0], (Heredoc{"EOF", "<<EOF", "set -e\n  make\n", true}));

  const Instruction copy = One("COPY <<-'a' <<b /d/\n\tone $X\n\ta\n\ttwo\nb\n");
  ASSERT_EQ(copy.heredocs.size(), 2u);
  EXPECT_EQ(copy.heredocs[0], (Heredoc{"a", "<<-'a'", "one $X\n", false}));
  EXPECT_EQ(copy.heredocs[1], (Heredoc{"b", "<<b", "\ttwo\n", true}));

  const Instruction piped = One("RUN cat <<EOF 3<<X >/f && : \"<<no\"\n# text\nEOF\nX\n");
  ASSERT_EQ(piped.heredocs.size(), 2u);
  EXPECT_EQ(piped.heredocs[0].content, "# text\n");
  EXPECT_EQ(One("RUN cat <<<EOF").heredocs.size(), 0u);
  // What follows is an instruction again.
  const Dockerfile file = Parsed("FROM a\nRUN <<EOF\nRUN no\nEOF\nUSER x\n");
  EXPECT_EQ(file.stages[0].instructions.size(), 2u);
  EXPECT_EQ(file.stages[0].instructions[1].line, 5);
}

TEST(DockerfileTest, Directives) {
  const Dockerfile file =
      Parsed("# escape=`\n# syntax = docker/dockerfile:1.7\nFROM a\nRUN b `\n c\n");
  EXPECT_EQ(file.escape, '`');
  EXPECT_EQ(file.stages[0].instructions[0].words, Words{"b  c"});
  // Below the first line that is none it is a comment.
  EXPECT_EQ(Parsed("# hello\n# escape=`\nFROM a\n").escape, '\\');
  EXPECT_EQ(ProblemsOf("#escape=x\nFROM a\n"), Words{"1: escape: expected \\ or `"});
  EXPECT_EQ(ProblemsOf("#syntax=other/frontend\nFROM a\n"),
            Words{"1: syntax other/frontend: no other frontend than docker/dockerfile is known"});
  EXPECT_TRUE(IsStandardSyntax("docker/dockerfile"));
  EXPECT_TRUE(IsStandardSyntax("registry.test:5000/docker/dockerfile:1@sha256:abc"));
  EXPECT_FALSE(IsStandardSyntax("evil.test/x/docker/dockerfile"));
  EXPECT_FALSE(IsStandardSyntax("xdocker/dockerfile"));
  EXPECT_FALSE(IsStandardSyntax("docker/dockerfile-upstream"));
}

TEST(DockerfileTest, RefusesByLine) {
  const struct {
    std::string text;
    std::string problem;
  } cases[] = {
      {"FRM x", "FRM: is no instruction"},
      {"HEALTHCHECK NONE", "HEALTHCHECK: is not supported: nothing checks a cell's health"},
      {"ONBUILD RUN x", "ONBUILD: is not supported: write the instruction where it is used"},
      {"RUN", "RUN: nothing follows it"},
      {"RUN --mount=type=cache,target=/x make", "RUN: --mount: no option of RUN is supported"},
      {"RUN --network=none make", "RUN: --network: no option of RUN is supported"},
      {"RUN --security=insecure x", "RUN: --security: no option of RUN is supported"},
      {"RUN []", "RUN: the array is empty"},
      {"RUN [\"a\", 1]", "RUN: expected strings in the JSON array"},
      {"RUN [\"a\\u0000\"]", "RUN: a string has a NUL"},
      {"RUN <<EOF\n#!/bin/x\nEOF",
       "RUN: a here-document that begins with #! is not supported; write RUN PROGRAM <<EOF"},
      {"RUN <<EOF\nx", "RUN <<EOF: no line is EOF"},
      {"COPY a", "COPY: expected a source and a destination"},
      {"COPY --link a b", "COPY: --link: is not supported; --from, --chown and --chmod are"},
      {"COPY --exclude=x a b",
       "COPY: --exclude: is not supported; --from, --chown and --chmod are"},
      {"COPY --parents a b", "COPY: --parents: is not supported; --from, --chown and --chmod are"},
      {"COPY --chown a b", "COPY: --chown: expected --chown=VALUE"},
      {"COPY --chmod=u+x a b", "COPY: --chmod=u+x: expected three or four octal digits"},
      {"COPY --from=a --from=b a b", "COPY: --from: is said twice"},
      {"COPY --from=a <<E /x\nE", "COPY: --from: a here-document is no file of an image"},
      {"ADD --from=x a b", "ADD: --from: is not supported; --chown and --chmod are"},
      {"ADD --checksum=x a b", "ADD: --checksum: is not supported; --chown and --chmod are"},
      {"ADD https://example.test/x /y",
       "ADD: https://example.test/x: nothing is fetched; get it by RUN, with a network that "
       "reaches it"},
      {"ADD git@example.test:x /y",
       "ADD: git@example.test:x: nothing is fetched; get it by RUN, with a network that reaches "
       "it"},
      {"COPY ${A /b", "COPY: ${A: ${A: a } is missing"},
      {"ENV A", "ENV: A: expected NAME=VALUE"},
      {"ENV A=1 B", "ENV: B: expected NAME=VALUE"},
      {"ENV A=\"x", "ENV: \"x: a \" is not closed"},
      {"ENV A=${B#x}", "ENV: ${B#x}: ${B#: expected }, :-, :+ or :? behind the name"},
      {"ARG 1A", "ARG: 1A: expected NAME or NAME=VALUE"},
      {"USER a b", "USER: expected one word"},
      {"SHELL bash -c", "SHELL: expected a JSON array, [\"PROGRAM\", \"ARGUMENT\"]"},
      {"SHELL []", "SHELL: the array is empty"},
      {"VOLUME []", "VOLUME: the array is empty"},
      {"FROM --foo=1 a", "FROM: --foo: is not known; --platform is"},
      {"FROM a b", "FROM: expected IMAGE [AS NAME]"},
      {"FROM a AS 1x",
       "FROM: AS 1x: a name is a letter, and letters, digits, dashes, underscores and dots"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ProblemsOf("FROM base\n" + c.text + "\n"), Words{"2: " + c.problem}) << c.text;
  }
}

TEST(DockerfileTest, ReportsEveryProblem) {
  EXPECT_EQ(ProblemsOf("RUN x\nFROM a AS b\nFOO\nCOPY x\nFROM c as B\n"),
            (Words{"1: RUN: no FROM is above it", "3: FOO: is no instruction",
                   "4: COPY: expected a source and a destination",
                   "5: FROM: AS b: is the name of two stages"}));
  EXPECT_EQ(ProblemsOf(""), Words{"1: has no FROM"});
  EXPECT_EQ(ProblemsOf("FROM a\nENV A=\xff\nRUN \xc3\xa9\nLABEL \xc0=1\n"),
            (Words{"2: is not UTF-8", "4: is not UTF-8"}));
  EXPECT_EQ(ProblemsOf(std::string(kMaxDockerfileBytes + 1, '\n')),
            Words{"1: has more than 1048576 bytes"});
}

}  // namespace
}  // namespace odyssey::dockerfile
