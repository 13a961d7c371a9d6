#include "agentd/token/token_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_ids.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::token {
namespace {

constexpr std::chrono::hours kHour{1};

class TokenStoreTest : public ::testing::Test {
 protected:
  NewToken Make(uid_t owner, const std::string& name = "") {
    Result<NewToken> made = store_.Create(owner, name, kHour);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return *made;
  }
  std::string FileText() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fakes::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/tokens.json";
  fakes::FakeClock clock_;
  fakes::FakeIds ids_;
  TokenStore store_{path_, &clock_, &ids_};
};

TEST_F(TokenStoreTest, ASecretIsOfItsOwnerUntilItExpires) {
  const NewToken made = Make(1000, "laptop");
  EXPECT_EQ(store_.Verify(made.secret)->owner, 1000u);
  EXPECT_EQ(store_.Verify(made.secret)->id, made.token.id);
  EXPECT_EQ(store_.Verify(made.secret + "0").status().code(), Code::kUnauthenticated);
  EXPECT_EQ(store_.Verify("").status().code(), Code::kUnauthenticated);
  EXPECT_EQ(store_.Verify(made.token.id).status().code(), Code::kUnauthenticated);
  clock_.Advance(kHour - std::chrono::milliseconds(1));
  EXPECT_TRUE(store_.Verify(made.secret).ok());
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(store_.Verify(made.secret).status().code(), Code::kUnauthenticated);
  EXPECT_TRUE(store_.List(std::nullopt).empty());
}

TEST_F(TokenStoreTest, TheFileHasDigestsAndNoSecretAndIsReadAgain) {
  const NewToken made = Make(1000, "laptop");
  EXPECT_EQ(FileText().find(made.secret), std::string::npos);
  EXPECT_EQ(FileText().find(made.secret.substr(4)), std::string::npos);
  EXPECT_NE(FileText().find("laptop"), std::string::npos);
  TokenStore again(path_, &clock_, &ids_);
  ASSERT_TRUE(again.Load().ok());
  EXPECT_EQ(again.Verify(made.secret)->id, made.token.id);
}

TEST_F(TokenStoreTest, ADamagedFileIsNamed) {
  std::ofstream(path_) << "{\"tokens\": [{}]}";
  const Status loaded = store_.Load();
  EXPECT_EQ(loaded.code(), Code::kDataLoss);
  EXPECT_NE(loaded.message().find(path_), std::string::npos);
}

TEST_F(TokenStoreTest, NamesAndLifetimesAreBounded) {
  EXPECT_EQ(store_.Create(1, std::string(65, 'a'), kHour).status().detail().field, "name");
  EXPECT_EQ(store_.Create(1, "a\nb", kHour).status().detail().field, "name");
  EXPECT_EQ(store_.Create(1, "", kLongestLifetime + kHour).status().detail().field, "lifetime_ms");
  for (size_t i = 0; i < kMostOfOwner; ++i) Make(1000);
  EXPECT_EQ(store_.Create(1000, "", kHour).status().code(), Code::kResourceExhausted);
  Make(1001);  // another's do not count
  clock_.Advance(kHour);
  Make(1000);  // nor do expired ones
}

TEST_F(TokenStoreTest, OwnersRevokeTheirOwnAlone) {
  const NewToken made = Make(1000);
  EXPECT_EQ(store_.Revoke(made.token.id, 1001).status().code(), Code::kNotFound);
  EXPECT_TRUE(store_.Verify(made.secret).ok());
  EXPECT_TRUE(store_.Revoke(made.token.id, 1000).ok());
  EXPECT_EQ(store_.Verify(made.secret).status().code(), Code::kUnauthenticated);
  TokenStore again(path_, &clock_, &ids_);
  ASSERT_TRUE(again.Load().ok());
  EXPECT_EQ(again.Verify(made.secret).status().code(), Code::kUnauthenticated);
}

TEST_F(TokenStoreTest, ALinkMakesOneTokenWithinItsTime) {
  const NewLink link = *store_.CreateLink(1000);
  const Result<NewToken> made = store_.Exchange(link.secret);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(store_.Verify(made->secret)->owner, 1000u);
  EXPECT_TRUE(made->token.of_link);
  EXPECT_EQ(store_.Exchange(link.secret).status().code(), Code::kUnauthenticated);
  const NewLink late = *store_.CreateLink(1000);
  clock_.Advance(kLinkLifetime);
  EXPECT_EQ(store_.Exchange(late.secret).status().code(), Code::kUnauthenticated);
  // A link is no token, nor a token a link.
  const NewLink other = *store_.CreateLink(1000);
  EXPECT_EQ(store_.Verify(other.secret).status().code(), Code::kUnauthenticated);
  EXPECT_EQ(store_.Exchange(made->secret).status().code(), Code::kUnauthenticated);
}

TEST_F(TokenStoreTest, WatchersAreCalledOnceAtTheEnd) {
  const NewToken revoked = Make(1000), expired = Make(1000);
  int calls = 0, dropped = 0;
  const auto one = store_.WatchEnd(revoked.token.id, [&calls] { ++calls; });
  auto gone = store_.WatchEnd(revoked.token.id, [&dropped] { ++dropped; });
  const auto other = store_.WatchEnd(expired.token.id, [&calls] { calls += 10; });
  gone.reset();
  store_.EndExpired();
  EXPECT_EQ(calls, 0);
  ASSERT_TRUE(store_.Revoke(revoked.token.id, std::nullopt).ok());
  EXPECT_EQ(calls, 1);
  clock_.Advance(kHour);
  store_.EndExpired();
  store_.EndExpired();
  EXPECT_EQ(calls, 11);
  EXPECT_EQ(dropped, 0);
  const auto late = store_.WatchEnd(revoked.token.id, [&calls] { calls += 100; });
  EXPECT_EQ(calls, 111);
}

}  // namespace
}  // namespace odyssey::token
