#include "agentd/base/denial_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace odyssey::agent {
namespace {

using Json = nlohmann::json;

const Denial kDenial{"limit", "memory_bytes", "exceed", "cgroup memory_bytes 1",
                     "a: 2",  "sh[2]",        "kernel", "exe_1",
                     "ses_1", "kill",         3};

TEST(DenialJsonTest, NothingIsLost) { EXPECT_EQ(Json(kDenial).get<Denial>(), kDenial); }

TEST(DenialJsonTest, ReadsWhatEarlierJournalsHave) {
  Json old = kDenial;
  for (const char* field : {"count", "session_id", "verdict"}) old.erase(field);
  Denial expected = kDenial;
  expected.count = 1;
  expected.session_id = "";
  expected.verdict = "deny";
  EXPECT_EQ(old.get<Denial>(), expected);
}

TEST(DenialJsonTest, ModelsReadWhatIsKnown) {
  EXPECT_EQ(DenialForModel(kDenial), Json(kDenial));
  EXPECT_EQ(DenialForModel({.kind = "path", .rule = "r", .verdict = "deny"}),
            Json::parse(R"({"kind":"path","rule":"r","verdict":"deny"})"));
}

}  // namespace
}  // namespace odyssey::agent
