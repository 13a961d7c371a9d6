#include "policy/dialect/mcp_server.h"

#include <gtest/gtest.h>

#include "policy/dialect/problem.h"

namespace odyssey::dialect {
namespace {

struct ReadBack {
  std::vector<McpServerSpec> servers;
  Problems problems;

  std::string first() const {
    return problems.empty() ? "" : problems[0].key + ": " + problems[0].message;
  }
};

ReadBack Read(const std::string& servers) {
  ReadBack out;
  const auto document =
      ParseDocument(Format::kYaml, "m.yaml", "mcp_servers: " + servers + "\n", &out.problems);
  if (!document) return out;
  const Source source{"m.yaml", ProblemKind::kYaml, &out.problems};
  MapReader map(&source, &*document, "");
  Origins origins;
  out.servers = ReadMcpServers(&map, &origins);
  map.Finish();
  return out;
}

TEST(McpServerTest, ReadsBothWaysToReachAServer) {
  const ReadBack read = Read(
      "{files: {command: [python3, server.py], env: {LEVEL: '2'}, cwd: tools, timeout: 5, "
      "tools: [read, write], pins: {read: 'sha256:" +
      std::string(64, 'a') +
      "'}}, "
      "remote: {url: 'https://mcp.example.com/mcp', headers: {Authorization: 'Bearer ${KEY}'}}}");
  ASSERT_TRUE(read.problems.empty()) << read.first();
  ASSERT_EQ(read.servers.size(), 2u);
  const McpServerSpec& files = read.servers[0];
  EXPECT_EQ(files.name, "files");
  EXPECT_EQ(files.command, (std::vector<std::string>{"python3", "server.py"}));
  EXPECT_EQ(files.env, (std::map<std::string, std::string>{{"LEVEL", "2"}}));
  EXPECT_EQ(files.cwd, "tools");
  EXPECT_EQ(files.timeout_ms, 5000u);
  EXPECT_EQ(files.tools, (std::vector<std::string>{"read", "write"}));
  EXPECT_EQ(files.pins.at("read"), "sha256:" + std::string(64, 'a'));
  EXPECT_EQ(read.servers[1].url, "https://mcp.example.com/mcp");
  EXPECT_EQ(read.servers[1].timeout_ms, kMcpTimeoutMs);
}

TEST(McpServerTest, NamesTheKeyThatIsWrong) {
  const struct {
    const char* servers;
    const char* problem;
  } kCases[] = {
      {"{a: {}}", "mcp_servers.a: needs one of command and url"},
      {"{a: {command: [x], url: 'https://x/'}}", "mcp_servers.a: needs one of command and url"},
      {"{a: {command: []}}", "mcp_servers.a.command: must be the words of a command"},
      {"{a: {command: [x], headers: {A: b}}}", "mcp_servers.a.headers: is for a server with url"},
      {"{a: {url: 'https://x/', env: {A: b}}}", "mcp_servers.a.env: is for a server with command"},
      {"{a: {url: 'https://x/', cwd: b}}", "mcp_servers.a.cwd: is for a server with command"},
      {"{a: {url: 'file:///etc'}}", "mcp_servers.a.url: must be https://"},
      {"{a: {url: 'https://x/{a,b}'}}", "mcp_servers.a.url: must be https://"},
      {"{a: {url: 'https://x/', headers: {'A b': c}}}", "mcp_servers.a.headers.A b: `A b` is no"},
      {"{a: {url: 'https://x/', headers: {Host: c}}}", "mcp_servers.a.headers.Host: `Host` is no"},
      {"{a: {url: 'https://x/', headers: {A: \"b\\r\\nC: d\"}}}",
       "mcp_servers.a.headers.A: must not"},
      {"{a: {url: 'https://x/', headers: {A: '${b'}}}", "mcp_servers.a.headers.A: `${` begins"},
      {"{a: {url: 'https://x/', headers: {A: '${b;id}'}}}", "mcp_servers.a.headers.A: `${` begins"},
      {"{a: {command: [x], env: {'A-B': c}}}", "mcp_servers.a.env.A-B: `A-B` is no name"},
      {"{a: {command: [x], env: {ODYSSEY_RUN: c}}}",
       "mcp_servers.a.env.ODYSSEY_RUN: every command"},
      {"{a: {command: [x], pins: {t: 'sha256:12'}}}", "mcp_servers.a.pins.t: must be sha256:"},
      {"{a: {command: [x], timeout: 0}}", "mcp_servers.a.timeout: must be a whole number from 1"},
      {"{a: {command: [x], sampling: true}}", "mcp_servers.a.sampling: unknown field"},
  };
  for (const auto& each : kCases) {
    EXPECT_EQ(Read(each.servers).first().rfind(each.problem, 0), 0u) << each.servers << "\n"
                                                                     << Read(each.servers).first();
  }
  for (const char* name : {"A", "a__b", "_a", "a_", "a.b", "a234567890123456789012345678901234"}) {
    EXPECT_EQ(Read("{" + std::string(name) + ": {command: [x]}}").problems.size(), 1u) << name;
  }
}

TEST(McpServerTest, SplitsAHeaderAtItsVariables) {
  EXPECT_EQ(*SplitHeader("Bearer ${KEY}, $x"),
            (std::vector<HeaderPiece>{{false, "Bearer "}, {true, "KEY"}, {false, ", $x"}}));
  EXPECT_EQ(*SplitHeader("plain"), (std::vector<HeaderPiece>{{false, "plain"}}));
}

}  // namespace
}  // namespace odyssey::dialect
