#include "agentd/package/layout_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "agentd/package/pack.h"
#include "agentd/package/unpack.h"
#include "common/base/sha256.h"
#include "common/oci/digest.h"
#include "common/os/file.h"
#include "tests/fakes/bundle_source.h"

namespace odyssey::package {
namespace {

namespace fs = std::filesystem;

class LayoutDirectoryTest : public ::testing::Test {
 protected:
  LayoutDirectory NewLayout() {
    return *LayoutDirectory::Create(directory_.path() + "/layout" + std::to_string(++layouts_));
  }
  static std::string ArchiveOf(const LayoutDirectory& layout) {
    std::string out;
    const Result<Parts> parts = layout.ReadParts();
    EXPECT_TRUE(parts.ok()) << parts.status().message();
    const Status status = layout.WriteArchive(*parts, [&](std::string_view bytes) {
      out += bytes;
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }
  static Status Receive(const LayoutDirectory& layout, const std::string& archive) {
    ArchiveReceiver receiver(&layout);
    ODY_RETURN_IF_ERROR(receiver.Feed(archive));
    return receiver.Finish();
  }
  std::string Pack() {
    const LayoutDirectory layout = NewLayout();
    const Result<Parts> parts = PackBundle(source_.path(), "team", layout);
    EXPECT_TRUE(parts.ok()) << parts.status().message();
    return ArchiveOf(layout);
  }
  Status Unpack(const std::string& archive) {
    const LayoutDirectory layout = NewLayout();
    ODY_RETURN_IF_ERROR(Receive(layout, archive));
    ODY_ASSIGN_OR_RETURN(const Parts parts, layout.ReadParts());
    fs::remove_all(tree_);
    ODY_RETURN_IF_ERROR(UnpackBundle(layout, parts, tree_));
    return VerifyTree(layout, parts, tree_);
  }
  static std::string Content(const std::string& path) { return *ReadFile(path, 1 << 20); }
  std::string SourceManifest() const { return Content(source_.path() + "/odyssey.bundle.json5"); }
  mode_t ModeOf(const std::string& path) const {
    struct stat info;
    return stat((tree_ + "/" + path).c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  }

  fakes::TemporaryDirectory directory_;
  fakes::BundleSource source_;
  const std::string tree_ = directory_.path() + "/tree";
  int layouts_ = 0;
};

TEST_F(LayoutDirectoryTest, TheSameFilesMakeTheSameArchive) {
  const std::string first = Pack();
  EXPECT_EQ(Pack(), first);
  EXPECT_EQ(first.substr(0, 10), std::string("ODYB1\n\x05\0\0\0", 10)) << "two JSON files, 3 blobs";
  source_.Write("README.md", "# other\n");
  EXPECT_NE(Pack(), first);
}

// The whole of what a reader of the contract sees, beside the two annotations that are ours.
TEST_F(LayoutDirectoryTest, PacksInTheContractsLayout) {
  const LayoutDirectory layout = NewLayout();
  const Result<Parts> parts = PackBundle(source_.path(), "team", layout);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->config.ns, "team");
  EXPECT_EQ(parts->config.readme, "# demo\n");
  const std::string layer = *layout.ReadBlob(parts->manifest.layers.at(0), 1024);
  const std::string agent =
      "id: demo\nprompt: Be brief.\nmodel: {provider: fake, name: m}\ntools: {}\n";
  EXPECT_EQ(layer, *oci::EncodeHeader(oci::kLayerFormat, 2) +
                       *oci::EncodeEntry(oci::kLayerFormat, "README.md", 7) + "# demo\n" +
                       *oci::EncodeEntry(oci::kLayerFormat, "agent.yaml", agent.size()) + agent)
      << "sorted, and without the manifest file";
  EXPECT_EQ(oci::DigestOf(Sha256Hex(parts->manifest_text)).substr(7), parts->manifest_blob.digest);
}

TEST_F(LayoutDirectoryTest, UnpacksWhatWasPackedWithModesAndTheManifestsText) {
  const std::string text = "// a comment\n" + SourceManifest();
  source_.Write("odyssey.bundle.json5", text);
  source_.Write("bin/run", "#!/bin/sh\n");
  fs::permissions(source_.path() + "/bin/run", fs::perms(0755));
  const Status status = Unpack(Pack());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(ModeOf("bin/run"), 0755u);
  EXPECT_EQ(ModeOf("bin"), 0755u);
  EXPECT_EQ(ModeOf("README.md"), 0644u);
  EXPECT_EQ(Content(tree_ + "/odyssey.bundle.json5"), text);
}

// ODY-041 of an archive whose builder knows no modes.
TEST_F(LayoutDirectoryTest, WithoutAnnotationsExecIsExecutable) {
  const LayoutDirectory layout = NewLayout();
  const std::string layer = *oci::EncodeHeader(oci::kLayerFormat, 3) +
                            *oci::EncodeEntry(oci::kLayerFormat, "agent.yaml", 2) + "{}" +
                            *oci::EncodeEntry(oci::kLayerFormat, "bin/run", 1) + "x" +
                            *oci::EncodeEntry(oci::kLayerFormat, "skills/s/SKILL.md", 1) + "x";
  oci::Manifest manifest;
  manifest.layers = {*layout.AddBlob(layer)};
  const oci::Config config = {
      "team",
      "demo",
      "1.0.0",
      "",
      R"({"id":"demo","agent_spec":"spec/a.yaml","skills":[{"name":"s","path":"elsewhere/s"}],)"
      R"("sandbox":{"permissions":{"filesystem":{"exec":["./bin/run"]}}}})",
      "{}"};
  manifest.config = *layout.AddBlob(oci::WriteConfig(config));
  const std::string text = oci::WriteManifest(manifest, "team/demo:1.0.0");
  ASSERT_TRUE(layout.SetManifest(*layout.AddBlob(text), "team/demo:1.0.0").ok());
  const Status status = Unpack(ArchiveOf(layout));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(ModeOf("bin/run"), 0755u);
  EXPECT_EQ(ModeOf("agent.yaml"), 0644u);
  const std::string made = Content(tree_ + "/odyssey.bundle.json5");
  EXPECT_NE(made.find("\"agent_spec\": \"agent.yaml\""), std::string::npos) << made;
  EXPECT_NE(made.find("\"path\": \"skills/s\""), std::string::npos) << made;
}

// What is shown of a bundle's config is what runs.
TEST_F(LayoutDirectoryTest, RefusesAManifestTextThatIsNotTheConfigs) {
  const LayoutDirectory layout = NewLayout();
  Parts parts = *PackBundle(source_.path(), "team", layout);
  parts.manifest.annotations[oci::kManifestTextAnnotation] = "{id: 'other'}";
  fs::remove(layout.path() + "/index.json");
  const std::string text = oci::WriteManifest(parts.manifest, "team/demo:0.1.0");
  ASSERT_TRUE(layout.SetManifest(*layout.AddBlob(text), "team/demo:0.1.0").ok());
  const Status status = Unpack(ArchiveOf(layout));
  EXPECT_NE(status.message().find("is not the config's bundle_manifest"), std::string::npos)
      << status.message();
}

TEST_F(LayoutDirectoryTest, RefusesBytesThatAreNotTheDigests) {
  std::string archive = Pack();
  const size_t at = archive.find("# demo");
  archive[at] = 'X';
  EXPECT_NE(Unpack(archive).message().find("blob bytes do not match digest sha256:"),
            std::string::npos);
}

TEST_F(LayoutDirectoryTest, RefusesEntriesThatAreNotOfALayout) {
  for (const auto& [path, cause] : std::vector<std::pair<std::string, std::string>>{
           {"other.txt", "bundle archive entry is part of no OCI layout: other.txt"},
           {"blobs/sha256/abc", "invalid digest sha256:abc"},
           {"blobs/md5/abc", "bundle archive entry is part of no OCI layout: blobs/md5/abc"}}) {
    const std::string archive = *oci::EncodeHeader(oci::kArchiveFormat, 1) +
                                *oci::EncodeEntry(oci::kArchiveFormat, path, 0);
    EXPECT_EQ(Receive(NewLayout(), archive), InvalidArgument("invalid bundle: " + cause));
  }
}

TEST_F(LayoutDirectoryTest, RefusesLayersThatAreNoTree) {
  for (const auto& [paths, cause] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"a", "a/b"}, "is a file and a directory"},
           {{"a/b", "a"}, "comes twice"},
           {{".odyssey/x"}, "is reserved"},
           {{"mount/x"}, "reserved"},
           {{"index.json"}, "reserved"}}) {
    const LayoutDirectory layout = NewLayout();
    std::string layer = *oci::EncodeHeader(oci::kLayerFormat, paths.size());
    for (const std::string& path : paths) layer += *oci::EncodeEntry(oci::kLayerFormat, path, 0);
    oci::Manifest manifest;
    manifest.layers = {*layout.AddBlob(layer)};
    manifest.config = *layout.AddBlob(oci::WriteConfig({"team", "demo", "1.0.0", "", "{}", "{}"}));
    ASSERT_TRUE(layout.SetManifest(*layout.AddBlob(oci::WriteManifest(manifest, "x")), "x").ok());
    const Status status = Unpack(ArchiveOf(layout));
    EXPECT_NE(status.message().find(cause), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace odyssey::package
