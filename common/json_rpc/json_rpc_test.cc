#include "common/json_rpc/json_rpc.h"

#include <gtest/gtest.h>

namespace odyssey {
namespace {

TEST(JsonRpcTest, ReadsEachKindOfMessage) {
  const auto request = std::get<RpcRequest>(
      ParseRpcMessage(R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}})"));
  EXPECT_EQ(request.id, 7);
  EXPECT_EQ(request.method, "m");
  EXPECT_EQ(request.params, Json({{"a", 1}}));
  EXPECT_EQ(std::get<RpcRequest>(ParseRpcMessage(R"({"jsonrpc":"2.0","id":null,"method":"m"})")).id,
            Json());
  EXPECT_EQ(std::get<RpcNotification>(ParseRpcMessage(R"({"jsonrpc":"2.0","method":"n"})")).method,
            "n");
  EXPECT_EQ(
      std::get<RpcResponse>(ParseRpcMessage(R"({"jsonrpc":"2.0","id":"x","result":[1]})")).result,
      Json::array({1}));
  const auto failed = std::get<RpcResponse>(ParseRpcMessage(
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}})"));
  EXPECT_EQ(failed.error->code, RpcCode::kMethodNotFound);
  EXPECT_EQ(failed.error->message, "no such method");
}

TEST(JsonRpcTest, AnswersWhatIsNoMessageByItsId) {
  const struct {
    const char* line;
    RpcCode code;
    Json id;
  } kCases[] = {
      {"{", RpcCode::kParseError, nullptr},
      {"[]", RpcCode::kInvalidRequest, nullptr},
      {"\"x\"", RpcCode::kInvalidRequest, nullptr},
      {R"({"jsonrpc":"2.0","id":{},"method":"m"})", RpcCode::kInvalidRequest, nullptr},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", RpcCode::kInvalidRequest, nullptr},
      {R"({"id":3,"method":"m"})", RpcCode::kInvalidRequest, 3},
      {R"({"jsonrpc":"1.0","id":3,"method":"m"})", RpcCode::kInvalidRequest, 3},
      {R"({"jsonrpc":"2.0","id":3,"method":4})", RpcCode::kInvalidRequest, 3},
      {R"({"jsonrpc":"2.0","id":3})", RpcCode::kInvalidRequest, 3},
      {R"({"jsonrpc":"2.0","id":3,"result":1,"error":{}})", RpcCode::kInvalidRequest, 3},
      {R"({"jsonrpc":"2.0","id":3,"method":"m","params":[1]})", RpcCode::kInvalidParams, 3},
      {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"m\"}", RpcCode::kParseError, nullptr},
  };
  for (const auto& each : kCases) {
    const auto invalid = std::get<RpcInvalid>(ParseRpcMessage(each.line));
    EXPECT_EQ(invalid.error.code, each.code) << each.line;
    EXPECT_EQ(invalid.id, each.id) << each.line;
  }
}

TEST(JsonRpcTest, NestedDeeplyIsReadOrRefused) {
  const auto nested = [](size_t depth) {
    return R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"x":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}}";
  };
  EXPECT_EQ(std::get<RpcRequest>(ParseRpcMessage(nested(90))).method, "m");
  for (const std::string& line : {nested(110), nested(2'000'000), std::string(200'000, '[')}) {
    EXPECT_EQ(std::get<RpcInvalid>(ParseRpcMessage(line)).error.code, RpcCode::kParseError);
  }
}

TEST(JsonRpcTest, WritesOneLineOfAscii) {
  EXPECT_EQ(FormatRpcResult("a\nb", {{"t", "é\x1b"}}),
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\\nb\",\"result\":{\"t\":\"\\u00e9\\u001b\"}}\n");
  EXPECT_EQ(FormatRpcError(nullptr, {RpcCode::kParseError, "not \xff"}),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"not "
            "\\ufffd\"}}\n");
}

TEST(RpcLinesTest, CutsAStreamIntoLines) {
  RpcLines lines;
  lines.Feed("{\"a\"");
  EXPECT_EQ(lines.Next(), std::nullopt);
  lines.Feed(":1}\r\n\n \n{}\n{");
  EXPECT_EQ(lines.Next(), "{\"a\":1}\r");
  EXPECT_EQ(lines.Next(), "{}");
  EXPECT_EQ(lines.Next(), std::nullopt);
}

TEST(RpcLinesTest, AMessageThatIsTooLongCostsThatMessage) {
  RpcLines lines;
  lines.Feed(std::string(RpcLines::kMaxLine + 1, 'x'));
  const std::optional<std::string> cut = lines.Next();
  ASSERT_TRUE(cut);
  EXPECT_EQ(std::get<RpcInvalid>(ParseRpcMessage(*cut)).error.code, RpcCode::kParseError);
  lines.Feed("more of it");
  EXPECT_EQ(lines.Next(), std::nullopt);
  lines.Feed("\n{}\n");
  EXPECT_EQ(lines.Next(), "{}");
}

}  // namespace
}  // namespace odyssey
