#include "ctl/egress/egress_view.h"

#include <gtest/gtest.h>

#include "ctl/egress/egress_learn.h"
#include "policy/egress/policy_text.h"

namespace odyssey::ctl {
namespace {

constexpr char kAllowed[] =
    R"({"seq":1,"time":"2026-11-26T18:02:11.123Z","type":"egress","cell_id":"cel_1","verdict":"allowed",)"
    R"("way":"request","host":"api.example.com","port":443,"program":"/usr/bin/curl",)"
    R"("rule":"network_policies.api.endpoints[0]","method":"GET","path":"/v1/a","status":200})";
constexpr char kDenied[] =
    R"({"seq":2,"time":"2026-11-26T18:02:12.000Z","type":"egress","cell_id":"cel_2","verdict":"denied",)"
    R"("way":"dns","host":"evil\u001b[31m.example","port":0,"code":"policy_denied","reason":"no rule"})";

TEST(EgressViewTest, LinesAreOfWhatIsMeant) {
  EXPECT_FALSE(EgressRecordOf(kAllowed, {}).is_null());
  EXPECT_TRUE(EgressRecordOf(kAllowed, {.denied = true}).is_null());
  EXPECT_TRUE(EgressRecordOf(kAllowed, {.cell = "cel_2"}).is_null());
  EXPECT_FALSE(EgressRecordOf(kDenied, {.cell = "cel_2", .denied = true}).is_null());
  for (const char* other :
       {"", "{", R"({"type":"exec","note":"egress"})", R"(["egress"])", R"({"type":["egress"]})"}) {
    EXPECT_TRUE(EgressRecordOf(other, {}).is_null()) << other;
  }
}

TEST(EgressViewTest, ALineSaysWhoAndWhere) {
  EXPECT_EQ(FormatEgress(EgressRecordOf(kAllowed, {}), false),
            "18:02:11 allowed  GET api.example.com:443/v1/a  /usr/bin/curl  200  by "
            "network_policies.api.endpoints[0]");
  const std::string denied = FormatEgress(EgressRecordOf(kDenied, {}), false);
  EXPECT_EQ(denied.find('\x1b'), std::string::npos) << denied;
  EXPECT_NE(denied.find("(unknown program)  policy_denied: no rule"), std::string::npos) << denied;
  // Of the wrong types: nothing is thrown.
  EXPECT_NE(FormatEgress(Json::parse(R"({"type":"egress","host":7,"port":"x"})"), false), "");
}

TEST(EgressViewTest, TotalsAreByDestination) {
  EgressTotals totals;
  for (const char* line : {kDenied, kAllowed, kAllowed}) totals.Add(EgressRecordOf(line, {}));
  const std::string table = totals.Table(1);
  EXPECT_NE(table.find("api.example.com:443"), std::string::npos) << table;
  EXPECT_EQ(table.find("evil"), std::string::npos) << table;  // the busiest alone
  EXPECT_EQ(totals.ToJson()[0]["allowed"], 2);
}

std::string Learned(const std::vector<std::string>& records, bool requests, uint64_t left_out = 0) {
  LearnedPolicy learned(requests);
  for (const std::string& record : records) learned.Add(Json::parse(record));
  EXPECT_EQ(learned.left_out(), left_out);
  return egress::PolicyText(learned.Policy());
}

TEST(EgressLearnTest, ARuleForEachProgram) {
  const std::string connect =
      R"({"way":"connect","host":"a.example.com","port":443,"program":"/usr/bin/curl"})";
  const std::string refused =
      R"({"way":"tcp","verdict":"denied","host":"b.example.com","port":22,"program":"/usr/bin/ssh"})";
  EXPECT_EQ(Learned({connect, refused, connect}, false),
            "version: 1\nnetwork_policies:\n"
            "  usr_bin_curl:\n    name: /usr/bin/curl\n    endpoints:\n"
            "    - host: a.example.com\n      port: 443\n    binaries:\n    - path: /usr/bin/curl\n"
            "  usr_bin_ssh:\n    name: /usr/bin/ssh\n    endpoints:\n"
            "    - host: b.example.com\n      port: 22\n    binaries:\n    - path: /usr/bin/ssh\n");
}

TEST(EgressLearnTest, ProgramsOfTheSameKeyHaveRulesOfTheirOwn) {
  const std::string text =
      Learned({R"({"way":"tcp","host":"a.example.com","port":80,"program":"/usr/bin/a-b"})",
               R"({"way":"tcp","host":"a.example.com","port":80,"program":"/usr/bin/a_b"})"},
              false);
  EXPECT_NE(text.find("  usr_bin_a_b:\n    name: /usr/bin/a-b\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  usr_bin_a_b_2:\n    name: /usr/bin/a_b\n"), std::string::npos) << text;
}

TEST(EgressLearnTest, RequestsAreRulesWhereTheyAreAskedFor) {
  const std::string request =
      R"({"way":"request","host":"a.example.com","port":80,"program":"/c","method":"GET","path":"/v1"})";
  EXPECT_NE(Learned({request}, true).find("- allow: {method: \"GET\", path: /v1}"),
            std::string::npos)
      << Learned({request}, true);
  EXPECT_EQ(Learned({request}, false).find("GET"), std::string::npos);
}

TEST(EgressLearnTest, WhatNoPolicyOpensIsLeftOut) {
  Learned({R"({"way":"tcp","host":"127.0.0.1","port":80,"program":"/c"})",
           R"({"way":"tcp","host":"a.example.com","port":6443,"program":"/c"})",
           R"({"way":"tcp","host":"a.example.com","port":80,"program":""})",
           R"({"way":"tcp","host":"a.example.com","port":80,"program":"/c*"})",
           R"({"way":"tcp","host":"a\u0000b","port":80,"program":"/c"})",
           R"({"way":"tcp","host":7,"port":"x"})"},
          false, 6);
}

}  // namespace
}  // namespace odyssey::ctl
