#include "supervisor/egress/broker/cell_credentials.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace odyssey::egress {
namespace {

constexpr uid_t kOwner = 1000;
constexpr char kSecret[] = "sk-0123456789abcdefghij";

class CellCredentialsTest : public testing::Test {
 protected:
  CellCredentialsTest() {
    char name[] = "/tmp/odyssey-cell-credentials-XXXXXX";
    directory_ = mkdtemp(name);
    std::filesystem::create_directory(directory_ + "/given");
    std::ofstream(directory_ + "/given/provider.loose.KEY") << kSecret;
    store_ = *ProviderStore::Open(directory_ + "/state", directory_ + "/given");
    policy_.cell_id = "cell";
    policy_.revision = 3;
    policy_.owner_uid = kOwner;
  }
  ~CellCredentialsTest() override { std::filesystem::remove_all(directory_); }

  void Put(const std::string& name, const std::string& key, std::vector<std::string> endpoints) {
    const Status put = store_.Put(
        kOwner, {.create = true, .name = name, .secrets = {{key, kSecret}}, .endpoints = endpoints},
        1);
    ASSERT_TRUE(put.ok()) << put.message();
    policy_.providers.push_back(name);
  }

  void Name(const std::string& host, uint16_t port, const std::string& provider = "",
            Protocol protocol = Protocol::kRest) {
    Endpoint endpoint{.host = host, .ports = {port}, .protocol = protocol};
    endpoint.credentials.provider = provider;
    policy_.policy.rules.push_back({.key = "r", .endpoints = {endpoint}});
  }

  CellCredentials Of() { return CredentialsOf(policy_, store_); }

  std::string directory_;
  ProviderStore store_;
  egress_wire::SetPolicy policy_;
};

TEST_F(CellCredentialsTest, HasThoseThatThePolicyLeadsTo) {
  Put("a", "A", {"*.example.com:443", "other.example.org:443"});
  Name("api.example.com", 443);
  const CellCredentials cell = Of();
  EXPECT_EQ(cell.placeholders.revision, 3U);
  EXPECT_TRUE(cell.placeholders.errors.empty());
  ASSERT_EQ(cell.placeholders.placeholders.size(), 1U);
  EXPECT_EQ(cell.placeholders.placeholders[0].key, "A");
  ASSERT_EQ(cell.credentials.size(), 1U);
  EXPECT_EQ(cell.credentials[0].placeholder, cell.placeholders.placeholders[0].text);
  EXPECT_NE(cell.credentials[0].placeholder, kSecret);
  EXPECT_EQ(cell.credentials[0].secret, kSecret);
  EXPECT_EQ(cell.credentials[0].endpoints, std::vector<std::string>{"*.example.com:443"});
}

TEST_F(CellCredentialsTest, GivesNoSecretThatNoEndpointLeadsTo) {
  Put("a", "A", {"api.example.com:443"});
  Name("api.example.com", 8443);
  Name("api.example.com", 443, "", Protocol::kL4);
  Name("other.example.com", 443, "a");
  const CellCredentials cell = Of();
  EXPECT_TRUE(cell.placeholders.placeholders.empty());
  EXPECT_EQ(cell.placeholders.errors.size(), 1U);
  ASSERT_EQ(cell.credentials.size(), 1U);
  EXPECT_EQ(cell.credentials[0].secret, "");
  EXPECT_TRUE(cell.credentials[0].endpoints.empty());
}

TEST_F(CellCredentialsTest, BindsAProviderWithoutEndpointsByThePolicy) {
  Put("a", "A", {});
  Name("api.example.com", 443, "a");
  Name("other.example.com", 443);
  const CellCredentials cell = Of();
  ASSERT_EQ(cell.credentials.size(), 1U);
  EXPECT_EQ(cell.credentials[0].endpoints, std::vector<std::string>{"api.example.com:443"});
}

TEST_F(CellCredentialsTest, SendsTheOperatorsSecretsNowhereElse) {
  policy_.providers = {"loose"};
  Name("evil.example.com", 443, "loose");
  const CellCredentials cell = Of();
  ASSERT_EQ(cell.credentials.size(), 1U);
  EXPECT_EQ(cell.credentials[0].secret, "");
  EXPECT_TRUE(cell.placeholders.placeholders.empty());
}

TEST_F(CellCredentialsTest, SaysWhatIsMissing) {
  policy_.providers = {"none"};
  Put("b", "B", {});
  policy_.providers = {"none"};
  Name("api.example.com", 443, "b");
  const CellCredentials cell = Of();
  EXPECT_TRUE(cell.credentials.empty());
  const std::vector<std::string> errors = {
      "provider none: there is none of this name",
      "provider b: the policy binds it to api.example.com:443, and it is not attached"};
  EXPECT_EQ(cell.placeholders.errors, errors);
}

TEST_F(CellCredentialsTest, HasOneProviderForAKey) {
  Put("a", "KEY", {"api.example.com:443"});
  Put("b", "KEY", {"api.example.com:443"});
  Name("api.example.com", 443);
  const CellCredentials cell = Of();
  ASSERT_EQ(cell.placeholders.placeholders.size(), 1U);
  EXPECT_EQ(cell.placeholders.placeholders[0].text, cell.credentials[0].placeholder);
  EXPECT_EQ(cell.placeholders.errors.size(), 1U);
}

TEST_F(CellCredentialsTest, KeepsPlaceholdersWhenASecretIsRotated) {
  Put("a", "A", {"api.example.com:443"});
  Name("api.example.com", 443);
  const std::string before = Of().credentials[0].placeholder;
  ASSERT_TRUE(
      store_.Put(kOwner, {.name = "a", .secrets = {{"A", "another-secret-of-12345"}}}, 2).ok());
  EXPECT_EQ(Of().credentials[0].placeholder, before);
  EXPECT_EQ(Of().credentials[0].secret, "another-secret-of-12345");
  policy_.cell_id = "other";
  EXPECT_NE(Of().credentials[0].placeholder, before);
}

TEST(EncodeCredentialsTest, NeedsAsManyMessagesAsFit) {
  std::vector<egress_wire::Credential> all(5);
  for (auto& one : all) one.secret = std::string(egress_wire::kMaxSecretBytes, 'x');
  size_t count = 0;
  const std::vector<std::string> messages = EncodeCredentials(all);
  EXPECT_GT(messages.size(), 1U);
  for (size_t i = 0; i < messages.size(); ++i) {
    egress_wire::SetCredentials part;
    ASSERT_TRUE(egress_wire::Decode(messages[i], &part).ok());
    EXPECT_LE(messages[i].size(), size_t{160} * 1024);
    EXPECT_EQ(part.more, i + 1 < messages.size());
    count += part.credentials.size();
  }
  EXPECT_EQ(count, all.size());
  EXPECT_EQ(EncodeCredentials({}).size(), 1U);
}

}  // namespace
}  // namespace odyssey::egress
