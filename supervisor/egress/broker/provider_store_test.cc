#include "supervisor/egress/broker/provider_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "supervisor/egress/broker/provider_file.h"

namespace odyssey::egress {
namespace {

constexpr uid_t kOwner = 1000, kOther = 1001;
constexpr char kSecret[] = "ghp_0123456789abcdefghij", kRotated[] = "ghp_9876543210zyxwvutsrq";

class ProviderStoreTest : public testing::Test {
 protected:
  ProviderStoreTest() {
    char name[] = "/tmp/odyssey-providers-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~ProviderStoreTest() override { std::filesystem::remove_all(directory_); }

  ProviderStore Open(const std::string& credentials = "") {
    Result<ProviderStore> store = ProviderStore::Open(directory_ + "/state", credentials);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(*store);
  }

  static provider_wire::Put Create(const std::string& name, const std::string& value = kSecret) {
    return {.create = true, .name = name, .type = "github", .secrets = {{"GH_TOKEN", value}}};
  }

  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(directory_ + "/given");
    std::ofstream(directory_ + "/given/" + name) << text;
  }

  std::string directory_;
};

TEST_F(ProviderStoreTest, KeepsAProviderForItsOwnerAlone) {
  ASSERT_TRUE(Open().Put(kOwner, Create("gh"), 7).ok());
  const ProviderStore store = Open();
  const Result<Provider> found = store.Find(kOwner, "gh");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->keys.at(0).secret.text(), kSecret);
  EXPECT_EQ(found->endpoints.at(0), "api.github.com:443");
  EXPECT_EQ(found->created, 7U);
  EXPECT_EQ(store.Find(kOther, "gh").status().code(), Code::kNotFound);
  EXPECT_TRUE(store.List(kOther)->empty());
  const auto listed = *store.List(kOwner);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].keys, std::vector<std::string>{"GH_TOKEN"});
}

