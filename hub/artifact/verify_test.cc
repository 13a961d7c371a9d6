// ODY-047, and that an answer is what was asked for.
#include "hub/artifact/verify.h"

#include <gtest/gtest.h>

#include "tests/fakes/sample_artifact.h"

namespace odyssey::artifact {
namespace {

package::Reference Asked(const std::string& text) { return ParsePullReference(text).value(); }

const package::Reference kAsked = Asked("team/demo@0.1.0");

Pulled Answer(const Artifact& artifact = fakes::SampleArtifact()) {
  return {oci::ReadConfig(artifact.config)->version, DigestOf(artifact.manifest), artifact};
}

std::string ErrorOf(const Pulled& pulled, const package::Reference& asked = kAsked) {
  return CheckPulled(asked, pulled).status().message();
}

TEST(VerifyTest, AcceptsWhatWasAskedFor) {
  EXPECT_EQ(NameOf(CheckPulled(kAsked, Answer()).value()), "team/demo@0.1.0");
  EXPECT_TRUE(CheckPulled(Asked("team/demo@" + Answer().digest), Answer()).ok());
}

TEST(VerifyTest, RefusesATamperedConfig) {
  Pulled pulled = Answer();
  pulled.artifact.config += " ";
  EXPECT_EQ(ErrorOf(pulled), "hub returned config bytes that do not match manifest digest");
}

TEST(VerifyTest, RefusesATamperedLayer) {
  Pulled pulled = Answer();
  pulled.artifact.layers[0].bytes = "other";
  EXPECT_EQ(ErrorOf(pulled), "hub returned layer bytes that do not match digest " +
                                 pulled.artifact.layers[0].digest);
}

TEST(VerifyTest, RefusesAMissingLayer) {
  Pulled pulled = Answer();
  pulled.artifact.layers.clear();
  EXPECT_EQ(ErrorOf(pulled), "hub response missing layer " + DigestOf("layer"));
}

TEST(VerifyTest, RefusesADuplicateLayer) {
  Pulled pulled = Answer();
  pulled.artifact.layers.push_back(pulled.artifact.layers[0]);
  EXPECT_EQ(ErrorOf(pulled), "hub returned duplicate layer digest " + DigestOf("layer"));
}

TEST(VerifyTest, RefusesAnExtraLayer) {
  Pulled pulled = Answer();
  pulled.artifact.layers.push_back({DigestOf("more"), "more"});
  EXPECT_EQ(ErrorOf(pulled), "hub returned unexpected layer " + DigestOf("more"));
}

TEST(VerifyTest, RefusesMetadataOfAnotherManifest) {
  Pulled pulled = Answer();
  pulled.artifact.manifest += " ";
  EXPECT_EQ(ErrorOf(pulled), "hub returned metadata inconsistent with manifest digest");
  pulled = Answer();
  pulled.version = "9.9.9";
  EXPECT_EQ(ErrorOf(pulled), "hub returned metadata inconsistent with bundle config");
}

TEST(VerifyTest, RefusesAnotherDigestThanRequested) {
  const std::string wanted = DigestOf("another");
  EXPECT_EQ(ErrorOf(Answer(), Asked("team/demo@" + wanted)),
            "hub returned manifest digest " + Answer().digest + ", requested is " + wanted);
}

TEST(VerifyTest, RefusesAnotherBundleThanRequested) {
  EXPECT_EQ(ErrorOf(Answer(fakes::SampleArtifact("local"))),
            "hub returned bundle local/demo@0.1.0, requested is team/demo@0.1.0");
  EXPECT_EQ(ErrorOf(Answer(), Asked("team/other")),
            "hub returned bundle team/demo@0.1.0, requested is team/other@0.1.0");
  EXPECT_EQ(ErrorOf(Answer(fakes::SampleArtifact("team", "0.2.0"))),
            "hub returned bundle team/demo@0.2.0, requested is team/demo@0.1.0");
}

}  // namespace
}  // namespace odyssey::artifact
