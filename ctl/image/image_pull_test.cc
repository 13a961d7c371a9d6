#include "ctl/image/image_pull.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/sha256.h"
#include "ctl/image/image_puller.h"
#include "odyssey/supervisor/v1/image.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;
using supervisor::v1::ImportImageRequest;
using supervisor::v1::ImportImageResponse;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

std::string DigestOf(const std::string& bytes) { return "sha256:" + Sha256Hex(bytes); }

std::string Described(const std::string& type, const std::string& bytes,
                      const std::string& more = "") {
  return R"({"mediaType": ")" + type + R"(", "digest": ")" + DigestOf(bytes) + R"(", "size": )" +
         std::to_string(bytes.size()) + more + "}";
}

const std::string kConfig = R"({"os": "linux", "rootfs": {"diff_ids": []}})";
const std::string kLayer = "a layer";
const std::string kManifest = R"({"schemaVersion": 2, "config": )" +
                              Described("application/x", kConfig) + R"(, "layers": [)" +
                              Described("application/vnd.oci.image.layer.v1.tar", kLayer) + "]}";
const std::string kIndex = R"({"schemaVersion": 2, "manifests": [)" +
                           Described("application/vnd.oci.image.manifest.v1+json", kManifest,
                                     R"(, "platform": {"os": "linux", "architecture": "amd64"})") +
                           "]}";
const std::string kPayload = R"({"critical": {}})";
const std::string kSignatures =
    R"({"schemaVersion": 2, "layers": [)" +
    Described("application/vnd.dev.cosign.simplesigning.v1+json", kPayload,
              R"(, "annotations": {"dev.cosignproject.cosign/signature": "c2ln"})") +
    "]}";

// A cell whose skopeo answers what the test says: as a registry, or a skopeo that it has taken
// over.
class FakeSupervisor final : public supervisor::v1::Supervisor::Service {
 public:
  grpc::Status PrepareCell(grpc::ServerContext*, const supervisor::v1::PrepareCellRequest* request,
                           supervisor::v1::PrepareCellResponse* response) override {
    prepared = *request;
    response->mutable_cell()->set_cell_id("cel_1");
    return grpc::Status::OK;
  }
  grpc::Status InjectFiles(grpc::ServerContext*,
                           grpc::ServerReader<supervisor::v1::InjectFilesRequest>* reader,
                           supervisor::v1::InjectFilesResponse* response) override {
    std::string name;
    for (supervisor::v1::InjectFilesRequest message; reader->Read(&message);) {
      if (message.has_file()) name = message.file().path();
      if (message.message_case() == supervisor::v1::InjectFilesRequest::kData) {
        files[name] += message.data();
      }
    }
    response->set_run_id("run_1");
    return grpc::Status::OK;
  }
  grpc::Status Exec(grpc::ServerContext*,
                    grpc::ServerReaderWriter<ExecResponse, ExecRequest>* stream) override {
    ExecRequest request;
    stream->Read(&request);
    const Words argv(request.start().argv().begin(), request.start().argv().end());
    commands.push_back(argv);
    std::string key = argv.back();
    if (std::count(argv.begin(), argv.end(), "--config") != 0) key = "config of " + key;
    if (std::count(argv.begin(), argv.end(), "copy") != 0) key = "copy";
    const auto found = answers.find(key);
    ExecResponse response;
    if (found != answers.end()) {
      response.mutable_output()->set_stream(supervisor::v1::OUTPUT_STREAM_STDOUT);
      response.mutable_output()->set_data(found->second);
      stream->Write(response);
    }
    if (!errors.empty()) {
      response.mutable_output()->set_stream(supervisor::v1::OUTPUT_STREAM_STDERR);
      response.mutable_output()->set_data(errors);
      stream->Write(response);
    }
    response.mutable_outcome()->set_kind(supervisor::v1::OUTCOME_KIND_EXITED);
    response.mutable_outcome()->set_exit_code(found == answers.end() && key != "copy" ? 1 : 0);
    stream->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status RemoveCell(grpc::ServerContext*, const supervisor::v1::RemoveCellRequest* request,
                          supervisor::v1::RemoveCellResponse*) override {
    removed = request->cell_id();
    return grpc::Status::OK;
  }

  supervisor::v1::PrepareCellRequest prepared;
  std::map<std::string, std::string> files, answers;
  std::vector<Words> commands;
  std::string removed, errors;
};

class FakeStore final : public supervisor::v1::Images::Service {
 public:
  grpc::Status ImportImage(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<ImportImageResponse, ImportImageRequest>* stream) override {
    ImportImageRequest request;
    stream->Read(&request);
    start = request.start();
    if (refuses || (wants_signature && start.signatures_size() == 0)) {
      return {grpc::StatusCode::PERMISSION_DENIED, "no signature came with the image"};
    }
    ImportImageResponse response;
    response.mutable_wanted();
    if (wants_layer) response.mutable_wanted()->add_digests(DigestOf(kLayer));
    stream->Write(response);
    while (stream->Read(&request)) layer += request.data();
    response.mutable_image()->set_digest(DigestOf(start.manifest()));
    stream->Write(response);
    return grpc::Status::OK;
  }