TEST_F(ProviderStoreTest, LetsNoOtherUserReadItsFiles) {
  ASSERT_TRUE(Open().Put(kOwner, Create("gh"), 7).ok());
  struct stat info;
  for (const auto& [path, mode] : {std::pair{"/state/providers", 0700U},
                                   {"/state/providers/1000", 0700U},
                                   {"/state/providers/1000/gh", 0600U},
                                   {"/state/placeholder.key", 0600U}}) {
    ASSERT_EQ(stat((directory_ + path).c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 07777U, mode) << path;
  }
}

TEST_F(ProviderStoreTest, RotatesASecretAndKeepsItsShape) {
  ProviderStore store = Open();
  ASSERT_TRUE(store.Put(kOwner, Create("gh"), 7).ok());
  const credentials::Shape shape = store.Find(kOwner, "gh")->keys[0].shape;
  ASSERT_TRUE(
      store.Put(kOwner, {.name = "gh", .secrets = {{"GH_TOKEN", std::string(kRotated) + "AA"}}}, 9)
          .ok());
  const Result<Provider> found = store.Find(kOwner, "gh");
  ASSERT_EQ(found->keys.size(), 1U);
  EXPECT_EQ(found->keys[0].secret.text(), std::string(kRotated) + "AA");
  EXPECT_EQ(found->keys[0].shape, shape);
  EXPECT_EQ(found->created, 7U);
  EXPECT_EQ(found->rotated, 9U);
  ASSERT_TRUE(store.Put(kOwner, {.name = "gh", .endpoints = {"A.example.com:443"}}, 10).ok());
  EXPECT_EQ(store.Find(kOwner, "gh")->endpoints, std::vector<std::string>{"a.example.com:443"});
  EXPECT_EQ(store.Find(kOwner, "gh")->rotated, 9U);
}

TEST_F(ProviderStoreTest, RemovesAProvider) {
  ProviderStore store = Open();
  ASSERT_TRUE(store.Put(kOwner, Create("gh"), 7).ok());
  EXPECT_EQ(store.Remove(kOther, "gh").code(), Code::kNotFound);
  EXPECT_TRUE(store.Remove(kOwner, "gh").ok());
  EXPECT_EQ(store.Find(kOwner, "gh").status().code(), Code::kNotFound);
}

TEST_F(ProviderStoreTest, RefusesWhatItCannotKeep) {
  ProviderStore store = Open();
  ASSERT_TRUE(store.Put(kOwner, Create("gh"), 7).ok());
  const auto code = [&](const provider_wire::Put& put) { return store.Put(kOwner, put, 8).code(); };
  EXPECT_EQ(code(Create("gh")), Code::kAlreadyExists);
  EXPECT_EQ(code({.name = "none", .secrets = {{"A", kSecret}}}), Code::kNotFound);
  for (const char* name : {"", "../gh", "a/b", ".a", "A", "a.b"}) {
    EXPECT_EQ(code(Create(name)), Code::kInvalidArgument) << name;
    EXPECT_EQ(store.Remove(kOwner, name).code(), Code::kNotFound) << name;
    EXPECT_EQ(store.Find(kOwner, name).status().code(), Code::kNotFound) << name;
  }
  EXPECT_EQ(code(Create("short", "short")), Code::kInvalidArgument);
  EXPECT_EQ(code({.create = true, .name = "a"}), Code::kInvalidArgument);
  EXPECT_EQ(code({.create = true, .name = "a", .type = "none", .secrets = {{"A", kSecret}}}),
            Code::kInvalidArgument);
  EXPECT_EQ(code({.create = true, .name = "a", .secrets = {{"1A", kSecret}}}),
            Code::kInvalidArgument);
  EXPECT_EQ(code({.name = "gh", .type = "openai"}), Code::kInvalidArgument);
  EXPECT_EQ(code({.name = "gh", .endpoints = {"127.0.0.1:443"}}), Code::kPermissionDenied);
  EXPECT_EQ(store.Find(kOwner, "gh")->keys[0].secret.text(), kSecret);
}

TEST_F(ProviderStoreTest, HasABoundForEachUser) {
  ProviderStore store = Open();
  for (uint32_t i = 0; i < provider_wire::kMaxProviders; ++i) {
    ASSERT_TRUE(store.Put(kOwner, Create("p" + std::to_string(i)), 7).ok());
  }
  EXPECT_EQ(store.Put(kOwner, Create("more"), 7).code(), Code::kResourceExhausted);
  EXPECT_TRUE(store.Put(kOther, Create("more"), 7).ok());
  const std::string big(provider_wire::kMaxSecretBytes, 'a');
  Provider provider;
  for (const char* key : {"A", "B", "C", "D"}) ASSERT_TRUE(SetSecret(key, big, &provider).ok());
  EXPECT_EQ(SetSecret("E", big, &provider).code(), Code::kResourceExhausted);
}

TEST_F(ProviderStoreTest, HasTheOperatorsForEveryUser) {
  Write("provider.github.GH_TOKEN", std::string(kSecret) + "\n");
  Write("provider.own.KEY", kSecret);
  Write("provider.own.endpoints", "a.example.com:443\n*.example.org:443\n");
  Write("other", "x");
  ProviderStore store = Open(directory_ + "/given");
  const Result<Provider> github = store.Find(kOther, "github");
  ASSERT_TRUE(github.ok());
  EXPECT_TRUE(github->by_operator);
  EXPECT_EQ(github->keys[0].secret.text(), kSecret);
  EXPECT_EQ(github->endpoints[0], "api.github.com:443");
  EXPECT_EQ(store.Find(kOther, "own")->endpoints.size(), 2U);
  EXPECT_EQ(store.List(kOther)->size(), 2U);
  EXPECT_EQ(store.Remove(kOther, "own").code(), Code::kNotFound);

  Write("provider.own.bad key", kSecret);
  EXPECT_FALSE(ProviderStore::Open(directory_ + "/state", directory_ + "/given").ok());
}

TEST_F(ProviderStoreTest, KnowsItsCellsAgain) {
  const std::string key = Open().KeyOfCell("cell");
  EXPECT_EQ(Open().KeyOfCell("cell"), key);
  EXPECT_NE(Open().KeyOfCell("other"), key);
}

TEST_F(ProviderStoreTest, RefusesADamagedFile) {
  ProviderStore store = Open();
  ASSERT_TRUE(store.Put(kOwner, Create("gh"), 7).ok());
  std::ofstream(directory_ + "/state/providers/1000/gh") << "damaged";
  EXPECT_EQ(store.Find(kOwner, "gh").status().code(), Code::kDataLoss);
  EXPECT_EQ(store.Put(kOwner, Create("gh"), 8).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace odyssey::egress
