#include "common/audit/record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/base/sha256.h"

namespace odyssey::audit {
namespace {

using Json = nlohmann::json;

Time At(int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

std::string Encode(const Record& record, Position* position) {
  return EncodeLine(record, At(1'795'308'696'007), position);
}

TEST(RecordTest, LineIsJsonWithItsPlaceInTheChain) {
  Position position;
  const std::string first = Encode(Record("start").Text("version", "1.2"), &position);
  const std::string second = Encode(Record("deny").Number("count", 3).Flag("ok", false), &position);
  const Json json = Json::parse(second);
  EXPECT_EQ(json["seq"], 2);
  EXPECT_EQ(json["time"], "2026-11-22T00:51:36.007Z");
  EXPECT_EQ(json["type"], "deny");
  EXPECT_EQ(json["count"], 3);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["prev"], Json::parse(first)["hash"]);
  EXPECT_EQ(json["hash"], Sha256Hex(second.substr(0, second.find(",\"hash\":"))));
  EXPECT_EQ(position, (Position{2, json["hash"].get<std::string>()}));
}

TEST(RecordTest, ParseReadsWhatEncodeWrote) {
  Position position{41, Sha256Hex("x")};
  const std::string line = Encode(Record("exec").Texts("argv", {"a", "b"}), &position);
  const Result<Line> parsed = ParseLine(line);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->seq, 42u);
  EXPECT_EQ(parsed->type, "exec");
  EXPECT_EQ(parsed->prev, Sha256Hex("x"));
  EXPECT_EQ(parsed->hash, position.hash);
  EXPECT_TRUE(HashMatches(line));
}

// What a cell or a model chose must stay inside its quotes, on its line, and off the terminal.
TEST(RecordTest, HostileTextStaysAValue) {
  const std::string hostile =
      "\",\"type\":\"grant\"}\n{\"seq\":1}\x1b]52;c;aGk=\x07\r\x7f\xC2\x9B\xE2\x80\xAE\xFF\xFE";
  Position position;
  const std::string line =
      Encode(Record("exec").Text("cwd", hostile).Texts("argv", {hostile}), &position);
  for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << int{c};
  const Json json = Json::parse(line);
  EXPECT_EQ(json["type"], "exec");
  EXPECT_EQ(json["cwd"].get<std::string>().substr(0, 20), hostile.substr(0, 20));
  EXPECT_TRUE(HashMatches(line));
}

TEST(RecordTest, LongTextsAreCutAndSaySo) {
  Position position;
  const std::string line =
      Encode(Record("exec")
                 .Text("cwd", std::string(kMaxText + 7, 'x'))
                 .Texts("argv", std::vector<std::string>(4096, std::string(100, 'y'))),
             &position);
  const Json json = Json::parse(line);
  EXPECT_EQ(json["cwd"], std::string(kMaxText, 'x') + "…[+7 bytes]");
  EXPECT_EQ(json["argv"].size(), kMaxTexts + 1);
  EXPECT_EQ(json["argv"].back(), "…[+4032 words]");
  EXPECT_LT(line.size(), size_t{128} * 1024);
}

TEST(RecordTest, CutDoesNotSplitACharacter) {
  Position position;
  const std::string line =
      Encode(Record("exec").Text("cwd", std::string(kMaxText - 1, 'x') + "é"), &position);
  EXPECT_EQ(Json::parse(line)["cwd"], std::string(kMaxText - 1, 'x') + "…[+2 bytes]");
}

TEST(RecordTest, LineOfTheLongestValuesIsReadable) {
  Record record("exec");
  for (int i = 0; i < 12; ++i) record.Text("field", std::string(100'000, '\x01'));
  record.Texts("argv", std::vector<std::string>(100, std::string(100'000, '\x01')));
  Position position;
  EXPECT_LT(Encode(record, &position).size(), kMaxLine / 4);
}

TEST(RecordTest, WhatIsNoLineIsRefused) {
  Position position;
  const std::string line = Encode(Record("exec").Text("cwd", "/"), &position);
  const std::string hash(kHashDigits, '0');
  const std::string tail = ",\"prev\":\"" + hash + "\",\"hash\":\"" + hash + "\"}";
  EXPECT_TRUE(
      ParseLine("{\"seq\":1,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"a\"" + tail).ok());
  for (const std::string& bad : {
           std::string(),
           std::string("{"),
           std::string("{\"seq\":"),
           line.substr(0, 40),
           line.substr(0, line.size() - 1),
           line + " ",
           " " + line,
           "{\"seq\":01,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"a\"" + tail,
           "{\"seq\":-1,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"a\"" + tail,
           "{\"seq\":99999999999999999999,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"a\"" +
               tail,
           "{\"seq\":1,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"A\"" + tail,
           "{\"seq\":1,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"\"" + tail,
           "{\"seq\":1,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"a" + tail,
           "{\"seq\":1,\"time\":\"2026-11-22T00:51:36.007Z\",\"type\":\"a\"" + tail.substr(1),
       }) {
    EXPECT_EQ(ParseLine(bad).status().code(), Code::kDataLoss) << bad;
  }
}

TEST(RecordTest, HashCoversEveryByteBeforeIt) {
  Position position;
  const std::string line = Encode(Record("exec").Text("cwd", "/srv"), &position);
  const size_t covered = line.find("\",\"hash\":") + 1;
  for (size_t i = 0; i < covered; ++i) {
    std::string changed = line;
    changed[i] ^= 1;
    EXPECT_FALSE(ParseLine(changed).ok() && HashMatches(changed)) << i;
  }
}

TEST(RecordTest, HeadAndPositionRoundTrip) {
  const Position position{7, Sha256Hex("x")};
  EXPECT_EQ(*ParseHead(EncodeHead(position)), position);
  EXPECT_EQ(*ParsePosition("7:" + position.hash), position);
  for (const std::string& bad :
       {std::string(), EncodeHead(position).substr(1), EncodeHead(position) + "\n",
        std::string("{\"seq\":7,\"hash\":\"x\"}\n"), std::string("{\"seq\":7"),
        std::string("{\"seq\":,\"hash\":")}) {
    EXPECT_EQ(ParseHead(bad).status().code(), Code::kDataLoss) << bad;
  }
  for (const std::string& bad :
       {std::string(), std::string("7"), std::string("7:"), "x:" + position.hash,
        "7:" + position.hash + "0", "7:" + std::string(64, 'G')}) {
    EXPECT_EQ(ParsePosition(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace odyssey::audit
