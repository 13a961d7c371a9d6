// The real server and the real client, over loopback.
#include "hub/server/hub_server.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "hub/transfer/hub_post.h"
#include "tests/fakes/sample_artifact.h"

namespace odyssey::server {
namespace {

using artifact::Artifact;

class HubServerTest : public ::testing::Test {
 protected:
  ~HubServerTest() override {
    if (server_) server_->Stop();
    if (thread_.joinable()) thread_.join();
    std::filesystem::remove_all(directory_);
  }

  void Start(Tags tags = Tags::kImmutable, const std::string& token = "", Limits limits = {}) {
    char name[] = "/tmp/hub_server_test.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    auto server = HubServer::Listen(ParseBind("127.0.0.1:0").value(),
                                    HubDirectory::Open(directory_, tags).value(), token, limits);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    thread_ = std::thread([this] { server_->Serve(); });
  }

  Result<std::string> Post(const std::string& path, const std::string& body,
                           const std::string& token = "", size_t max_bytes = 1 << 20) {
    const std::string url = "http://127.0.0.1:" + std::to_string(server_->port());
    return transfer::PostToHub({transfer::ParseHubUrl(url).value(), path, body, token}, max_bytes);
  }

  Status Publish(const Artifact& sent, const std::string& tag = "0.1.0") {
    const std::string digest = artifact::DigestOf(sent.manifest);
    return Post(artifact::kPublishPath, artifact::WritePublish({"team/demo", tag, digest, sent}))
        .status();
  }
  Result<artifact::Pulled> Pull(const artifact::Pull& pull) {
    const Result<std::string> body = Post(artifact::kPullPath, artifact::WritePull(pull));
    if (!body.ok()) return body.status();
    return artifact::ReadPulled(*body);
  }

