#include "http/api/route_table.h"

#include <gtest/gtest.h>

#include <set>

#include "http/api/openapi.h"
#include "odyssey/agent/v1/session.pb.h"
#include "odyssey/supervisor/v1/changes.pb.h"

namespace odyssey::api {
namespace {

using google::protobuf::Message;
using shape::Json;
using Strings = std::vector<std::string>;

constexpr char kId[] = "ses_70dfe3e2e671a2678c0bf1ff0219d1b7";
constexpr char kUuid[] = "70dfe3e2-e671-a267-8c0b-f1ff0219d1b7";

// What a row names is there: the call, each field that a path or a query fills, the schemas.
TEST(RouteTableTest, RowsNameCallsAndFieldsThatThereAre) {
  std::set<std::string> seen;
  for (const Route& route : Routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_FALSE(route.summary.empty()) << name;
    for (const std::string_view schema : {route.request_schema, route.answer_schema}) {
      if (!schema.empty()) {
        EXPECT_TRUE(Json::accept(schema)) << name;
      }
    }
    const auto* method = MethodOf(route);
    if (method == nullptr || route.act == Act::kExec) continue;
    const auto request = NewMessage(*method->input_type());
    std::map<std::string, std::string> of_path, query;
    for (size_t at = route.path.find('{'); at != std::string_view::npos;
         at = route.path.find('{', at + 1)) {
      of_path[std::string(route.path.substr(at + 1, route.path.find('}', at) - at - 1))] = "x";
    }
    const bool streams_itself = route.act == Act::kEvents;
    for (const Parameter& each : route.query) query[std::string(each.name)] = "true";
    const Status named = FillFields(route, of_path, query, request.get());
    if (named.ok() || streams_itself) continue;
    // A number is no "true", but it is a field.
    for (auto& [key, value] : query) value = "1";
    const Status numbered = FillFields(route, of_path, query, request.get());
    EXPECT_TRUE(numbered.ok()) << name << ": " << numbered.message();
  }
}

TEST(RouteTableTest, EveryRouteOfTheOriginalIsThere) {
  for (const auto& [method, segments] : {std::pair<std::string, Strings>{"GET", {"bundles"}},
                                         {"POST", {"bundles", "build"}},
                                         {"GET", {"bundles", "inspect"}},
                                         {"POST", {"bundles", "export"}},
                                         {"POST", {"bundles", "import"}},
                                         {"POST", {"bundles", "publish"}},
                                         {"POST", {"bundles", "pull"}},
                                         {"GET", {"sessions"}},
                                         {"POST", {"sessions"}},
                                         {"GET", {"sessions", kUuid}},
                                         {"DELETE", {"sessions", kUuid}},
                                         {"POST", {"sessions", kUuid, "run"}},
                                         {"POST", {"sessions", kUuid, "run-sync"}},
                                         {"GET", {"sessions", kUuid, "events"}},
                                         {"POST", {"approvals", kUuid}}}) {
    EXPECT_NE(FindRoute(method, segments).route, nullptr) << method << " " << segments.back();
  }
}

TEST(RouteTableTest, APathIsMatchedAndAMethodToldApart) {
  const Match match = FindRoute("GET", {"sessions", kUuid, "turns"});
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.of_path.at("session_id"), kUuid);
  EXPECT_EQ(FindRoute("GET", {"approvals", "watch"}).route->path, "/approvals/watch");
  EXPECT_EQ(FindRoute("DELETE", {"approvals", "watch"}).allowed, Strings{"GET"});
  EXPECT_EQ(FindRoute("PUT", {"sessions"}).allowed, (Strings{"GET", "POST"}));
  const Match none = FindRoute("GET", {"sessions", "a", "b", "c"});
  EXPECT_EQ(none.route, nullptr);
  EXPECT_TRUE(none.allowed.empty());
  EXPECT_EQ(FindRoute("GET", {}).route->path, "/");
}

TEST(RouteTableTest, APathWinsOverABody) {
  const Match match = FindRoute("POST", {"sessions", kUuid, "cancel"});
  agent::v1::CancelTurnRequest request;
  ASSERT_TRUE(
      ReadBody(*match.route,
               Json::parse(R"({"session_id":"ses_other","turn_id":")" + std::string(kUuid) + "\"}"),
               &request)
          .ok());
  ASSERT_TRUE(FillFields(*match.route, match.of_path, {}, &request).ok());
  EXPECT_EQ(request.session_id(), kId);
  EXPECT_EQ(request.turn_id(), "trn_" + std::string(kId).substr(4));
  supervisor::v1::ListChangesRequest changes;
  const Match of_key = FindRoute("GET", {"sessions", kUuid, "changes"});
  ASSERT_TRUE(FillFields(*of_key.route, of_key.of_path, {{"max_changes", "7"}}, &changes).ok());
  EXPECT_EQ(changes.key().session_id(), kId);
  EXPECT_EQ(changes.max_changes(), 7u);
}

TEST(RouteTableTest, QueriesAreOfTheRouteAndComplete) {
  const Match match = FindRoute("GET", {"bundles", "inspect"});
  const auto request = NewMessage(*MethodOf(*match.route)->input_type());
  EXPECT_EQ(FillFields(*match.route, {}, {}, request.get()).detail().field, "reference");
  EXPECT_EQ(FillFields(*match.route, {}, {{"reference", "a"}, {"nope", ""}}, request.get())
                .detail()
                .field,
            "nope");
}

TEST(OpenApiTest, HasEachRouteWithItsOwnOperationId) {
  const Json document = Json::parse(OpenApiDocument());
  std::set<std::string> ids;
  size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      ++operations;
      EXPECT_TRUE(ids.insert(operation["operationId"].get<std::string>()).second)
          << method << " " << path;
    }
  }
  EXPECT_EQ(operations, Routes().size());
  // Every reference leads somewhere.
  const std::string text = OpenApiDocument();
  constexpr std::string_view kRef = "\"#/components/schemas/";
  for (size_t at = text.find(kRef); at != std::string::npos; at = text.find(kRef, at + 1)) {
    const size_t begin = at + kRef.size();
    const std::string name = text.substr(begin, text.find('"', begin) - begin);
    EXPECT_TRUE(document["components"]["schemas"].contains(name)) << name;
  }
}

}  // namespace
}  // namespace odyssey::api
