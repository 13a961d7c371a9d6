// Container images through the real supervisor: hostile layers, imports that are cut off, users,
// commits, and what is collected.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/sha256.h"
#include "common/os/file.h"
#include "image/layer/test_tar.h"
#include "odyssey/supervisor/v1/image.grpc.pb.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;
using image::Tar;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kAda = 60101, kBob = 60102;

std::string DigestOf(const std::string& bytes) { return "sha256:" + Sha256Hex(bytes); }

struct Sent {
  grpc::Status status;
  std::vector<std::string> wanted;
  v1::ImageInfo image;
};

// The host's programs that scripts of these tests are made of, and what they load.
const std::string& Programs() {
  static const std::string tar = [] {
    std::string path = ::testing::TempDir() + "programs-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    // Directories by their real paths, since the links to them come first.
    const std::string script =
        "cd / && for p in sh cat id ls rm mkdir mv touch chown stat; do p=$(command -v $p); echo "
        "$p; "
        "readlink -f $p; ldd $p | grep -o '/[^ ]*'; done | sort -u | while read p; do echo "
        "$(readlink -f $(dirname $p))/$(basename $p); readlink -f $p; done | sort -u | "
        "sed s,^/,, | tar -cf " +
        path + "/tar bin sbin lib lib64 -T -";
    EXPECT_EQ(system(("exec 2>/dev/null; " + script).c_str()), 0);
    std::string bytes = *ReadFile(path + "/tar", size_t{1} << 30);
    fs::remove_all(path);
    return bytes;
  }();
  return tar;
}

class ImagesTest : public ::testing::Test {
 protected:
  void SetUp() override { Connect(); }

  void Connect() {
    stub_ = v1::Images::NewStub(
        grpc::CreateChannel("unix:" + supervisor_.socket(), grpc::InsecureChannelCredentials()));
  }

  static v1::ImportImageRequest Start(uint32_t owner_uid, const std::string& name,
                                      const std::vector<std::string>& layers,
                                      const std::string& config_keys = "") {
    std::string ids, list;
    for (const std::string& layer : layers) {
      ids += (ids.empty() ? "\"" : ",\"") + DigestOf(layer) + "\"";
      list += (list.empty() ? "" : ",") +
              (R"({"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":")" +
               DigestOf(layer) + R"(","size":)" + std::to_string(layer.size()) + "}");
    }
    const std::string config = R"({"os":"linux","architecture":"amd64","config":{)" + config_keys +
                               R"(},"rootfs":{"type":"layers","diff_ids":[)" + ids + "]}}";
    v1::ImportImageRequest request;
    request.mutable_start()->set_owner_uid(owner_uid);
    request.mutable_start()->set_name(name);
    request.mutable_start()->set_config(config);
    request.mutable_start()->set_manifest(
        R"({"schemaVersion":2,"config":{"digest":")" + DigestOf(config) + R"(","size":)" +
        std::to_string(config.size()) + R"(},"layers":[)" + list + "]}");
    return request;
  }

  using Stream = grpc::ClientReaderWriter<v1::ImportImageRequest, v1::ImportImageResponse>;

  static void SendBytes(Stream* stream, const std::string& layer, size_t bytes) {
    v1::ImportImageRequest message;
    message.set_layer(DigestOf(layer));
    stream->Write(message);
    for (size_t at = 0; at < bytes; at += size_t{1} << 20) {
      message.set_data(layer.substr(at, std::min(bytes - at, size_t{1} << 20)));
      if (!stream->Write(message)) return;
    }
  }

  Sent Import(uint32_t owner_uid, const std::string& name, const std::vector<std::string>& layers,
              const std::string& config_keys = "") {
    Sent sent;
    grpc::ClientContext context;
    const auto stream = stub_->ImportImage(&context);
    stream->Write(Start(owner_uid, name, layers, config_keys));
    v1::ImportImageResponse response;
    if (stream->Read(&response)) {
      sent.wanted = {response.wanted().digests().begin(), response.wanted().digests().end()};
    }
    for (const std::string& digest : sent.wanted) {
      for (const std::string& layer : layers) {
        if (DigestOf(layer) == digest) SendBytes(stream.get(), layer, layer.size());
      }
    }
    stream->WritesDone();
    while (stream->Read(&response)) {
      if (response.has_image()) sent.image = response.image();
    }
    sent.status = stream->Finish();
    return sent;
  }

  static v1::PrepareCellRequest CellOf(const std::string& image, const std::string& component,
                                       bool ephemeral = true) {
    v1::PrepareCellRequest request = SupervisorHarness::Request(component);
    request.set_ephemeral(ephemeral);
    request.mutable_sandbox()->set_executables_mode(policy::v1::EXECUTABLES_MODE_ALL);
    request.mutable_sandbox()->mutable_image()->set_reference(image);
    return request;
  }

  // Names of layers that root keeps.
  std::set<std::string> Trees() const {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& entry :
         fs::directory_iterator(supervisor_.directory() + "/state/cells/images", error)) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  // Pid 1 of a layer cell of this supervisor's; -1: there is none.
  pid_t LayerProcess() const {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t pid = atoi(entry.path().filename().c_str());
      if (pid <= 0 || CommandName(pid) != "cell-init" || !fs::exists(entry.path() / "root/layer")) {
        continue;
      }
      for (pid_t above = pid; above > 1; above = ParentOf(above)) {
        if (above == supervisor_.keeper()) return pid;
      }
    }
    return -1;
  }

  grpc::Status Remove(uint32_t owner_uid, const std::string& reference) {
    grpc::ClientContext context;
    v1::RemoveImageRequest request;
    request.set_owner_uid(owner_uid);
    request.set_reference(reference);
    v1::RemoveImageResponse response;
    return stub_->RemoveImage(&context, request, &response);
  }
  uint32_t Collect() {
    grpc::ClientContext context;
    v1::CollectImagesResponse response;
    const grpc::Status status = stub_->CollectImages(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.layers();
  }

  SupervisorHarness supervisor_;
  std::unique_ptr<v1::Images::Stub> stub_;
};

