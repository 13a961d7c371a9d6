#include "ctl/image/image_import.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "odyssey/supervisor/v1/image.grpc.pb.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ImportImageRequest;
using supervisor::v1::ImportImageResponse;
using testing::HasSubstr;
using Stream = grpc::ServerReaderWriter<ImportImageResponse, ImportImageRequest>;

const std::string kLow = "sha256:" + std::string(64, '1');
const std::string kHigh = "sha256:" + std::string(64, '2');

// A store that wants what the test says.
class FakeStore final : public supervisor::v1::Images::Service {
 public:
  grpc::Status ImportImage(grpc::ServerContext*, Stream* stream) override {
    ImportImageRequest request;
    if (!stream->Read(&request)) return grpc::Status::OK;
    start = request.start();
    if (!refusal.ok()) return refusal;
    ImportImageResponse response;
    response.mutable_wanted();
    for (const std::string& digest : wanted) response.mutable_wanted()->add_digests(digest);
    stream->Write(response);
    std::string at;
    while (stream->Read(&request)) {
      if (request.message_case() == ImportImageRequest::kLayer) {
        if (!stops_at.empty() && request.layer() == stops_at) {
          return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the quota"};
        }
        layers.push_back({request.layer(), ""});
      } else {
        most = std::max(most, request.data().size());
        layers.back().second += request.data();
      }
    }
    response.mutable_image()->set_digest("sha256:image");
    stream->Write(response);
    return grpc::Status::OK;
  }

  supervisor::v1::ImportImageStart start;
  grpc::Status refusal;
  std::vector<std::string> wanted;
  std::string stops_at;
  std::vector<std::pair<std::string, std::string>> layers;
  size_t most = 0;
};

class ImageImportTest : public testing::Test {
 protected:
  ImageImportTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directory_.path() + "/sock",
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&store_);
    server_ = builder.BuildAndStart();
    Locations locations;
    locations.supervisor_socket = directory_.path() + "/sock";
    client_ = std::make_unique<Client>(Client::Connect(Daemon::kSupervisor, locations).value());
    supervisor::v1::ImportImageStart start;
    start.set_owner_uid(1000);
    start.set_name("a:1");
    import_.emplace(*client_, -1, start);
    manifest_.layers = {{{kLow, 3}, image::Packing::kNone}, {{kHigh, 4}, image::Packing::kGzip}};
  }
  ~ImageImportTest() override {
    import_.reset();
    client_.reset();
    server_->Shutdown();
  }

  Result<supervisor::v1::ImageInfo> Send(const LayerSource& source) {
    ODY_RETURN_IF_ERROR(import_->Begin());
    return import_->Send(manifest_, source,
                         [this](uint64_t sent, uint64_t all) { steps_.emplace_back(sent, all); });
  }
  LayerSource Source() {
    return [this](const image::Blob& layer, const ByteSink& sink) {
      asked_.push_back(layer.digest);
      return sink(layer.digest == kLow ? "low" : "high");
    };
  }

  fakes::TemporaryDirectory directory_;
  FakeStore store_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  std::optional<ImageImport> import_;
  image::Manifest manifest_;
  std::vector<std::pair<uint64_t, uint64_t>> steps_;
  std::vector<std::string> asked_;
};

TEST_F(ImageImportTest, SendsTheWantedLayersInTheStoresOrder) {
  store_.wanted = {kHigh, kLow};
  const auto image = Send(Source());
  ASSERT_TRUE(image.ok()) << image.status().ToString();
  EXPECT_EQ(image->digest(), "sha256:image");
  EXPECT_EQ(store_.start.name(), "a:1");
  EXPECT_EQ(store_.start.owner_uid(), 1000u);
  EXPECT_EQ(store_.layers,
            (std::vector<std::pair<std::string, std::string>>{{kHigh, "high"}, {kLow, "low"}}));
  EXPECT_EQ(steps_, (std::vector<std::pair<uint64_t, uint64_t>>{{4, 7}, {7, 7}}));
  EXPECT_EQ(import_->sent(), 7u);
}

TEST_F(ImageImportTest, AnImageThatIsThereSendsNoLayer) {
  ASSERT_TRUE(import_->Begin().ok());
  EXPECT_FALSE(import_->wants_layers());
  EXPECT_EQ(import_->Send(manifest_, Source(), {})->digest(), "sha256:image");
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(import_->sent(), 0u);
}

TEST_F(ImageImportTest, AnotherTryHasWhatWasMissing) {
  store_.refusal = {grpc::StatusCode::PERMISSION_DENIED, "no signature"};
  EXPECT_EQ(import_->Begin(), PermissionDenied("no signature"));
  store_.refusal = grpc::Status::OK;
  import_->start()->add_signatures()->set_signature("signed");
  EXPECT_EQ(Send(Source())->digest(), "sha256:image");
  EXPECT_EQ(store_.start.signatures(0).signature(), "signed");
}

TEST_F(ImageImportTest, PiecesAreNoLargerThanTheStoreTakes) {
  store_.wanted = {kLow};
  const std::string large((size_t{5} << 20) / 2, 'x');
  ASSERT_TRUE(Send([&](const image::Blob&, const ByteSink& sink) { return sink(large); }).ok());
  EXPECT_EQ(store_.layers.at(0).second, large);
  EXPECT_EQ(store_.most, size_t{1} << 20);
}

TEST_F(ImageImportTest, TheStoresRefusalOfALayerIsTheReason) {
  store_.wanted = {kLow, kHigh};
  store_.stops_at = kHigh;
  EXPECT_EQ(Send(Source()).status(), ResourceExhausted("the quota"));
}

TEST_F(ImageImportTest, ALayerThatCannotBeReadNamesItself) {
  store_.wanted = {kLow};
  const auto source = [](const image::Blob&, const ByteSink&) { return NotFound("gone"); };
  EXPECT_EQ(Send(source).status(), NotFound(kLow + ": gone"));
}

TEST_F(ImageImportTest, AStoreThatWantsAnotherLayerIsNotFollowed) {
  store_.wanted = {"sha256:other"};
  EXPECT_THAT(Send(Source()).status().message(), HasSubstr("does not have: sha256:other"));
}

}  // namespace
}  // namespace odyssey::ctl
