#include "supervisor/wire/egress_wire.h"

#include <gtest/gtest.h>

#include "supervisor/wire/provider_wire.h"

namespace odyssey::egress_wire {
namespace {

template <typename M>
M Again(const M& message) {
  M out;
  EXPECT_TRUE(Decode(Encode(message), &out).ok());
  return out;
}

TEST(EgressWireTest, CarriesCredentialsAndTheirPlaceholders) {
  const Credential one{.provider = "gh",
                       .key = "GH_TOKEN",
                       .placeholder = "ghp_aaaa",
                       .secret = "ghp_0000",
                       .endpoints = {"api.example.com:443"}};
  const SetCredentials credentials = Again(SetCredentials{.credentials = {one}, .more = true});
  EXPECT_EQ(credentials.credentials, std::vector<Credential>{one});
  EXPECT_TRUE(credentials.more);

  const Placeholder placeholder{.key = "GH_TOKEN", .text = "ghp_aaaa"};
  const Placeholders answer = Again(
      Placeholders{.revision = 7, .placeholders = {placeholder}, .errors = {"provider x: none"}});
  EXPECT_EQ(answer.revision, 7U);
  EXPECT_EQ(answer.placeholders, std::vector<Placeholder>{placeholder});
  EXPECT_EQ(answer.errors, std::vector<std::string>{"provider x: none"});

  const SetPolicy policy = Again(SetPolicy{.cell_id = "c", .owner_uid = 1000, .providers = {"gh"}});
  EXPECT_EQ(policy.owner_uid, 1000U);
  EXPECT_EQ(policy.providers, std::vector<std::string>{"gh"});
}

TEST(EgressWireTest, CarriesPinsAndHashes) {
  const std::string hash(egress::kMaxSha256Digits, 'a');
  const egress::Rule rule{.key = "x",
                          .binaries = {{.path = "/p", .sha256 = hash, .only_itself = true}}};
  EXPECT_EQ(Again(SetPolicy{.policy = {.rules = {rule}}}).policy.rules[0].binaries, rule.binaries);
  EXPECT_EQ(Again(Dial{.program = "/p", .sha256 = hash}).sha256, hash);
  Dial out;
  EXPECT_FALSE(Decode(Encode(Dial{.sha256 = hash + "a"}), &out).ok());
}

TEST(EgressWireTest, RefusesASecretBeyondItsBound) {
  SetCredentials out;
  const Credential long_one{.secret = std::string(kMaxSecretBytes + 1, 'x')};
  EXPECT_FALSE(Decode(Encode(SetCredentials{.credentials = {long_one}}), &out).ok());
  EXPECT_FALSE(Decode(Encode(Placeholders{}), &out).ok());
  EXPECT_FALSE(Decode(Encode(SetCredentials{}) + "x", &out).ok());
}

TEST(ProviderWireTest, CarriesWhatItIsGiven) {
  using provider_wire::Decode;
  using provider_wire::Encode;
  provider_wire::Put put;
  const provider_wire::Put sent{.create = true,
                                .name = "gh",
                                .type = "github",
                                .secrets = {{"GH_TOKEN", "ghp_0000"}},
                                .endpoints = {"api.example.com:443"}};
  ASSERT_TRUE(Decode(Encode(sent), &put).ok());
  EXPECT_EQ(put.owner, provider_wire::kPeer);
  EXPECT_TRUE(put.create);
  ASSERT_EQ(put.secrets.size(), 1U);
  EXPECT_EQ(put.secrets[0].value, "ghp_0000");
  EXPECT_FALSE(Decode(Encode(provider_wire::List{}), &put).ok());

  const provider_wire::Provider info{
      .name = "gh", .type = "github", .keys = {"GH_TOKEN"}, .created = 1, .rotated = 2};
  provider_wire::Provider listed;
  ASSERT_TRUE(Decode(Encode(info), &listed).ok());
  EXPECT_EQ(listed, info);
}

}  // namespace
}  // namespace odyssey::egress_wire