  grpc::Status InspectImage(grpc::ServerContext*,
                            const supervisor::v1::InspectImageRequest* request,
                            supervisor::v1::InspectImageResponse*) override {
    inspected.push_back(std::to_string(request->owner_uid()) + " " + request->reference());
    return {inspects, "the store says so"};
  }

  grpc::StatusCode inspects = grpc::StatusCode::NOT_FOUND;
  Words inspected;
  bool wants_signature = false, wants_layer = true, refuses = false;
  supervisor::v1::ImportImageStart start;
  std::string layer;
};

class ImagePullTest : public testing::Test {
 protected:
  ImagePullTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directory_.path() + "/sock",
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&supervisor_);
    builder.RegisterService(&store_);
    server_ = builder.BuildAndStart();
    console_ = MakeConsole(false);
    supervisor_.answers = {{kSource + ":1", kManifest},
                           {At(kManifest), kManifest},
                           {"config of " + At(kManifest), kConfig},
                           {"/cell/runs/run_1/work/image/" + Sha256Hex(kLayer), kLayer}};
  }
  ~ImagePullTest() override { server_->Shutdown(); }

  static std::string At(const std::string& bytes) { return kSource + "@" + DigestOf(bytes); }

  // What it printed; the exit code becomes `code_`.
  std::string Pull(Words words) {
    Invocation call{.console = &console_};
    call.locations.supervisor_socket = directory_.path() + "/sock";
    words.insert(words.end(), {"--platform", "linux/amd64"});
    call.options = ParseOptions(PullOptionSpecs(), {{.name = "REF"}}, words).value();
    const Result<PullOptions> options = ReadPullOptions(call.options);
    if (!options.ok()) return options.status().message();
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code_ = PullImage(call, *options);
    return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  }

  // Of an image that a command of uid 1000 needs.
  Status PullIfMissing(const std::string& reference, PullWhen when = PullWhen::kMissing) {
    Locations locations;
    locations.supervisor_socket = directory_.path() + "/sock";
    const Result<Client> client = Client::Connect(Daemon::kSupervisor, locations);
    ImagePuller puller(console_, *client, 1000, when);
    Status status = puller.PullIfMissing(reference);
    next_ = puller.next();
    return status;
  }

  inline static const std::string kSource = "docker://registry.test:5000/app";
  inline static const std::string kReference = "registry.test:5000/app";

  fakes::TemporaryDirectory directory_;
  FakeSupervisor supervisor_;
  FakeStore store_;
  std::unique_ptr<grpc::Server> server_;
  Console console_;
  int code_ = -1;
  std::string next_;
};

TEST_F(ImagePullTest, WhatTheCellHasGoesIntoTheStore) {
  EXPECT_EQ(Pull({kReference + ":1"}), kReference + ":1@" + DigestOf(kManifest) + "\n");
  EXPECT_EQ(code_, 0);
  EXPECT_EQ(store_.start.name(), kReference + ":1");
  EXPECT_EQ(store_.start.manifest(), kManifest);
  EXPECT_EQ(store_.start.config(), kConfig);
  EXPECT_EQ(store_.layer, kLayer);
  EXPECT_EQ(supervisor_.removed, "cel_1");
}

