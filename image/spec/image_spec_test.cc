#include "image/spec/image_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace odyssey::image {
namespace {

using testing::HasSubstr;

const std::string kOne = "sha256:" + std::string(64, '1');
const std::string kTwo = "sha256:" + std::string(64, '2');
constexpr char kOciManifest[] = "application/vnd.oci.image.manifest.v1+json";
constexpr char kGzip[] = "application/vnd.oci.image.layer.v1.tar+gzip";

std::string Index(const std::string& items) {
  return R"({"schemaVersion": 2, "manifests": [)" + items + "]}";
}
std::string Item(const std::string& digest, const std::string& platform) {
  return R"({"mediaType": ")" + std::string(kOciManifest) + R"(", "digest": ")" + digest +
         R"(", "size": 7)" + platform + "}";
}
std::string On(const std::string& os, const std::string& architecture) {
  return R"(, "platform": {"os": ")" + os + R"(", "architecture": ")" + architecture + R"("})";
}
std::string ManifestWith(const std::string& layers) {
  return R"({"schemaVersion": 2, "config": {"digest": ")" + kOne + R"(", "size": 9}, "layers": [)" +
         layers + "]}";
}
std::string LayerWith(const std::string& type, const std::string& more = "") {
  return R"({"mediaType": ")" + type + R"(", "digest": ")" + kTwo + R"(", "size": 5)" + more + "}";
}

TEST(ImageSpecTest, ChoosesTheManifestOfThePlatform) {
  const std::string index =
      Index(Item(kOne, On("linux", "arm64")) + "," + Item(kTwo, On("linux", "amd64")));
  EXPECT_EQ(ChooseManifest(index, {.architecture = "amd64"}).value(), (Blob{kTwo, 7}));
  EXPECT_EQ(ChooseManifest(index, {.architecture = "riscv64"}).status(),
            NotFound("manifests: none is of linux/riscv64; there are: \"linux/arm64\", "
                     "\"linux/amd64\""));
  EXPECT_TRUE(IsIndex(index));
  EXPECT_FALSE(IsIndex(ManifestWith("")));
}

TEST(ImageSpecTest, OneManifestNeedsNoPlatform) {
  EXPECT_EQ(ChooseManifest(Index(Item(kOne, "")), {.architecture = "amd64"}).value(),
            (Blob{kOne, 7}));
}

TEST(ImageSpecTest, ManifestsOfOtherKindsAreNoImages) {
  std::string attestation = Item(kOne, On("unknown", "unknown"));
  EXPECT_FALSE(ChooseManifest(Index(attestation), {.architecture = "amd64"}).ok());
}

TEST(ImageSpecTest, AnIndexNamesImages) {
  const std::string named = R"(, "annotations": {"org.opencontainers.image.ref.name": "1",
                                                 "io.containerd.image.name": "host/app:1"})";
  const std::string other =
      R"({"mediaType": "application/vnd.oci.image.index.v1+json", "digest": ")" + kTwo +
      R"(", "size": 8,
      "annotations": {"org.opencontainers.image.ref.name": "b"}})";
  const std::string unknown = R"({"mediaType": "application/x-rar", "digest": "none"})";
  const auto entries = ReadIndex(Index(Item(kOne, named) + "," + other + "," + unknown)).value();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0], (IndexEntry{{kOne, 7}, false, {"", ""}, "host/app:1"}));
  EXPECT_EQ(entries[1], (IndexEntry{{kTwo, 8}, true, {"", ""}, "b"}));
}

TEST(ImageSpecTest, RefusesOtherIndexes) {
  const auto why = [](const std::string& text) { return ReadIndex(text).status().message(); };
  EXPECT_EQ(why(""), "index: is no JSON object");
  EXPECT_EQ(why("{}"), "schemaVersion: expected 2, of an index");
  EXPECT_EQ(why(Index("7")), "manifests[0]: expected an object");
  EXPECT_EQ(why(Index(Item(kOne, R"(, "annotations": {"io.containerd.image.name": 7})"))),
            "manifests[0].annotations.io.containerd.image.name: expected a string");
}

TEST(ImageSpecTest, ReadsLayersWithTheirPacking) {
  const Manifest manifest =
      ReadManifest(ManifestWith(LayerWith(kGzip) + "," +
                                LayerWith("application/vnd.docker.image.rootfs.diff.tar.gzip") +
                                "," + LayerWith("application/vnd.oci.image.layer.v1.tar+zstd") +
                                "," + LayerWith("application/vnd.oci.image.layer.v1.tar")))
          .value();
  EXPECT_EQ(manifest.config, (Blob{kOne, 9}));
  ASSERT_EQ(manifest.layers.size(), 4u);
  EXPECT_EQ(manifest.layers[0], (Layer{{kTwo, 5}, Packing::kGzip}));
  EXPECT_EQ(manifest.layers[1].packing, Packing::kGzip);
  EXPECT_EQ(manifest.layers[2].packing, Packing::kZstd);
  EXPECT_EQ(manifest.layers[3].packing, Packing::kNone);
}

