#include "agentd/mcp_client/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>

#include "agentd/mcp_client/servers.h"
#include "tests/fakes/fake_sandbox.h"

namespace odyssey::mcp_client {
namespace {

using fakes::Begin;
using fakes::Print;

constexpr char kListChanged[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";

// A server whose one tool says what the test wants; a new process for each Exec.
class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    spec_.name = "s";
    spec_.command = {"server"};
    spec_.timeout_ms = 60'000;
    sandbox_.on_exec = [this](const auto& start, const auto& sink, std::stop_token stop) {
      return Serve(start, sink, stop);
    };
  }

  Result<fakes::pb::ExecOutcome> Serve(const fakes::pb::ExecStart& start,
                                       const sandbox::ExecSink& sink, std::stop_token stop) {
    ++started_;
    cells_.insert(start.cell_id());
    ODY_RETURN_IF_ERROR(Begin(sink));
    const std::stop_callback cancel(stop, [&sink] { sink.feed->End(); });
    RpcLines lines;
    while (const auto message = sink.feed->Take()) {
      if (!message->has_stdin()) continue;
      lines.Feed(message->stdin());
      while (const auto line = lines.Next()) {
        const RpcMessage read = ParseRpcMessage(*line);
        if (const auto* told = std::get_if<RpcNotification>(&read)) told_.push_back(told->method);
        const auto* request = std::get_if<RpcRequest>(&read);
        if (request == nullptr) continue;
        if (request->method == "tools/call") {
          ODY_ASSIGN_OR_RETURN(const bool lives, on_call_(*request, sink));
          if (!lives) return fakes::Exited(3);
          continue;
        }
        ODY_RETURN_IF_ERROR(Print(sink, FormatRpcResult(request->id, Answer(request->method))));
      }
    }
    return Cancelled("the command was cancelled");
  }

  Json Answer(const std::string& method) const {
    if (method == "initialize") {
      return {{"protocolVersion", kProtocolVersion}, {"capabilities", Json::object()}};
    }
    return {{"tools", Json::array({{{"name", "t"},
                                    {"description", description_},
                                    {"inputSchema", Json::object()}}})}};
  }

  Exchange Call(Server* server, const std::string& cell = "cel_1", std::stop_token stop = {}) {
    return server->CallTool(tool_, Json::object(), {cell, 0}, stop);
  }
  void List(Server* server, Freshness freshness = Freshness::kLatest) {
    const Status listed = server->List({"cel_1", 0}, freshness, {});
    ASSERT_TRUE(listed.ok()) << listed.message();
    ASSERT_EQ(server->tools().size(), 1u);
    tool_ = server->tools()[0];
  }

