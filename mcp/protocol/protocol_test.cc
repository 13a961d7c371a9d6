#include "mcp/protocol/protocol.h"

#include <gtest/gtest.h>

namespace odyssey::mcp {
namespace {

RpcRequest Request(const char* method, const char* params) {
  return {1, method, Json::parse(params)};
}

constexpr char kMeta[] =
    R"({"name":"LS","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}})";

TEST(ProtocolTest, AnUnknownVersionGetsTheNewest) {
  EXPECT_EQ(ChooseVersion("2025-03-26"), "2025-03-26");
  EXPECT_EQ(ChooseVersion("2031-01-01"), "2025-11-25");
}

TEST(ProtocolTest, TheEraIsThatOfTheRequest) {
  EXPECT_FALSE(IsStateless(Request("initialize", R"({"protocolVersion":"2025-11-25"})")));
  EXPECT_FALSE(
      IsStateless(Request("tools/call", R"({"_meta":{"progressToken":1}})"), "2025-11-25"));
  EXPECT_TRUE(IsStateless(Request("server/discover", "{}")));
  EXPECT_TRUE(IsStateless(Request("tools/call", kMeta)));
  EXPECT_TRUE(IsStateless(Request("tools/list", "{}"), "2026-07-28"));
}

TEST(ProtocolTest, AStatelessRequestSaysItsVersionAndCapabilities) {
  const auto code = [](const char* params) {
    return CheckStateless(Request("tools/list", params), nullptr)->code;
  };
  EXPECT_FALSE(CheckStateless(Request("tools/call", kMeta), nullptr));
  EXPECT_EQ(code("{}"), RpcCode::kInvalidParams);
  EXPECT_EQ(code(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})"),
            RpcCode::kInvalidParams);
  EXPECT_EQ(code(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01",
                              "io.modelcontextprotocol/clientCapabilities":{}}})"),
            RpcCode::kUnsupportedVersion);
}

TEST(ProtocolTest, HeaderFieldsRepeatTheBody) {
  const RpcRequest call = Request("tools/call", kMeta);
  const RoutingFields right = {"2026-07-28", "tools/call", "LS"};
  EXPECT_FALSE(CheckStateless(call, &right));
  for (const RoutingFields& wrong : {RoutingFields{"2025-11-25", "tools/call", "LS"},
                                     RoutingFields{"2026-07-28", "tools/list", "LS"},
                                     RoutingFields{"2026-07-28", "tools/call", "Bash"},
                                     RoutingFields{"2026-07-28", "tools/call", ""},
                                     RoutingFields{"2026-07-28", "", "LS"}, RoutingFields{}}) {
    EXPECT_EQ(CheckStateless(call, &wrong)->code, RpcCode::kHeaderMismatch);
  }
}

TEST(ProtocolTest, AStatelessResultHasItsTypeAndWhatMayBeCached) {
  const ServerFacts facts = {"1", "", {}};
  const Json list = StatelessResult(facts, "tools/list", {{"tools", Json::array()}});
  EXPECT_EQ(list["resultType"], "complete");
  EXPECT_EQ(list["ttlMs"], 0);
  EXPECT_EQ(list["cacheScope"], "private");
  EXPECT_EQ(list["_meta"][kMetaServer]["name"], "odyssey");
  const Json asks = StatelessResult(facts, "tools/call", InputRequired({{"a", 1}}, "s"));
  EXPECT_EQ(asks["resultType"], "input_required");
  EXPECT_FALSE(asks.contains("ttlMs"));
}

}  // namespace
}  // namespace odyssey::mcp