TEST_F(ImagesTest, ACommandRunsInAnImage) {
  Tar top;
  top.File("etc/passwd", "root:x:0:0::/:\nweb:x:33:34::/:\n").File("srv/größe", "of the image", 33);
  const Sent sent = Import(0, "app", {Programs(), top.Bytes()}, R"("User":"web","Env":["A=b"])");
  ASSERT_TRUE(sent.status.ok()) << sent.status.error_message();
  const std::string cell = supervisor_.Cell(CellOf("app", "image"));
  const ExecResult result = supervisor_.Shell(cell, "id -u; id -g; cat /srv/größe; echo $A");
  EXPECT_EQ(result.out, "33\n34\nof the imageb\n") << result.ToString();
}

// Each is refused by the name of its entry, and nothing of it stays.
TEST_F(ImagesTest, HostileLayers) {
  const std::vector<std::pair<std::string, std::function<void(Tar&)>>> layers = {
      {"entry \"../evil\": its path has \"..\"", [](Tar& tar) { tar.File("../evil"); }},
      {"entry \"l/evil\": its path passes through a link",
       [](Tar& tar) { tar.Link("l", "/").File("l/evil"); }},
      {"entry \"h\": it is a hard link to \"etc/shadow\", which is not there",
       [](Tar& tar) { tar.HardLink("h", "/etc/shadow"); }},
      {"entry \"dev/null\": it is a device", [](Tar& tar) { tar.Add("dev/null", AE_IFCHR, 0666); }},
      {"entry \"f\": its owner is 65536:65536", [](Tar& tar) { tar.File("f", "x", 65536); }},
      {"entry \".wh..\": it is a whiteout of no name", [](Tar& tar) { tar.File(".wh..", ""); }},
      {"entry \"l/.wh.x\": its path passes through a link",
       [](Tar& tar) { tar.Link("l", "/").File("l/.wh.x", ""); }}};
  for (const auto& [why, make] : layers) {
    Tar tar;
    tar.File("first");
    make(tar);
    const Sent sent = Import(kAda, "evil", {tar.Bytes()});
    EXPECT_EQ(sent.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << why;
    EXPECT_THAT(sent.status.error_message(), HasSubstr(why));
  }
  EXPECT_THAT(Trees(), IsEmpty());
}

TEST_F(ImagesTest, ALayerCellHasNothingOfTheHost) {
  const std::string layer = Programs();
  grpc::ClientContext context;
  const auto stream = stub_->ImportImage(&context);
  stream->Write(Start(kAda, "app", {layer}));
  v1::ImportImageResponse response;
  ASSERT_TRUE(stream->Read(&response));
  SendBytes(stream.get(), layer, layer.size() / 2);
  pid_t pid = -1;
  ASSERT_TRUE(Eventually([&] {
    pid = LayerProcess();
    const auto status = ReadFile("/proc/" + std::to_string(pid) + "/status", 1 << 16);
    return pid > 0 && status.ok() && status->find("CapEff:\t000000000000001b") != std::string::npos;
  }));
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string status = *ReadFile(process + "/status", 1 << 16);
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(status, HasSubstr("CapPrm:\t000000000000001b"));
  EXPECT_THAT(status, HasSubstr("CapBnd:\t0000000000000000"));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(process + "/root")) {
    names.insert(entry.path().filename());
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre(".odyssey", "dev", "proc", "layer"));
  const std::string net = *ReadFile(process + "/net/dev", 1 << 16);
  EXPECT_EQ(std::count(net.begin(), net.end(), ':'), 1) << net;  // lo
  context.TryCancel();
  (void)stream->Finish();
  EXPECT_TRUE(Eventually([&] { return Trees().empty(); }));
}