  fakes::FakeSandbox sandbox_;
  dialect::McpServerSpec spec_;
  ToolDefinition tool_;
  std::string description_ = "first";
  std::atomic<int> started_ = 0;
  std::set<std::string> cells_;    // of the server's thread, until it has ended
  std::vector<std::string> told_;  // likewise
  // False: the process exits.
  std::function<Result<bool>(const RpcRequest&, const sandbox::ExecSink&)> on_call_ =
      [](const RpcRequest& request, const sandbox::ExecSink& sink) -> Result<bool> {
    ODY_RETURN_IF_ERROR(Print(sink, FormatRpcResult(request.id, {{"content", Json::array()}})));
    return true;
  };
};

TEST_F(ServerTest, OneProcessServesAllCalls) {
  Server server(&sandbox_, spec_);
  List(&server);
  List(&server);
  EXPECT_TRUE(Call(&server).status.ok());
  EXPECT_TRUE(Call(&server).status.ok());
  EXPECT_EQ(started_, 1);
  EXPECT_TRUE(server.RunsIn("cel_1"));
  server.End();
  EXPECT_FALSE(server.RunsIn("cel_1"));
  EXPECT_EQ(told_, (std::vector<std::string>{"notifications/initialized"}));
}

TEST_F(ServerTest, TheNextCellHasAProcessOfItsOwn) {
  Server server(&sandbox_, spec_);
  List(&server);
  EXPECT_TRUE(Call(&server, "cel_2").status.ok());
  EXPECT_EQ(started_, 2);
  EXPECT_TRUE(server.RunsIn("cel_2"));
}

TEST_F(ServerTest, AProcessThatEndedIsStartedAtTheNextCall) {
  on_call_ = [this](const RpcRequest& request, const sandbox::ExecSink& sink) -> Result<bool> {
    if (started_ == 1) {
      ODY_RETURN_IF_ERROR(Print(sink, "why\n", fakes::pb::OUTPUT_STREAM_STDERR));
      return false;
    }
    ODY_RETURN_IF_ERROR(Print(sink, FormatRpcResult(request.id, {{"content", Json::array()}})));
    return true;
  };
  Server server(&sandbox_, spec_);
  List(&server);
  EXPECT_EQ(Call(&server).status,
            Status(Code::kAborted, "MCP server s: the server exited with code 3; it printed: why"));
  List(&server, Freshness::kKnown);
  EXPECT_EQ(started_, 1) << "a known list needs no process";
  EXPECT_TRUE(Call(&server).status.ok());
  EXPECT_EQ(started_, 2);
}

// The call that the rules have judged is the one that runs, or none.
TEST_F(ServerTest, ACallOfAnotherToolThanWasJudgedDoesNotRun) {
  bool ran = false;
  on_call_ = [&](const RpcRequest&, const sandbox::ExecSink&) -> Result<bool> {
    ran = true;
    return false;
  };
  Server server(&sandbox_, spec_);
  List(&server);
  server.End();
  description_ = "second";
  EXPECT_EQ(Call(&server).status.code(), Code::kFailedPrecondition);
  EXPECT_FALSE(ran);
  const ToolDefinition before = tool_;
  List(&server);
  ASSERT_TRUE(server.FirstSeen(tool_).has_value());
  EXPECT_EQ(*server.FirstSeen(tool_), before);
  EXPECT_FALSE(server.FirstSeen(before).has_value());
}

TEST_F(ServerTest, AListIsReadAgainWhenTheServerSaysSo) {
  on_call_ = [this](const RpcRequest& request, const sandbox::ExecSink& sink) -> Result<bool> {
    description_ = "second";
    ODY_RETURN_IF_ERROR(Print(sink, kListChanged));
    ODY_RETURN_IF_ERROR(Print(sink, FormatRpcResult(request.id, {{"content", Json::array()}})));
    return true;
  };
  Server server(&sandbox_, spec_);
  List(&server);
  EXPECT_TRUE(Call(&server).status.ok());
  List(&server, Freshness::kKnown);
  EXPECT_EQ(tool_.description, "second");
  EXPECT_EQ(started_, 1);
}

TEST_F(ServerTest, AStopEndsTheCallAndIsTold) {
  std::stop_source stop;
  on_call_ = [&](const RpcRequest&, const sandbox::ExecSink&) -> Result<bool> {
    stop.request_stop();
    return true;
  };
  Server server(&sandbox_, spec_);
  List(&server);
  EXPECT_EQ(Call(&server, "cel_1", stop.get_token()).status.code(), Code::kCancelled);
  on_call_ = [](const RpcRequest&, const sandbox::ExecSink&) -> Result<bool> { return false; };
  (void)Call(&server);
  EXPECT_EQ(told_.back(), "notifications/cancelled");
}

TEST_F(ServerTest, ALostCellIsNoAnswerOfTheServer) {
  on_call_ = [](const RpcRequest&, const sandbox::ExecSink&) -> Result<bool> {
    return Unavailable("the cell ended");
  };
  Server server(&sandbox_, spec_);
  List(&server);
  EXPECT_EQ(Call(&server).status.code(), Code::kUnavailable);
}

TEST_F(ServerTest, VariablesOfTheServerArePutInByEnv) {
  spec_.env = {{"A", "b c"}};
  std::vector<std::string> argv;
  const auto serve = sandbox_.on_exec;
  sandbox_.on_exec = [&](const auto& start, const auto& sink, std::stop_token stop) {
    argv.assign(start.argv().begin(), start.argv().end());
    return serve(start, sink, stop);
  };
  Server server(&sandbox_, spec_);
  List(&server);
  EXPECT_EQ(argv, (std::vector<std::string>{"env", "A=b c", "server"}));
  EXPECT_EQ(ProgramsFor(spec_), (std::vector<std::string>{"/usr/bin/env"}));
}

TEST_F(ServerTest, SessionsHaveServersOfTheirOwn) {
  Servers servers(&sandbox_);
  const ServerPtr one = servers.Of("ses_1", {spec_})[0], other = servers.Of("ses_2", {spec_})[0];
  EXPECT_NE(one, other);
  EXPECT_EQ(servers.Of("ses_1", {spec_})[0], one);
  List(one.get());
  List(other.get());
  EXPECT_EQ(started_, 2);
  EXPECT_EQ(servers.CountIn("ses_1", "cel_1"), 1u);
  servers.EndProcesses("ses_1");
  EXPECT_EQ(servers.CountIn("ses_1", "cel_1"), 0u);
  EXPECT_EQ(servers.CountIn("ses_2", "cel_1"), 1u);
  servers.Stop();
  EXPECT_TRUE(servers.Of("ses_1", {spec_}).empty());
}

}  // namespace
}  // namespace odyssey::mcp_client