  std::string directory_;
  std::unique_ptr<HubServer> server_;
  std::thread thread_;
};

TEST_F(HubServerTest, GivesBackWhatWasPublished) {
  Start();
  Artifact sample = fakes::SampleArtifact();
  sample.signature = "c2ln";
  const Status published = Publish(sample);
  ASSERT_TRUE(published.ok()) << published.message();
  const std::string digest = artifact::DigestOf(sample.manifest);
  for (const artifact::Pull& pull : {artifact::Pull{"team/demo", "", ""},
                                     {"team/demo", "0.1.0", ""},
                                     {"team/demo", "", digest}}) {
    const Result<artifact::Pulled> pulled = Pull(pull);
    ASSERT_TRUE(pulled.ok()) << pulled.status().message();
    EXPECT_EQ(pulled->digest, digest);
    EXPECT_EQ(pulled->artifact.layers[0].bytes, "layer");
    EXPECT_EQ(pulled->artifact.signature, "c2ln");
  }
}

TEST_F(HubServerTest, PullsTheLatestVersion) {
  Start();
  for (const char* version : {"0.10.0", "0.2.0", "0.10.1-rc.1"}) {
    ASSERT_TRUE(Publish(fakes::SampleArtifact("team", version), version).ok());
  }
  EXPECT_EQ(Pull({"team/demo", "", ""})->version, "0.10.1-rc.1");
}

TEST_F(HubServerTest, AnswersMissing) {
  Start();
  ASSERT_TRUE(Publish(fakes::SampleArtifact()).ok());
  const std::string config = artifact::DigestOf(fakes::SampleArtifact().config);
  for (const artifact::Pull& pull :
       {artifact::Pull{"team/other", "", ""},
        {"team/demo", "9.9.9", ""},
        {"team/demo", "", artifact::DigestOf("x")},
        {"team/demo", "", config},
        {"other/demo", "", artifact::DigestOf(fakes::SampleArtifact().manifest)}}) {
    EXPECT_EQ(Pull(pull).status().message(), "http error: hub returned 404 Not Found: missing");
  }
}

TEST_F(HubServerTest, KeepsATagUnlessReplacingIsAllowed) {
  Start();
  Artifact other = fakes::SampleArtifact();
  other.manifest += "\n";
  ASSERT_TRUE(Publish(fakes::SampleArtifact()).ok());
  EXPECT_TRUE(Publish(fakes::SampleArtifact()).ok());
  EXPECT_EQ(Publish(other).code(), Code::kAlreadyExists);
  EXPECT_EQ(Pull({"team/demo", "", ""})->artifact.manifest, fakes::SampleArtifact().manifest);
}

TEST_F(HubServerTest, ReplacesATagWhereThatIsAllowed) {
  Start(Tags::kReplaceable);
  Artifact other = fakes::SampleArtifact();
  other.manifest += "\n";
  ASSERT_TRUE(Publish(fakes::SampleArtifact()).ok());
  ASSERT_TRUE(Publish(other).ok());
  EXPECT_EQ(Pull({"team/demo", "", ""})->artifact.manifest, other.manifest);
}

TEST_F(HubServerTest, StoresNothingThatIsNotWhole) {
  Start();
  Artifact tampered = fakes::SampleArtifact();
  tampered.layers[0].bytes = "other";
  EXPECT_EQ(Publish(tampered).code(), Code::kInvalidArgument);
  EXPECT_EQ(Publish(fakes::SampleArtifact("other")).code(), Code::kInvalidArgument);
  EXPECT_EQ(Publish(fakes::SampleArtifact(), "0.2.0").code(), Code::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(directory_ + "/blobs/sha256"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ + "/tags"));
}

TEST_F(HubServerTest, MakesNoPathOfARepository) {
  Start();
  for (const char* repository : {"../x", "a/../../x", "a", "/a", "a/.."}) {
    EXPECT_EQ(Pull({repository, "", ""}).status().code(), Code::kInvalidArgument) << repository;
  }
  EXPECT_EQ(Pull({"a/b", "../../x", ""}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Pull({"a/b", "", "sha256:../../x"}).status().code(), Code::kInvalidArgument);
}

TEST_F(HubServerTest, NeedsItsToken) {
  Start(Tags::kImmutable, "right");
  const std::string pull = artifact::WritePull({"team/demo", "", ""});
  EXPECT_EQ(Post(artifact::kPullPath, pull).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(Post(artifact::kPullPath, pull, "wrong").status().code(), Code::kPermissionDenied);
  EXPECT_EQ(Post(artifact::kPullPath, pull, "right").status().code(), Code::kNotFound);
}

TEST_F(HubServerTest, BoundsBodiesAndAnswers) {
  Start(Tags::kImmutable, "", {.body_bytes = 4096});
  ASSERT_TRUE(Publish(fakes::SampleArtifact()).ok());
  EXPECT_EQ(Post(artifact::kPullPath, std::string(4097, ' ')).status().message(),
            "http error: hub returned 413 Content Too Large: body exceeds maximum 4096 bytes");
  const std::string pull = artifact::WritePull({"team/demo", "", ""});
  EXPECT_EQ(Post(artifact::kPullPath, pull, "", 100).status().message(),
            "hub response exceeds maximum 100 bytes");
}

TEST_F(HubServerTest, HasTwoRoutes) {
  Start();
  EXPECT_EQ(Post("/x", "{}").status().code(), Code::kNotFound);
  EXPECT_EQ(Post(artifact::kPullPath, "{").status().message(),
            "http error: hub returned 400 Bad Request: body: not a JSON object");
}

TEST(BindTest, TakesNumbersAlone) {
  EXPECT_TRUE(ParseBind("127.0.0.1:8473")->loopback);
  EXPECT_TRUE(ParseBind("[::1]:0")->loopback);
  EXPECT_FALSE(ParseBind("0.0.0.0:1")->loopback);
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "host:1", "::1:1", "1.2.3.4:99999"}) {
    EXPECT_FALSE(ParseBind(text).ok()) << text;
  }
}

}  // namespace
}  // namespace odyssey::server