TEST_F(ImagesTest, AKillInTheMiddleOfAnImport) {
  const std::string layer = Programs();
  const std::string name = DigestOf(layer).substr(7);
  {
    grpc::ClientContext context;
    const auto stream = stub_->ImportImage(&context);
    stream->Write(Start(kAda, "app", {layer}));
    v1::ImportImageResponse response;
    ASSERT_TRUE(stream->Read(&response));
    SendBytes(stream.get(), layer, layer.size() / 2);
    ASSERT_TRUE(Eventually([&] { return Trees().count(name) != 0; }));
    ASSERT_TRUE(SignalProcess(supervisor_.rpc(), SIGKILL));
    EXPECT_FALSE(stream->Finish().ok());
  }
  EXPECT_EQ(Trees().count(name), 1u);  // what is left of it
  Sent sent;
  ASSERT_TRUE(Eventually([&] {
    Connect();
    sent = Import(kAda, "app", {layer});
    return sent.status.error_code() != grpc::StatusCode::UNAVAILABLE;
  }));
  ASSERT_TRUE(sent.status.ok()) << sent.status.error_message();
  EXPECT_THAT(sent.wanted, ElementsAre(DigestOf(layer)));
  auto request = CellOf("app", "again");
  request.set_owner_uid(kAda);
  EXPECT_TRUE(supervisor_.Shell(supervisor_.Cell(request), "id").Exited(0));
}

TEST_F(ImagesTest, TwoUsersHaveOneLayer) {
  const std::string layer = Programs();
  ASSERT_TRUE(Import(kAda, "app", {layer}).status.ok());
  const Sent bobs = Import(kBob, "other", {layer});
  ASSERT_TRUE(bobs.status.ok()) << bobs.status.error_message();
  EXPECT_THAT(bobs.wanted, ElementsAre(DigestOf(layer)));
  EXPECT_EQ(Trees().size(), 1u);
  EXPECT_THAT(Import(kBob, "again", {layer}).wanted, IsEmpty());
  auto request = CellOf("app", "bob");
  request.set_owner_uid(kBob);
  EXPECT_THAT(supervisor_.Prepare(request).status().message(),
              HasSubstr("uid 60102 has no such image, nor has root"));
}