TEST(ImageSpecTest, RefusesOtherManifests) {
  const auto why = [](const std::string& text) { return ReadManifest(text).status().message(); };
  EXPECT_EQ(why("[]"), "manifest: is no JSON object");
  EXPECT_EQ(why(R"({"schemaVersion": 1})"), "schemaVersion: expected 2, of a manifest");
  EXPECT_EQ(why(R"({"schemaVersion": 2})"), "config: expected an object");
  EXPECT_EQ(why(ManifestWith(LayerWith("application/x-rar"))),
            "layers[0].mediaType: \"application/x-rar\": expected a tar, plain, gzip or zstd");
  EXPECT_EQ(why(ManifestWith(LayerWith(kGzip, R"(, "urls": ["http://elsewhere/"])"))),
            "layers[0].urls: a layer from elsewhere is not taken");
  EXPECT_EQ(why(ManifestWith(R"({"digest": "md5:x", "size": 1})")),
            "layers[0].digest: \"md5:x\": expected sha256: and 64 hex digits");
  EXPECT_EQ(why(ManifestWith(R"({"digest": ")" + kOne + R"(", "size": -1})")),
            "layers[0].size: expected a number of bytes");
  std::string many = LayerWith(kGzip);
  for (size_t i = 0; i < kMaxLayers; ++i) many += "," + LayerWith(kGzip);
  EXPECT_EQ(why(ManifestWith(many)), "layers: has more than 127 items");
  EXPECT_THAT(why(std::string(kMaxManifestBytes + 1, ' ')), HasSubstr("has more than"));
}

TEST(ImageSpecTest, ReadsWhatACommandHas) {
  const Config config = ReadConfig(R"({"os": "linux", "architecture": "amd64",
    "config": {"User": "app:1000", "WorkingDir": "/srv", "Env": ["PATH=/bin", "A=b=c"],
      "Entrypoint": ["/entry"], "Cmd": ["serve", "x"], "ExposedPorts": {"80/tcp": {}},
      "Volumes": {"/data": {}}, "Labels": {"a": "b"}},
    "rootfs": {"type": "layers", "diff_ids": [")" +
                                   kOne + R"("]}})")
                            .value();
  EXPECT_EQ(config.user, "app:1000");
  EXPECT_EQ(config.working_directory, "/srv");
  EXPECT_EQ(config.env, (std::vector<std::string>{"PATH=/bin", "A=b=c"}));
  EXPECT_EQ(config.entrypoint, std::vector<std::string>{"/entry"});
  EXPECT_EQ(config.command, (std::vector<std::string>{"serve", "x"}));
  EXPECT_EQ(config.exposed_ports, std::vector<std::string>{"80/tcp"});
  EXPECT_EQ(config.volumes, std::vector<std::string>{"/data"});
  EXPECT_EQ(config.labels.at("a"), "b");
  EXPECT_EQ(config.diff_ids, std::vector<std::string>{kOne});
}

TEST(ImageSpecTest, NullIsMissing) {
  const Config config = ReadConfig(R"({"config": {"Env": null, "Cmd": null, "Labels": null},
                                       "rootfs": {"diff_ids": null}})")
                            .value();
  EXPECT_EQ(config, Config{});
  EXPECT_TRUE(ReadConfig(R"({"config": null, "rootfs": {}})").ok());
}

TEST(ImageSpecTest, RefusesOtherConfigs) {
  const auto why = [](const std::string& text) { return ReadConfig(text).status().message(); };
  EXPECT_EQ(why("{}"), "rootfs: expected an object");
  EXPECT_EQ(why(R"({"rootfs": {"diff_ids": ["x"]}})"),
            "rootfs.diff_ids: \"x\": expected sha256: and 64 hex digits");
  EXPECT_EQ(why(R"({"rootfs": {}, "config": {"Env": "A=b"}})"),
            "config.Env: expected an array of strings");
  EXPECT_EQ(why(R"({"rootfs": {}, "config": {"Labels": {"a": 1}}})"),
            "config.Labels.\"a\": expected a string");
}

}  // namespace
}  // namespace odyssey::image
