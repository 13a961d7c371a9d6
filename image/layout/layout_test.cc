#include "image/layout/layout.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/sha256.h"
#include "image/layout/layout_directory.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::image {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kManifest[] = "application/vnd.oci.image.manifest.v1+json";
constexpr char kIndex[] = "application/vnd.oci.image.index.v1+json";
const Platform kHere = {.architecture = "amd64"};

std::string Digest(const std::string& bytes) { return "sha256:" + Sha256Hex(bytes); }

std::string Item(const std::string& type, const Blob& blob, const std::string& name = "",
                 const std::string& architecture = "") {
  std::string out = R"({"mediaType": ")" + type + R"(", "digest": ")" + blob.digest +
                    R"(", "size": )" + std::to_string(blob.size);
  if (!name.empty()) {
    out += R"(, "annotations": {"org.opencontainers.image.ref.name": ")" + name + R"("})";
  }
  if (!architecture.empty()) {
    out += R"(, "platform": {"os": "linux", "architecture": ")" + architecture + R"("})";
  }
  return out + "}";
}

class LayoutTest : public testing::Test {
 protected:
  LayoutTest() {
    fs::create_directories(directory_.path() + "/blobs/sha256");
    fd_.reset(open(directory_.path().c_str(), O_PATH | O_CLOEXEC));
  }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_.path() + "/" + name, std::ios::binary) << bytes;
  }
  Blob Put(const std::string& bytes) {
    const Blob blob{Digest(bytes), bytes.size()};
    Write(BlobName(blob.digest), bytes);
    return blob;
  }
  static std::string IndexOf(const std::string& items) {
    return R"({"schemaVersion": 2, "manifests": [)" + items + "]}";
  }
  Result<std::vector<LayoutImage>> Find(const std::string& items) {
    Write(kIndexName, IndexOf(items));
    LayoutDirectory files(fd_.get());
    return FindImages(&files, kHere);
  }

  fakes::TemporaryDirectory directory_;
  UniqueFd fd_;
};

TEST_F(LayoutTest, FindsEachImageForThePlatform) {
  const Blob one{Digest("1"), 1}, arm{Digest("arm"), 3}, amd{Digest("amd"), 3};
  const Blob inner =
      Put(IndexOf(Item(kManifest, arm, "", "arm64") + "," + Item(kManifest, amd, "", "amd64")));
  const auto found =
      Find(Item(kManifest, one, "a") + "," + Item(kIndex, inner, "b") + "," +
           Item(kManifest, arm, "c", "arm64") + "," + Item(kManifest, one, "c", "amd64"));
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_THAT(*found,
              ElementsAre(LayoutImage{"a", one}, LayoutImage{"b", amd}, LayoutImage{"c", one}));
}

TEST_F(LayoutTest, SaysWhichPlatformsThereAre) {
  const Blob arm{Digest("arm"), 3};
  EXPECT_EQ(Find(Item(kManifest, arm, "a", "arm64")).status(),
            NotFound("image \"a\": no manifest is of linux/amd64; there are: linux/arm64"));
}

TEST_F(LayoutTest, AnIndexThatNamesItselfIsRefused) {
  // Its digest cannot be its own; bytes that are not what their digest says end the search.
  const Blob itself{Digest("x"), 0};
  std::string text = IndexOf(Item(kIndex, itself));
  const Blob named{itself.digest, text.size()};
  text = IndexOf(Item(kIndex, named));
  Write(BlobName(itself.digest), text);
  EXPECT_THAT(Find(Item(kIndex, {itself.digest, text.size()})).status().message(),
              HasSubstr("its bytes have the digest"));
}

TEST_F(LayoutTest, DepthAndNumberOfIndexesAreBounded) {
  Blob inner = Put(IndexOf(""));
  for (int i = 0; i < 6; ++i) inner = Put(IndexOf(Item(kIndex, inner)));
  EXPECT_THAT(Find(Item(kIndex, inner)).status().message(), HasSubstr("more than 4 deep"));

  const Blob empty = Put(IndexOf(""));
  std::string many = Item(kIndex, empty);
  for (int i = 0; i < 70; ++i) many += "," + Item(kIndex, empty);
  EXPECT_THAT(Find(many).status().message(), HasSubstr("more than 64 indexes"));

  std::string images = Item(kManifest, empty, "n");
  for (int i = 0; i < 300; ++i) images += "," + Item(kManifest, empty, "n" + std::to_string(i));
  EXPECT_THAT(Find(images).status().message(), HasSubstr("more than 256 images"));
}

TEST_F(LayoutTest, WhatIsNoLayoutIsSaid) {
  LayoutDirectory files(fd_.get());
  EXPECT_EQ(FindImages(&files, kHere).status().message(),
            "open index.json: No such file or directory");
  Write(kIndexName, "");
  EXPECT_EQ(FindImages(&files, kHere).status().message(), "index.json: index: is no JSON object");
  EXPECT_EQ(Find("").status().message(), "index.json: names no image");
}

TEST_F(LayoutTest, NoLinkIsFollowed) {
  const Blob secret{Digest("secret"), 6};
  LayoutDirectory files(fd_.get());
  ASSERT_EQ(symlink("/etc/hostname", (directory_.path() + "/" + kIndexName).c_str()), 0);
  EXPECT_THAT(files.Read(kIndexName, 100).status().message(), HasSubstr("is a link"));
  ASSERT_EQ(symlink("/etc/shadow", (directory_.path() + "/" + BlobName(secret.digest)).c_str()), 0);
  EXPECT_THAT(files.OpenBlob(secret).status().message(), HasSubstr("is a link"));

  const std::string outside = directory_.path() + "/outside";
  fs::create_directories(outside + "/sha256");
  fs::remove_all(directory_.path() + "/blobs");
  fs::create_directory_symlink(outside, directory_.path() + "/blobs");
  Write("outside/sha256/" + secret.digest.substr(7), "secret");
  EXPECT_THAT(files.OpenBlob(secret).status().message(), HasSubstr("is a link"));
}

TEST_F(LayoutTest, OnlyRegularFilesOfTheirSizeAreOpened) {
  const Blob blob{Digest("b"), 5};
  LayoutDirectory files(fd_.get());
  const std::string path = directory_.path() + "/" + BlobName(blob.digest);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(files.OpenBlob(blob).status().message(), BlobName(blob.digest) + ": no regular file");
  fs::remove(path);
  Write(BlobName(blob.digest), "four");
  EXPECT_THAT(files.OpenBlob(blob).status().message(), HasSubstr("has 4 bytes"));
  Write(BlobName(blob.digest), "fifth");
  EXPECT_TRUE(files.OpenBlob(blob).ok());
}

TEST_F(LayoutTest, ABlobHasItsDigestAndSize) {
  LayoutDirectory files(fd_.get());
  const Blob blob = Put("bytes");
  EXPECT_EQ(ReadBlob(&files, blob, 100).value(), "bytes");
  EXPECT_THAT(ReadBlob(&files, blob, 4).status().message(), HasSubstr("4 are allowed"));
  EXPECT_THAT(ReadBlob(&files, {blob.digest, 4}, 100).status().message(), HasSubstr("says 4"));
  Write(BlobName(blob.digest), "other");
  EXPECT_THAT(ReadBlob(&files, blob, 100).status().message(), HasSubstr("have the digest"));
}

}  // namespace
}  // namespace odyssey::image
