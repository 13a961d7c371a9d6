#include "policy/model/policy_keys.h"

#include <gtest/gtest.h>

#include <set>

#include "policy/model/default_limits.h"

namespace odyssey::policy {
namespace {

// Each text column of a row.
std::vector<std::pair<const char*, std::string_view>> TextsOf(const LimitKey& key) {
  return {{"name", key.name},
          {"type", key.member.type},
          {"unit", key.member.unit},
          {"zero", key.zero},
          {"mechanism of the enforcer", key.enforcer.mechanism},
          {"how of the enforcer", key.enforcer.how},
          {"manifest", key.manifest.name},
          {"llm_do", key.foreign.llm_do},
          {"odek", key.foreign.odek.name},
          {"rule of odek", key.foreign.odek.rule},
          {"openshell", key.foreign.openshell},
          {"ceiling", key.ceiling.name},
          {"option", key.option.name},
          {"value_name of the option", key.option.value_name},
          {"help of the option", key.option.help},
          {"help", key.help}};
}

std::string MissingIn(const LimitKey& key) {
  std::string missing;
  for (const auto& [column, text] : TextsOf(key)) {
    if (text.empty()) missing += std::string(column) + "\n";
  }
  if (key.member.get == nullptr || key.member.set == nullptr) missing += "member\n";
  if (key.most == 0) missing += "most\n";
  if (key.scope == Scope::kUnsaid) missing += "scope\n";
  if (key.order == Order::kUnsaid) missing += "order\n";
  if (key.ceiling_rule == CeilingRule::kUnsaid) missing += "ceiling_rule\n";
  if (key.manifest.most == 0) missing += "most of the manifest\n";
  if (key.ceiling.most == 0) missing += "most of the ceiling\n";
  if (key.foreign.odek.name != kNone && key.foreign.odek.rule == kNone) missing += "rule of odek\n";
  if (key.option.name != kNone && (key.option.value_name == kNone || key.option.help == kNone)) {
    missing += "words of the option\n";
  }
  return missing;
}

TEST(PolicyKeysTest, EachRowHasEveryColumn) {
  for (const LimitKey& key : kLimitKeys) EXPECT_EQ(MissingIn(key), "") << key.name;
}

TEST(PolicyKeysTest, ARowWithoutAColumnIsSeen) {
  LimitKey key = LimitNamed("memory_bytes");
  key.help = "";
  key.order = {};
  key.ceiling = {};
  key.option = {"memory"};
  EXPECT_EQ(MissingIn(key), "ceiling\nhelp\norder\nmost of the ceiling\nwords of the option\n");
  EXPECT_EQ(MissingIn({}).substr(0, 10), "name\ntype\n");
}

TEST(PolicyKeysTest, NoTwoRowsHaveAName) {
  std::set<std::string> names;
  const auto add = [&](const char* where, std::string_view name) {
    if (name == kNone) return;
    EXPECT_TRUE(names.insert(std::string(where) + std::string(name)).second) << where << name;
  };
  for (const LimitKey& key : kLimitKeys) {
    add("", key.name);
    add("sandbox.resources.", key.manifest.name);
    add("odek ", key.foreign.odek.name);
    add("ceiling ", key.ceiling.name);
    add("--", key.option.name);
  }
}

TEST(PolicyKeysTest, EachMemberIsARowOfItsOwn) {
  Limits limits;
  for (size_t i = 0; i < kLimitCount; ++i) kLimitKeys[i].set(&limits, i + 1);
  for (size_t i = 0; i < kLimitCount; ++i) EXPECT_EQ(kLimitKeys[i].get(limits), i + 1);
}

// What a dialect lets through, the bounds do too.
TEST(PolicyKeysTest, TheBoundsOfTheManifestLieInThoseOfTheField) {
  for (const LimitKey& key : kLimitKeys) {
    const Spelling& manifest = key.manifest;
    EXPECT_GE(manifest.least * manifest.unit, key.least) << key.name;
    EXPECT_LE(manifest.most, key.most / manifest.unit) << key.name;
    if (manifest.unsaid != 0) {
      EXPECT_GE(manifest.unsaid, manifest.least) << key.name;
      EXPECT_LE(manifest.unsaid, manifest.most) << key.name;
    }
    EXPECT_LE(key.ceiling.most, UINT64_MAX / key.ceiling.unit) << key.name;
  }
}

TEST(PolicyKeysTest, ADefaultLiesInTheBounds) {
  for (const LimitKey& key : kLimitKeys) {
    EXPECT_EQ(key.get(kDefaultLimits), key.fallback) << key.name;
    EXPECT_EQ(key.fallback != 0, key.zero == kNone) << key.name;
    if (key.fallback == 0) continue;
    EXPECT_GE(key.fallback, key.least) << key.name;
    EXPECT_LE(key.fallback, key.most) << key.name;
  }
}

TEST(PolicyKeysTest, OfTheWidestAndAnotherTheOtherIsNarrower) {
  const LimitKey& pids = LimitNamed("pids");
  EXPECT_EQ(Narrower(pids, 7, 9), 7u);
  EXPECT_EQ(Narrower(pids, 0, 9), 9u);
  EXPECT_EQ(Narrower(pids, 0, 0), 0u);
  LimitKey more = pids;
  more.order = Order::kMoreIsNarrower;
  EXPECT_EQ(Narrower(more, 7, 9), 9u);
  EXPECT_EQ(Narrower(more, 0, 9), 9u);
  EXPECT_EQ(ValueText(pids, 9), "9");
  EXPECT_EQ(ValueText(LimitNamed("cpu_seconds"), 0), "unlimited");
}

TEST(PolicyKeysTest, WhatIsUnsetIsTheDefault) {
  const Limits limits = WithDefaults({.pids = 9});
  EXPECT_EQ(limits.pids, 9u);
  EXPECT_EQ(limits.memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(limits.disk_bytes, 0u);
  EXPECT_EQ(kManifestLimits, (Limits{.memory_bytes = uint64_t{512} << 20, .cpu_millis = 1000}));
}

}  // namespace
}  // namespace odyssey::policy
