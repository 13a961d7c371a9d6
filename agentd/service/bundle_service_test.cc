#include "agentd/service/bundle_service.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/rpc/status_map.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::service {
namespace {

namespace pb = ::odyssey::agent::v1;

// The store is the sessions' own.
class BundleServiceTest : public ::testing::Test {
 protected:
  BundleServiceTest() : service_(&world_.bundles(), &world_.sessions()) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = pb::BundleService::NewStub(server_->InProcessChannel({}));
  }
  ~BundleServiceTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  Result<pb::Bundle> Build(bool force = false) {
    pb::BuildBundleRequest request;
    request.set_directory(source_.path());
    request.set_force(force);
    pb::BuildBundleResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->BuildBundle(&context, request, &response);
    if (!status.ok()) return rpc::FromGrpc(status);
    return response.bundle();
  }
  std::string Export(const std::string& reference) {
    pb::ExportBundleRequest request;
    request.set_reference(reference);
    grpc::ClientContext context;
    const auto reader = stub_->ExportBundle(&context, request);
    pb::ExportBundleResponse response;
    std::string out;
    while (reader->Read(&response)) out += response.chunk();
    EXPECT_TRUE(reader->Finish().ok());
    return out;
  }
  Result<pb::Bundle> Import(const std::vector<pb::ImportBundleRequest>& messages) {
    pb::ImportBundleResponse response;
    grpc::ClientContext context;
    const auto writer = stub_->ImportBundle(&context, &response);
    for (const pb::ImportBundleRequest& message : messages) writer->Write(message);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (!status.ok()) return rpc::FromGrpc(status);
    return response.bundle();
  }
  static pb::ImportBundleRequest Options(const std::string& digest = "") {
    pb::ImportBundleRequest out;
    out.mutable_options()->set_expected_digest(digest);
    return out;
  }
  static pb::ImportBundleRequest Chunk(const std::string& bytes) {
    pb::ImportBundleRequest out;
    out.set_chunk(bytes);
    return out;
  }

  fakes::SessionWorld world_{fakes::CallOnce("Write", "{}")};
  fakes::BundleSource source_;
  BundleService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<pb::BundleService::Stub> stub_;
};

TEST_F(BundleServiceTest, BuildsADirectoryThatAgentdReads) {
  const Result<pb::Bundle> built = Build();
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(built->namespace_(), "local");
  EXPECT_EQ(built->id(), "demo");
  EXPECT_EQ(built->version(), "0.1.0");
  EXPECT_EQ(built->digest().rfind("sha256:", 0), 0u);

  source_.Write("README.md", "# changed\n");
  const Status refused = Build().status();
  EXPECT_EQ(refused.code(), Code::kAlreadyExists);
  EXPECT_EQ(refused.detail().field, "bundle");
  EXPECT_EQ(refused.detail().value, "local/demo@0.1.0");
  const Result<pb::Bundle> forced = Build(true);
  ASSERT_TRUE(forced.ok());
  EXPECT_NE(forced->digest(), built->digest());
}

TEST_F(BundleServiceTest, ExportsAndImportsTheSame) {
  const std::string digest = Build()->digest();
  const std::string archive = Export("demo");
  pb::RemoveBundleRequest request;
  request.set_reference("demo");
  pb::RemoveBundleResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->RemoveBundle(&context, request, &response).ok());
  const size_t half = archive.size() / 2;
  const Result<pb::Bundle> imported = Import(
      {Options(digest), Chunk(archive.substr(0, half)), Chunk(""), Chunk(archive.substr(half))});
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(imported->digest(), digest);
  EXPECT_EQ(Export("demo"), archive);
}

TEST_F(BundleServiceTest, RefusesStreamsThatAreNone) {
  const std::string digest = Build()->digest();
  const std::string archive = Export("demo");
  EXPECT_EQ(Import({}).status(),
            InvalidArgument("options: must be the first message of the stream"));
  EXPECT_EQ(Import({Chunk(archive)}).status(),
            InvalidArgument("options: must be the first message of the stream"));
  EXPECT_EQ(Import({Options(), Options()}).status(),
            InvalidArgument("options: come once, in the first message"));
  EXPECT_EQ(Import({Options(), Chunk(archive.substr(1))}).status(),
            InvalidArgument("invalid bundle: invalid bundle archive header"));
  EXPECT_EQ(Import({Options(), Chunk(archive.substr(0, archive.size() - 1))}).status(),
            InvalidArgument("invalid bundle: bundle entry is truncated"));
  const std::string other = "sha256:" + std::string(64, '0');
  EXPECT_EQ(
      Import({Options(other), Chunk(archive)}).status(),
      InvalidArgument("invalid bundle: the bundle has digest " + digest + ", expected " + other));
}

TEST_F(BundleServiceTest, NothingIsBuiltOrImportedBeyondTheCallersQuota) {
  source_.Write("large", std::string(2 << 20, 'x'));
  ASSERT_TRUE(Build().ok());
  const std::string archive = Export("demo");
  std::filesystem::create_directory(world_.state() + "/policy.d");
  std::ofstream(world_.state() + "/policy.d/10.yaml")
      << "version: odyssey.ceiling/v1\nquotas: [{users: ['*'], disk_mb: 1}]\n";
  EXPECT_EQ(Build(true).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(Import({Options(), Chunk(archive)}).status().code(), Code::kResourceExhausted);
}

TEST_F(BundleServiceTest, InspectsWhatASessionWouldHave) {
  ASSERT_TRUE(Build().ok());
  pb::InspectBundleRequest request;
  request.set_reference("demo@latest");
  pb::InspectBundleResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->InspectBundle(&context, request, &response).ok());
  const pb::Bundle& bundle = response.bundle();
  EXPECT_EQ(bundle.readme(), "# demo\n");
  ASSERT_EQ(bundle.agents_size(), 1);
  EXPECT_TRUE(bundle.agents(0).is_default());
  EXPECT_EQ(bundle.files_size(), 3);
  EXPECT_NE(bundle.manifest().find("\"id\":\"demo\""), std::string::npos) << bundle.manifest();

  request.set_reference("other");
  grpc::ClientContext again;
  const grpc::Status status = stub_->InspectBundle(&again, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "bundle not found: other");
}

}  // namespace
}  // namespace odyssey::service