TEST_F(ImagePullTest, TheCellReachesTheRegistryAndWhatIsNamed) {
  Pull({kReference + ":1", "--reach", "tokens.test:443"});
  const auto& sandbox = supervisor_.prepared.sandbox();
  EXPECT_EQ(sandbox.network(), policy::v1::NETWORK_EGRESS);
  std::vector<std::string> hosts;
  for (const auto& rule : sandbox.egress().rules()) {
    for (const auto& endpoint : rule.endpoints()) {
      hosts.push_back(endpoint.host() + ":" + std::to_string(endpoint.ports(0)));
      EXPECT_EQ(endpoint.ports_size(), 1);
    }
  }
  EXPECT_THAT(hosts, testing::ElementsAre("registry.test:5000", "tokens.test:443"));
  EXPECT_EQ(sandbox.mounts_size(), 0);
  EXPECT_TRUE(supervisor_.prepared.workspace().empty());
}

TEST_F(ImagePullTest, WhatTheStoreHasIsNotCopied) {
  store_.wants_layer = false;
  Pull({kReference + ":1"});
  EXPECT_EQ(code_, 0);
  for (const Words& argv : supervisor_.commands) EXPECT_THAT(argv, Not(Contains("copy")));
}

TEST_F(ImagePullTest, OfAnIndexTheManifestIsItsDigests) {
  supervisor_.answers[kSource + ":1"] = kIndex;
  EXPECT_EQ(Pull({kReference + ":1"}), kReference + ":1@" + DigestOf(kManifest) + "\n");
  supervisor_.answers[At(kManifest)] = kManifest + " ";
  EXPECT_THAT(Pull({kReference + ":1"}), HasSubstr("where " + DigestOf(kManifest)));
  EXPECT_EQ(code_, 1);
}

TEST_F(ImagePullTest, NothingElseThanThePinnedDigestIsTaken) {
  EXPECT_EQ(Pull({kReference + "@" + DigestOf(kManifest)}), DigestOf(kManifest) + "\n");
  supervisor_.answers[At("other")] = kManifest;
  store_.start.Clear();
  EXPECT_THAT(Pull({kReference + "@" + DigestOf("other")}),
              HasSubstr("the registry sent " + DigestOf(kManifest)));
  EXPECT_EQ(code_, 1);
  EXPECT_TRUE(store_.start.manifest().empty());
}

TEST_F(ImagePullTest, AConfigurationThatIsNotItsDigestsIsNotSent) {
  supervisor_.answers["config of " + At(kManifest)] = kConfig + " ";
  EXPECT_THAT(Pull({kReference + ":1"}), HasSubstr("where " + DigestOf(kConfig)));
  EXPECT_TRUE(store_.start.manifest().empty());
}

TEST_F(ImagePullTest, ALayerOfAnotherSizeIsNotSentWhole) {
  supervisor_.answers["/cell/runs/run_1/work/image/" + Sha256Hex(kLayer)] = kLayer + "more";
  EXPECT_THAT(Pull({kReference + ":1"}), HasSubstr("has more than the 7 bytes"));
  EXPECT_EQ(code_, 1);
}

TEST_F(ImagePullTest, CredentialsAreAFileOfThisRegistryAlone) {
  const std::string file =
      directory_.Write("auth.json", R"({"auths": {"registry.test:5000": {"auth": "bWluZQ=="},
                       "other.test": {"auth": "b3RoZXI="}}})");
  Pull({kReference + ":1", "--authfile", file});
  EXPECT_EQ(code_, 0);
  EXPECT_EQ(supervisor_.files["auth.json"],
            R"({"auths":{"registry.test:5000":{"auth":"bWluZQ=="}}})");
  for (const Words& argv : supervisor_.commands) {
    for (const std::string& word : argv) EXPECT_THAT(word, Not(HasSubstr("bWluZQ"))) << word;
    EXPECT_THAT(argv, Not(Contains("--no-creds")));
  }
}

