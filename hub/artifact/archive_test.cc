#include "hub/artifact/archive.h"

#include <gtest/gtest.h>

#include "common/base/sha256.h"
#include "tests/fakes/sample_artifact.h"

namespace odyssey::artifact {
namespace {

std::string Archive() { return WriteArchive(fakes::SampleArtifact()).value(); }

std::string ErrorOf(const std::string& archive) { return ReadArchive(archive).status().message(); }

TEST(ArchiveTest, GivesBackWhatItWasMadeOf) {
  const Result<Artifact> read = ReadArchive(Archive());
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Artifact sample = fakes::SampleArtifact();
  EXPECT_EQ(read->manifest, sample.manifest);
  EXPECT_EQ(read->config, sample.config);
  ASSERT_EQ(read->layers.size(), 1u);
  EXPECT_EQ(read->layers[0].bytes, "layer");
}

TEST(ArchiveTest, RefusesEveryPrefix) {
  const std::string whole = Archive();
  for (size_t bytes = 0; bytes < whole.size(); bytes++) {
    EXPECT_FALSE(ReadArchive(whole.substr(0, bytes)).ok()) << bytes;
  }
}

TEST(ArchiveTest, RefusesTrailingDataAndForeignBytes) {
  EXPECT_EQ(ErrorOf(Archive() + "x"), "invalid bundle: bundle archive contains trailing data");
  EXPECT_EQ(ErrorOf("PK"), "invalid bundle: invalid bundle archive header");
}

TEST(ArchiveTest, RefusesABlobThatWasChanged) {
  std::string archive = Archive();
  archive.replace(archive.find("hello"), 5, "HELLO");
  EXPECT_NE(ErrorOf(archive).find("blob bytes do not match digest sha256:"), std::string::npos);
}

TEST(ArchiveTest, RefusesAPathThatLeadsOut) {
  std::string archive = Archive();
  archive.replace(archive.find("oci-layout"), 10, "../layouts");
  EXPECT_EQ(ErrorOf(archive),
            "invalid bundle: bundle archive entry escapes destination: ../layouts");
}

TEST(ArchiveTest, RenamesTheNamespaceAndDropsTheSignature) {
  Artifact sample = fakes::SampleArtifact("local");
  sample.signature = "x";
  const Result<Artifact> renamed = InNamespace(sample, "team");
  ASSERT_TRUE(renamed.ok());
  EXPECT_EQ(NameOf(oci::ReadConfig(renamed->config).value()), "team/demo@0.1.0");
  EXPECT_EQ(oci::ReadManifest(renamed->manifest)->config.digest, Sha256Hex(renamed->config));
  EXPECT_EQ(renamed->signature, "");
  EXPECT_EQ(InNamespace(sample, "local")->manifest, sample.manifest);
}

}  // namespace
}  // namespace odyssey::artifact
