#include <gtest/gtest.h>

#include "hub/trust/signature.h"
#include "hub/trust/trusted_keys.h"

namespace odyssey::trust {
namespace {

constexpr char kDigest[] = "sha256:00";

TEST(SignatureTest, IsOfOneKeyAndOneDigest) {
  const KeyPair ann = MakeKeyPair().value(), bob = MakeKeyPair().value();
  const std::string signature = Sign(ann.secret, kDigest).value();
  EXPECT_TRUE(CheckSignature(signature, kDigest, {bob.open, ann.open}).ok());
  EXPECT_FALSE(CheckSignature(signature, kDigest, {bob.open}).ok());
  EXPECT_FALSE(CheckSignature(signature, "sha256:01", {ann.open}).ok());
  EXPECT_FALSE(CheckSignature(signature, kDigest, {}).ok());
}

TEST(SignatureTest, IsMissingOrMalformed) {
  const KeyPair ann = MakeKeyPair().value();
  EXPECT_EQ(CheckSignature("", kDigest, {ann.open}).message(), "bundle sha256:00: not signed");
  EXPECT_EQ(CheckSignature("eA==", kDigest, {ann.open}).message(),
            "bundle sha256:00: not signed by a trusted key");
  EXPECT_FALSE(Sign("eA==", kDigest).ok());
}

TEST(TrustedKeysTest, AreByNamespace) {
  const std::string ann = MakeKeyPair()->open, bob = MakeKeyPair()->open;
  const auto keys = ParseTrustedKeys("# keys\n\nteam " + ann + " # ann's\n* " + bob + "\n").value();
  EXPECT_EQ(KeysOf(keys, "team"), (std::vector<std::string>{ann, bob}));
  EXPECT_EQ(KeysOf(keys, "other"), (std::vector<std::string>{bob}));
}

TEST(TrustedKeysTest, RefusesALineThatItCannotRead) {
  for (const char* text : {"team", "team eA==", "te/am x", "team x y"}) {
    EXPECT_EQ(ParseTrustedKeys(text).status().message().substr(0, 7), "line 1:") << text;
  }
}

}  // namespace
}  // namespace odyssey::trust
