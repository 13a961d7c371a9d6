#include "ctl/image/image_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/refusal.h"
#include "ctl/image/image_load.h"
#include "ctl/image/image_report.h"
#include "ctl/image/image_source.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ImageInfo;
using testing::HasSubstr;
using testing::Not;

ImageInfo Image() {
  ImageInfo image;
  image.set_digest("sha256:" + std::string(64, 'a'));
  image.add_names("debian:12");
  image.set_os("linux");
  image.set_architecture("amd64");
  image.set_owner_uid(1000);
  auto* const layer = image.add_layers();
  layer->set_digest("sha256:" + std::string(64, 'b'));
  layer->set_bytes(2048);
  layer->set_unpacked_bytes(4096);
  layer->set_entries(7);
  return image;
}

TEST(ImageViewTest, ATableHasARowForEachName) {
  supervisor::v1::ListImagesResponse response;
  *response.add_images() = Image();
  response.mutable_images(0)->add_names("debian:latest");
  response.set_used_bytes(2048);
  const std::string text = ImageTable(response, false);
  EXPECT_THAT(text, HasSubstr("debian:12      sha256:aaaaaaaaaaaa  2 KiB  1"));
  EXPECT_THAT(text, HasSubstr("debian:latest  sha256:aaaaaaaaaaaa"));
  EXPECT_THAT(text, HasSubstr("used 2 KiB\n"));
  EXPECT_THAT(text, Not(HasSubstr("OWNER")));
  response.set_quota_bytes(4096);
  EXPECT_THAT(ImageTable(response, true), HasSubstr("used 2 KiB of 4 KiB\n"));
  EXPECT_THAT(ImageTable(response, true), HasSubstr("uid 1000"));
}

TEST(ImageViewTest, NoImageIsSaid) { EXPECT_EQ(ImageTable({}, false), "no images\nused 0 B\n"); }

TEST(ImageViewTest, NothingOfAnImageReachesATerminalAsItIs) {
  const std::string evil = "a\x1b]0;owned\x07\nb\xe2\x80\xae";
  ImageInfo image = Image();
  image.set_names(0, evil);
  for (auto* field :
       {image.mutable_user(), image.mutable_working_directory(), image.mutable_os(),
        image.mutable_architecture(), image.mutable_created_at(), image.mutable_signed_by()}) {
    *field = evil;
  }
  image.add_env(evil);
  image.add_entrypoint(evil);
  image.add_command(evil);
  image.add_exposed_ports(evil);
  image.add_volumes(evil);
  (*image.mutable_labels())[evil] = evil;
  image.mutable_layers(0)->set_digest(evil);
  supervisor::v1::ListImagesResponse list;
  *list.add_images() = image;
  for (const std::string& text :
       {ImageText(image), ImageTable(list, true), PinnedName(image, evil)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\x07")));
    EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
    EXPECT_THAT(text, Not(HasSubstr("owned\nb")));
  }
}

TEST(ImageViewTest, JsonHasWhatWasImported) {
  supervisor::v1::InspectImageResponse response;
  *response.mutable_image() = Image();
  response.set_manifest(R"({"schemaVersion": 2})");
  response.set_config("no json");
  const Json json = ImageJson(response);
  EXPECT_EQ(json["image"]["names"][0], "debian:12");
  EXPECT_EQ(json["manifest"]["schemaVersion"], 2);
  EXPECT_TRUE(json["config"].is_null());
}

TEST(ImageViewTest, WhatWasMadeIsNamedWithItsDigest) {
  EXPECT_EQ(PinnedName(Image(), "a:1"), "a:1@sha256:" + std::string(64, 'a'));
  EXPECT_EQ(PinnedName(Image(), ""), "sha256:" + std::string(64, 'a'));
}

TEST(ImageReportTest, ARefusalIsInTheWordsOfWhoTyped) {
  const TypedWords words = {{"name", "--as"}, {"reference", "NAME"}};
  const auto said = [&](const std::string& field, const std::string& value) {
    return InWords(Refused(Code::kInvalidArgument, field, value, "why"), words).message();
  };
  EXPECT_EQ(said("start.name", "A"), "--as: A: why");
  EXPECT_EQ(said("start.config.os", "x"), "config.os: x: why");
  EXPECT_EQ(said("reference", "x"), "NAME: x: why");
  EXPECT_EQ(said("layer", "sha256:1"), "layer: sha256:1: why");
  EXPECT_EQ(InWords(Internal("no field"), words).message(), "no field");
}

TEST(ImageLoadTest, EachImageOrTheOneThatIsNamed) {
  const std::vector<std::vector<std::string>> there = {{"a:1", "a:latest"}, {"b"}, {}};
  EXPECT_EQ(ChooseImages(there, "", "").value(),
            (std::vector<ChosenImage>{{0, {"a:1", "a:latest"}}, {1, {"b"}}, {2, {}}}));
  EXPECT_EQ(ChooseImages(there, "a", "").value(), (std::vector<ChosenImage>{{0, {"a:latest"}}}));
  EXPECT_EQ(ChooseImages(there, "b", "mine").value(), (std::vector<ChosenImage>{{1, {"mine"}}}));
  EXPECT_EQ(ChooseImages(there, "c", "").status().message(),
            "--name \"c\": there is none of that name; there are: a:1, b, one without a name");
  EXPECT_EQ(ChooseImages(there, "", "mine").status().message(),
            "--as mine: there are 3 images; --name chooses one of: a:1, b, one without a name");
}

TEST(ImageLoadTest, AnArchiveSaysItsNames) {
  EXPECT_EQ(ReadArchiveNames(R"([{"RepoTags": ["a:1", 7]}, {"RepoTags": null}, {}])").value(),
            (std::vector<std::vector<std::string>>{{"a:1"}, {}, {}}));
  for (const char* text : {"", "{}", "[]", "[7]"})
    EXPECT_FALSE(ReadArchiveNames(text).ok()) << text;
}

}  // namespace
}  // namespace odyssey::ctl