TEST_F(ImagesTest, AQuotaOfTheOperators) {
  fs::create_directory(supervisor_.policy_directory());
  std::ofstream(supervisor_.policy_directory() + "/images.yaml")
      << "version: odyssey.ceiling/v1\nimages: {quota_mb: 1}\n";
  const Sent sent = Import(kAda, "app", {Programs()});
  EXPECT_EQ(sent.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(sent.status.error_message(), HasSubstr("the image quota of uid 60101"));
  EXPECT_THAT(Trees(), IsEmpty());
}

TEST_F(ImagesTest, ACommitHasWhatTheCellChanged) {
  Tar top;
  top.File("srv/old", "old").File("srv/gone", "gone").File("d/below", "x").File("etc/x", "x");
  ASSERT_TRUE(Import(0, "base", {Programs(), top.Bytes()}).status.ok());
  auto request = CellOf("base", "build", /*ephemeral=*/false);
  request.mutable_sandbox()->mutable_image()->set_build(true);
  const std::string cell = supervisor_.Cell(request);
  const ExecResult made = supervisor_.Shell(
      cell,
      "cd /srv && echo new >new && echo more >>old && rm gone && rm -r /d && mkdir /d && "
      "touch /d/fresh && chown 5:6 new");
  ASSERT_TRUE(made.Exited(0)) << made.ToString();
  v1::CommitImageRequest commit;
  *commit.mutable_key() = request.key();
  commit.set_name("made:1");
  v1::CommitImageResponse response;
  {
    grpc::ClientContext context;
    const grpc::Status status = stub_->CommitImage(&context, commit, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(response.image().layers_size(), 3);
  const ExecResult seen =
      supervisor_.Shell(supervisor_.Cell(CellOf("made:1", "seen")),
                        "cd /srv && ls && cat old new && stat -c %u:%g new && ls /d");
  EXPECT_EQ(seen.out, "new\nold\noldmore\nnew\n5:6\nfresh\n") << seen.ToString();
  // The cell goes on as it was.
  EXPECT_EQ(supervisor_.Shell(supervisor_.Cell(request), "cat /srv/new").out, "new\n");
}

TEST_F(ImagesTest, ACellKeepsTheLayersOfARemovedImage) {
  ASSERT_TRUE(Import(0, "app", {Programs()}).status.ok());
  const std::string live = supervisor_.Cell(CellOf("app", "live"));
  ASSERT_TRUE(Remove(0, "app").ok());
  EXPECT_EQ(Collect(), 0u);
  EXPECT_TRUE(supervisor_.Shell(live, "id").Exited(0));
  ASSERT_TRUE(supervisor_.Remove(live).ok());
  EXPECT_EQ(Collect(), 1u);
  EXPECT_THAT(Trees(), IsEmpty());
}

TEST_F(ImagesTest, FilesOfAnImage) {
  Tar top;
  top.File("srv/a/f", "text", 33).File("srv/.wh.b", "");
  Tar base;
  base.File("srv/a/below", "x").File("srv/b", "x");
  ASSERT_TRUE(Import(0, "app", {base.Bytes(), top.Bytes()}).status.ok());
  const auto read = [&](const std::string& path, std::string* tar) {
    grpc::ClientContext context;
    v1::ReadImageFilesRequest request;
    request.set_reference("app");
    request.set_path(path);
    const auto stream = stub_->ReadImageFiles(&context, request);
    v1::ReadImageFilesResponse response;
    while (stream->Read(&response)) *tar += response.data();
    return stream->Finish();
  };
  std::string tar, none;
  const grpc::Status status = read("/srv", &tar);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const std::string path = ::testing::TempDir() + "files.tar";
  std::ofstream(path, std::ios::binary) << tar;
  ASSERT_EQ(
      system(("tar --numeric-owner -tvf " + path + " | awk '{print $2,$6}' >" + path + ".list")
                 .c_str()),
      0);
  EXPECT_EQ(*ReadFile(path + ".list", 4096),
            "0/0 srv/\n0/0 srv/a/\n0/0 srv/a/below\n33/33 srv/a/f\n");
  EXPECT_EQ(read("/srv/b", &none).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(read("/proc/1", &none).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(Trees(), ::testing::SizeIs(2));
}

}  // namespace
}  // namespace odyssey::testing