TEST_F(ImagePullTest, ASignatureIsFetchedWhereTheStoreWantsOne) {
  store_.wants_signature = true;
  const std::string tag = kSource + ":sha256-" + Sha256Hex(kManifest) + ".sig";
  EXPECT_THAT(Pull({kReference + ":1"}), HasSubstr("no signature came with the image"));
  EXPECT_EQ(code_, 1);
  supervisor_.answers[tag] = kSignatures;
  supervisor_.answers["/cell/runs/run_1/work/signatures/" + Sha256Hex(kPayload)] = kPayload;
  Pull({kReference + ":1"});
  EXPECT_EQ(code_, 0);
  ASSERT_EQ(store_.start.signatures_size(), 1);
  EXPECT_EQ(store_.start.signatures(0).payload(), kPayload);
  EXPECT_EQ(store_.start.signatures(0).signature(), "c2ln");
}

// Which names it is used by, the store is told when a cell is made.
TEST_F(ImagePullTest, SignaturesOfAnImageWithoutANameAreFetched) {
  const std::string digest = Sha256Hex(kManifest);
  supervisor_.answers[kSource + ":sha256-" + digest + ".sig"] = kSignatures;
  supervisor_.answers["/cell/runs/run_1/work/signatures/" + Sha256Hex(kPayload)] = kPayload;
  Pull({kReference + "@sha256:" + digest});
  EXPECT_EQ(code_, 0);
  EXPECT_EQ(store_.start.name(), "");
  EXPECT_EQ(store_.start.signatures_size(), 1);
  store_.refuses = true;  // by the key of a rule for all images
  EXPECT_THAT(Pull({kReference + "@sha256:" + digest}), HasSubstr("no signature came"));
  EXPECT_EQ(code_, 1);
  EXPECT_EQ(store_.start.signatures_size(), 1) << "each is sent once";
}

TEST_F(ImagePullTest, WhatIsNeededAndMissingIsPulledForItsOwner) {
  EXPECT_TRUE(PullIfMissing(kReference + ":1").ok());
  EXPECT_THAT(store_.inspected, testing::ElementsAre("1000 " + kReference + ":1"));
  EXPECT_EQ(store_.start.name(), kReference + ":1");
  EXPECT_EQ(store_.start.owner_uid(), 1000u);
  EXPECT_EQ(store_.layer, kLayer);
}

TEST_F(ImagePullTest, NothingElseIsPulled) {
  const auto pulls = [&](const std::string& reference, PullWhen when = PullWhen::kMissing) {
    EXPECT_TRUE(PullIfMissing(reference, when).ok());
    return !supervisor_.commands.empty();
  };
  EXPECT_FALSE(pulls(kReference + ":1", PullWhen::kNever));
  for (const char* text : {"app:1", "team/app", "registry.test/App", ""}) EXPECT_FALSE(pulls(text));
  EXPECT_THAT(store_.inspected, testing::IsEmpty());
  for (const auto code :
       {grpc::StatusCode::OK, grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::UNAVAILABLE}) {
    store_.inspects = code;
    EXPECT_FALSE(pulls(kReference + ":1")) << code;
  }
}

TEST_F(ImagePullTest, AFailedPullNamesTheCommandThatTakesTheOption) {
  supervisor_.errors = "level=fatal msg=\"http: server gave HTTP response to HTTPS client\"";
  const Status status = PullIfMissing(kReference + ":2");
  EXPECT_EQ(status.message(), "pull: http: server gave HTTP response to HTTPS client");
  EXPECT_EQ(next_, "It speaks HTTP alone: --plain-http. odyssey-ctl image pull " + kReference +
                       ":2 takes the option.");
}

TEST_F(ImagePullTest, OptionsAreRefusedByTheirNames) {
  const std::string reference = kReference + ":1";
  EXPECT_THAT(Pull({reference, "--reach", "x"}), HasSubstr("--reach x: "));
  EXPECT_THAT(Pull({reference, "--reach", "127.0.0.1:80"}), HasSubstr("--reach 127.0.0.1:80: "));
  EXPECT_THAT(Pull({reference, "--authfile", "/nowhere/x"}), HasSubstr("--authfile: "));
  const std::string file = directory_.Write("ca.pem", "x");
  EXPECT_THAT(Pull({reference, "--plain-http", "--ca-file", file}), HasSubstr("--ca-file: "));
}

}  // namespace
}  // namespace odyssey::ctl
