#include "common/oci/layout.h"

#include <gtest/gtest.h>

#include "common/oci/digest.h"

namespace odyssey::oci {
namespace {

const std::string kA(64, 'a');
const std::string kB(64, 'b');

// Byte for byte: other readers and a bundle's digest depend on it.
TEST(LayoutTest, WritesAsTheContractHasIt) {
  EXPECT_EQ(WriteIndex({kA, 7}, "ns/id:1.0.0"),
            "{\n"
            "  \"schemaVersion\": 2,\n"
            "  \"mediaType\": \"application/vnd.oci.image.index.v1+json\",\n"
            "  \"manifests\": [\n"
            "    {\n"
            "      \"mediaType\": \"application/vnd.oci.image.manifest.v1+json\",\n"
            "      \"digest\": \"sha256:" +
                kA +
                "\",\n"
                "      \"size\": 7,\n"
                "      \"annotations\": {\n"
                "        \"org.opencontainers.image.ref.name\": \"ns/id:1.0.0\"\n"
                "      }\n"
                "    }\n"
                "  ]\n"
                "}");
  EXPECT_EQ(WriteManifest({{kA, 7}, {{kB, 9}}, {}}, "ns/id:1.0.0"),
            "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
            "\"config\":{\"mediaType\":\"application/vnd.odyssey.bundle.config.v1+json\","
            "\"digest\":\"sha256:" +
                kA +
                "\",\"size\":7},\"layers\":[{\"mediaType\":"
                "\"application/vnd.odyssey.bundle.layer.v1\",\"digest\":\"sha256:" +
                kB +
                "\",\"size\":9}],\"annotations\":{\"org.opencontainers.image.title\":"
                "\"ns/id:1.0.0\"}}");
  EXPECT_EQ(WriteConfig({"ns", "id", "1.0.0", "# x\n", "{\"id\":\"id\"}", "{}"}),
            "{\"schema_version\":1,\"id\":\"id\",\"version\":\"1.0.0\",\"namespace\":\"ns\","
            "\"readme\":\"# x\\n\",\"bundle_manifest\":{\"id\":\"id\"},\"agent_spec\":{}}");
}

TEST(LayoutTest, ReadsWhatItWrites) {
  const Manifest manifest = {{kA, 7}, {{kB, 9}}, {{kExecutablesAnnotation, "[\"x\"]"}}};
  EXPECT_EQ(*ReadManifest(WriteManifest(manifest, "x")), manifest);
  const Config config = {"ns", "id", "1.0.0", "# x\n", "{\"id\":\"id\"}", "{}"};
  EXPECT_EQ(*ReadConfig(WriteConfig(config)), config);
  EXPECT_EQ(*ReadIndex(WriteIndex({kA, 7}, "x")), (Descriptor{kA, 7}));
}

std::string IndexOf(const std::string& digest) {
  return "{\"manifests\":[{\"digest\":\"" + digest + "\",\"size\":1}]}";
}

// ODY-037
TEST(LayoutTest, RefusesDigestsThatAreNone) {
  for (const auto& [digest, cause] : std::vector<std::pair<std::string, std::string>>{
           {"md5:abc", "unsupported digest format md5:abc"},
           {"sha256:../../etc/passwd",
            "invalid digest sha256:../../etc/passwd: expected sha256: and 64 hex digits"},
           {"sha256:" + kA.substr(1),
            "invalid digest sha256:" + kA.substr(1) + ": expected sha256: and 64 hex digits"}}) {
    EXPECT_EQ(ReadIndex(IndexOf(digest)).status(), InvalidArgument("invalid bundle: " + cause));
  }
  EXPECT_TRUE(ReadIndex(IndexOf("sha256:" + kA)).ok());
}

TEST(LayoutTest, NamesWhatIsWrong) {
  EXPECT_EQ(ReadIndex("{\"manifests\":[]}").status(),
            InvalidArgument("invalid bundle: oci index does not contain a manifest"));
  EXPECT_EQ(ReadIndex("[").status(),
            InvalidArgument("invalid bundle: oci index is not a JSON object"));
  EXPECT_EQ(ReadConfig("{\"schema_version\":2}").status(),
            InvalidArgument("invalid bundle: unsupported bundle config schema version 2"));
  EXPECT_EQ(ReadManifest("{\"config\":3}").status(),
            InvalidArgument("invalid bundle: oci manifest config must be an object"));
  EXPECT_FALSE(ReadManifest("{\"config\":{\"digest\":\"sha256:" + kA + "\",\"size\":-1}}").ok());
}

// ODY-029
TEST(LayoutTest, NamesAreOneComponentEach) {
  for (const char* name : {"../escape", "a/b", "..", "a\\b"}) {
    EXPECT_EQ(CheckName("bundle namespace", name),
              InvalidArgument("invalid bundle: bundle namespace must not contain path separators "
                              "or traversal segments: " +
                              std::string(name)));
  }
  EXPECT_EQ(CheckName("bundle namespace", " "),
            InvalidArgument("invalid bundle: bundle namespace cannot be empty"));
  EXPECT_FALSE(CheckName("bundle namespace", ".tmp").ok());
  EXPECT_FALSE(ReadConfig(WriteConfig({"../x", "id", "1", "", "{}", "{}"})).ok());
}

}  // namespace
}  // namespace odyssey::oci
