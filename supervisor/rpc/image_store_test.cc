#include "supervisor/rpc/image_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/os/unique_fd.h"
#include "supervisor/rpc/bulk_sha256.h"

namespace odyssey::supervisor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint32_t kAda = 1000, kBob = 1001;
constexpr uint64_t kMib = uint64_t{1} << 20;

// Layers in memory: what is "unpacked" is the packed text. "bad…" cannot be unpacked; "passwd …"
// and "group …" are those files; each byte counts for a MiB on the disk.
class FakeLayerCells final : public LayerCells {
 public:
  class Unpacking final : public LayerUnpacking {
   public:
    Unpacking(FakeLayerCells* cells, std::string name, uint64_t max_bytes)
        : cells_(cells), name_(std::move(name)), max_bytes_(max_bytes) {}
    bool Write(std::string_view bytes) override {
      text_ += bytes;
      if (cells_->on_write) cells_->on_write(name_);
      return true;
    }
    Result<layer::Done> Finish() override {
      if (text_.starts_with("bad")) return InvalidArgument("entry \"x\": it is a device");
      layer::Done done = {.entries = 1, .bytes = text_.size() * kMib};
      if (done.bytes > max_bytes_) return ResourceExhausted("the layer has too many bytes");
      for (const auto& [word, file] :
           {std::pair{"passwd ", &done.passwd}, std::pair{"group ", &done.group}}) {
        if (text_.starts_with(word)) {
          *file = {layer::FileState::kText, text_.substr(std::string_view(word).size())};
        }
      }
      if (text_ == "no accounts") done.passwd.state = layer::FileState::kHidden;
      const std::lock_guard lock(cells_->mutex);
      cells_->files[name_] = text_;
      ++cells_->unpacked;
      return done;
    }
    Status Discard() override { return cells_->Remove(name_); }

   private:
    FakeLayerCells* const cells_;
    const std::string name_;
    const uint64_t max_bytes_;
    std::string text_;
  };

  class Reading final : public TarReading {
   public:
    Reading(std::string text, Status status) : text_(std::move(text)), status_(std::move(status)) {}
    Result<std::string> Read() override { return std::exchange(text_, ""); }
    Status Finish() override { return status_; }

   private:
    std::string text_;
    const Status status_;
  };

  Result<std::unique_ptr<LayerUnpacking>> Unpack(const std::string& name, uint64_t max_bytes,
                                                 uint64_t) override {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(files.count(name), 0u) << "unpacked over what is left of it";
    files[name] = "half";
    return std::unique_ptr<LayerUnpacking>(new Unpacking(this, name, max_bytes));
  }
  Result<std::unique_ptr<TarReading>> Pack(const std::string& cell_tree) override {
    return std::unique_ptr<TarReading>(new Reading("changes of " + cell_tree, pack_status));
  }
  Result<std::unique_ptr<TarReading>> Read(const std::vector<std::string>& layers,
                                           const std::string& path) override {
    read_layers = layers;
    return std::unique_ptr<TarReading>(new Reading("tar of " + path, OkStatus()));
  }
  Result<compile::FoundExecutables> FindPrograms(const std::vector<std::string>& layers,
                                                 const std::vector<std::string>& names) override {
    read_layers = layers;
    ++searches;
    if (names[0] == "missing") return NotFound("missing system tool: missing");
    return compile::FoundExecutables{.files = {{"/usr/bin/" + names[0], true, "named"}}};
  }
  Status Remove(const std::string& name) override {
    const std::lock_guard lock(mutex);
    files.erase(name);
    return remove_status;
  }

  std::mutex mutex;
  std::map<std::string, std::string> files;
  int unpacked = 0, searches = 0;
  std::function<void(const std::string&)> on_write;
  Status pack_status, remove_status;
  std::vector<std::string> read_layers;
};

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

std::string ConfigText(size_t layers, const std::string& more = "") {
  std::string ids;
  for (size_t i = 0; i < layers; ++i) {
    ids += (i == 0 ? "" : ",") + Quoted(DigestOf("diff" + std::to_string(i)));
  }
  return R"({"os":"linux","architecture":"amd64","config":{)" + more +
         R"(},"rootfs":{"type":"layers","diff_ids":[)" + ids + "]}}";
}

// An image of the layers with these packed bytes.
ImageOrder OrderOf(uint32_t owner_uid, const std::string& name,
                   const std::vector<std::string>& layers, const std::string& more = "") {
  ImageOrder order = {.owner_uid = owner_uid, .name = name};
  order.config = ConfigText(layers.size(), more);
  std::string list;
  for (const std::string& layer : layers) {
    list += (list.empty() ? "" : ",") +
            (R"({"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":")" +
             DigestOf(layer) + R"(","size":)" + std::to_string(layer.size()) + "}");
  }
  order.manifest = R"({"schemaVersion":2,"config":{"digest":")" + DigestOf(order.config) +
                   R"(","size":)" + std::to_string(order.config.size()) + R"(},"layers":[)" + list +
                   "]}";
  return order;
}

class ImageStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "images-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(path_);
  }

  // As after the end of this process.
  void Reopen(LayerTable::Waits waits = {}) {
    store_.reset();
    const UniqueFd directory(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    auto store = ImageStore::Open(
        directory.get(), &cells_, [this]() -> Result<ceiling::Images> { return rules_; }, waits);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(*store);
  }

  // Sends what is wanted of `layers`.
  Result<v1::ImageInfo> Send(const ImageOrder& order, const std::vector<std::string>& layers,
                             std::vector<std::string>* wanted = nullptr) {
    ODY_ASSIGN_OR_RETURN(const auto import, store_->Import(order));
    if (wanted != nullptr) *wanted = import->wanted();
    for (const std::string& digest : import->wanted()) {
      ODY_RETURN_IF_ERROR(import->BeginLayer(digest));
      const auto layer = std::find_if(layers.begin(), layers.end(), [&](const std::string& each) {
        return DigestOf(each) == digest;
      });
      if (layer != layers.end()) ODY_RETURN_IF_ERROR(import->Add(*layer));
      ODY_RETURN_IF_ERROR(import->EndLayer().status());
    }
    return import->Finish();
  }
  Result<v1::ImageInfo> Import(uint32_t owner_uid, const std::string& name,
                               const std::vector<std::string>& layers,
                               const std::string& more = "") {
    return Send(OrderOf(owner_uid, name, layers, more), layers);
  }
  std::string Why(uint32_t owner_uid, const std::string& name,
                  const std::vector<std::string>& layers) {
    const auto image = Import(owner_uid, name, layers);
    return image.ok() ? "imported" : image.status().message();
  }
  Result<compile::FoundImage> Find(uint32_t uid, const std::string& reference,
                                   const std::string& user = "") {
    return store_->Find({.reference = reference, .user = user}, {}, uid);
  }
  std::vector<std::string> Names(uint32_t uid, bool all = false) {
    std::vector<std::string> names;
    const auto list = store_->List(uid, all);
    EXPECT_TRUE(list.ok());
    for (const v1::ImageInfo& image : list->images()) {
      names.insert(names.end(), image.names().begin(), image.names().end());
    }
    return names;
  }
  uint32_t Collect(const std::set<std::string>& live = {}) {
    const auto collected = store_->Collect([&] { return live; });
    EXPECT_TRUE(collected.ok()) << collected.status().message();
    return collected.ok() ? collected->layers() : 0;
  }

  std::string path_;
  FakeLayerCells cells_;
  ceiling::Images rules_;
  std::unique_ptr<ImageStore> store_;
};

// ── Import ──

TEST_F(ImageStoreTest, KeepsAnImage) {
  const auto image = Import(kAda, "debian", {"base", "top"}, R"("Env":["A=b"],"User":"33:44")");
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_THAT(image->names(), ElementsAre("debian:latest"));
  EXPECT_EQ(image->layers_size(), 2);
  EXPECT_EQ(image->layers(0).digest(), DigestOf("base"));
  EXPECT_EQ(image->layers(1).bytes(), 3u);
  EXPECT_EQ(image->layers(1).unpacked_bytes(), 3 * kMib);
  for (int i = 0; i < 2; ++i) {
    const auto found = Find(kAda, "debian:latest");
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->digest, image->digest());
    EXPECT_THAT(found->layers, ElementsAre(DigestOf("base").substr(7), DigestOf("top").substr(7)));
    EXPECT_EQ(found->user, 33u);
    EXPECT_EQ(found->group, 44u);
    EXPECT_THAT(found->env, ElementsAre("A=b"));
    Reopen();
  }
}

TEST_F(ImageStoreTest, ANameMovesToTheNextImage) {
  ASSERT_TRUE(Import(kAda, "app:1", {"one"}).ok());
  ASSERT_TRUE(Import(kAda, "app:1", {"two"}).ok());
  EXPECT_EQ(Find(kAda, "app:1")->layers[0], DigestOf("two").substr(7));
  EXPECT_THAT(Names(kAda), ElementsAre("app:1"));
  // The one before has no name any more.
  EXPECT_EQ(store_->List(kAda, false)->images_size(), 1);
  EXPECT_EQ(Collect(), 1u);
}

TEST_F(ImageStoreTest, RefusesWhatIsNotWhatItsDigestSays) {
  const ImageOrder order = OrderOf(kAda, "app", {"base"});
  auto import = store_->Import(order);
  ASSERT_TRUE(import.ok());
  ASSERT_TRUE((*import)->BeginLayer(DigestOf("base")).ok());
  ASSERT_TRUE((*import)->Add("evil").ok());
  EXPECT_EQ((*import)->EndLayer().status().message(),
            "layer: " + DigestOf("base") + ": its bytes have the digest " + DigestOf("evil"));
  import->reset();
  EXPECT_THAT(cells_.files, IsEmpty());
  ImageOrder other = OrderOf(kAda, "app", {"base"});
  other.config += " ";
  EXPECT_THAT(store_->Import(other).status().message(), HasSubstr("start.config: the manifest"));
}

TEST_F(ImageStoreTest, RefusesMoreBytesThanTheManifestSays) {
  auto import = store_->Import(OrderOf(kAda, "app", {"base"}));
  ASSERT_TRUE((*import)->BeginLayer(DigestOf("base")).ok());
  EXPECT_THAT((*import)->Add("basebase").message(), HasSubstr("has 4 bytes by the manifest"));
}

TEST_F(ImageStoreTest, RefusesAnImageWithoutALayer) {
  EXPECT_EQ(Why(kAda, "app", {}), "start.manifest.layers: the image has no layer");
}

TEST_F(ImageStoreTest, RefusesAnImageOfAnotherMachine) {
  ImageOrder order = OrderOf(kAda, "app", {"base"});
  const std::string before = DigestOf(order.config);
  order.config.replace(order.config.find("amd64"), 5, "s390x");
  order.manifest.replace(order.manifest.find(before), before.size(), DigestOf(order.config));
  EXPECT_THAT(store_->Import(order).status().message(),
              HasSubstr("start.config.architecture: s390x: this host is "));
}

TEST_F(ImageStoreTest, NamesTheEntryThatCannotBeUnpacked) {
  EXPECT_EQ(Why(kAda, "app", {"bad layer"}),
            "layer: " + DigestOf("bad layer") + ": entry \"x\": it is a device");
  EXPECT_THAT(cells_.files, IsEmpty());
  EXPECT_THAT(Names(kAda), IsEmpty());
}

TEST_F(ImageStoreTest, WholeLayersStayOfAnImportThatFails) {
  EXPECT_NE(Why(kAda, "app", {"good", "bad"}), "imported");
  std::vector<std::string> wanted;
  const std::vector<std::string> layers = {"good", "better"};
  ASSERT_TRUE(Send(OrderOf(kAda, "app", layers), layers, &wanted).ok());
  EXPECT_THAT(wanted, ElementsAre(DigestOf("better")));
}

TEST_F(ImageStoreTest, ALayerTwiceInAnImageIsOnceInACell) {
  ASSERT_TRUE(Import(kAda, "app", {"empty", "base", "empty"}).ok());
  EXPECT_THAT(Find(kAda, "app")->layers,
              ElementsAre(DigestOf("base").substr(7), DigestOf("empty").substr(7)));
}

// What a process that was killed has left: its record is there, and does not say whole.
TEST_F(ImageStoreTest, AnInterruptedLayerIsRemovedAndUnpackedAgain) {
  const UniqueFd directory(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name = DigestOf("base").substr(7);
  {
    const auto index = ImageIndex::Open(directory.get());
    ASSERT_TRUE(index->Save(StoredLayer{.name = name, .digest = DigestOf("base")}).ok());
  }
  cells_.files[name] = "half";
  Reopen();
  ASSERT_EQ(Why(kAda, "app", {"base"}), "imported");
  EXPECT_EQ(cells_.files[name], "base");
}

TEST_F(ImageStoreTest, CollectRemovesAnInterruptedLayer) {
  const UniqueFd directory(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const auto index = ImageIndex::Open(directory.get());
    ASSERT_TRUE(index->Save(StoredLayer{.name = "abc", .digest = DigestOf("base")}).ok());
  }
  cells_.files["abc"] = "half";
  Reopen();
  EXPECT_EQ(Collect(), 1u);
  EXPECT_THAT(cells_.files, IsEmpty());
}

// ── Two at once ──

TEST_F(ImageStoreTest, TwoImportsOfALayerUnpackItOnce) {
  std::promise<void> first_writes, go;
  std::atomic<int> writes{0};
  cells_.on_write = [&](const std::string&) {
    if (writes++ == 0) {
      first_writes.set_value();
      go.get_future().wait();
    }
  };
  auto first = std::async(std::launch::async, [&] { return Why(kAda, "app", {"base"}); });
  first_writes.get_future().wait();
  auto second = std::async(std::launch::async, [&] { return Why(kBob, "app", {"base"}); });
  go.set_value();
  EXPECT_EQ(first.get(), "imported");
  EXPECT_EQ(second.get(), "imported");
  EXPECT_EQ(cells_.unpacked, 1);
  EXPECT_EQ(writes, 1);
}

// A user that sends a layer and never ends keeps no other from having it.
TEST_F(ImageStoreTest, AnImportThatDoesNotMoveIsNotWaitedForLong) {
  Reopen({.pace = std::chrono::milliseconds(1), .most = std::chrono::milliseconds(1)});
  auto slow = store_->Import(OrderOf(kAda, "app", {"base"}));
  ASSERT_TRUE((*slow)->BeginLayer(DigestOf("base")).ok());
  ASSERT_EQ(Why(kBob, "app", {"base"}), "imported");
  ASSERT_TRUE((*slow)->Add("base").ok());
  ASSERT_TRUE((*slow)->EndLayer().ok());
  ASSERT_TRUE((*slow)->Finish().ok());
  EXPECT_EQ(cells_.files.size(), 1u);
  EXPECT_EQ(Find(kAda, "app")->layers, Find(kBob, "app")->layers);
}

TEST_F(ImageStoreTest, OneUserTakesInAFewLayersAtATime) {
  std::vector<std::unique_ptr<ImageImport>> imports;
  std::string why;
  for (const char* const layer : {"1", "2", "3", "4", "5"}) {
    auto import = store_->Import(OrderOf(kAda, layer, {layer}));
    ASSERT_TRUE(import.ok());
    why = (*import)->BeginLayer(DigestOf(layer)).message();
    imports.push_back(std::move(*import));
  }
  EXPECT_THAT(why, HasSubstr("4 are being taken in already of uid 1000"));
  EXPECT_EQ(Why(kBob, "app", {"base"}), "imported");
}

// ── Users ──

TEST_F(ImageStoreTest, ADigestGivesNobodyALayer) {
  ASSERT_TRUE(Import(kAda, "app", {"secret"}).ok());
  auto import = store_->Import(OrderOf(kBob, "mine", {"secret"}));
  ASSERT_TRUE(import.ok());
  EXPECT_THAT((*import)->wanted(), ElementsAre(DigestOf("secret")));
  EXPECT_THAT((*import)->Finish().status().message(), HasSubstr("is wanted, and did not come"));
  ASSERT_TRUE((*import)->BeginLayer(DigestOf("secret")).ok());
  ASSERT_TRUE((*import)->Add("guessd").ok());
  EXPECT_FALSE((*import)->EndLayer().ok());
  import->reset();
  // With its bytes it is only hashed.
  ASSERT_TRUE(Import(kBob, "mine", {"secret"}).ok());
  EXPECT_EQ(cells_.unpacked, 1);
  std::vector<std::string> wanted = {"x"};
  ASSERT_TRUE(Send(OrderOf(kBob, "again", {"secret"}), {}, &wanted).ok());
  EXPECT_THAT(wanted, IsEmpty());
}

TEST_F(ImageStoreTest, AUserSeesItsOwnImagesAndRoots) {
  ASSERT_TRUE(Import(kAda, "app", {"ada"}).ok());
  ASSERT_TRUE(Import(0, "base", {"root"}).ok());
  EXPECT_THAT(Names(kAda), UnorderedElementsAre("app:latest", "base:latest"));
  EXPECT_THAT(Names(kBob), ElementsAre("base:latest"));
  EXPECT_THAT(Names(kBob, /*all=*/true), UnorderedElementsAre("app:latest", "base:latest"));
  EXPECT_EQ(Find(kBob, "app").status().code(), Code::kNotFound);
  EXPECT_THAT(Find(kBob, "app").status().message(),
              HasSubstr("image.reference: app: uid 1001 has no such image, nor has root"));
  EXPECT_TRUE(Find(kBob, "base").ok());
  const std::string digest = store_->Inspect(kAda, "app")->image().digest();
  EXPECT_EQ(Find(kBob, digest).status().code(), Code::kNotFound);
  EXPECT_EQ(Find(kAda, "other:1@" + digest)->layers[0], DigestOf("ada").substr(7));
  EXPECT_EQ(Find(kBob, "app@" + digest).status().code(), Code::kNotFound);
  EXPECT_THAT(Find(kAda, "app@sha256:0").status().message(),
              HasSubstr("after @ give sha256: and 64 lower-case hex digits"));
  EXPECT_EQ(store_->Remove(kBob, "base").status().code(), Code::kPermissionDenied);
  // Its own name comes first.
  ASSERT_TRUE(Import(kBob, "base", {"bob"}).ok());
  EXPECT_EQ(Find(kBob, "base")->layers[0], DigestOf("bob").substr(7));
}

TEST_F(ImageStoreTest, LooksForProgramsOnceForEachImage) {
  ASSERT_TRUE(Import(kAda, "app", {"one"}).ok());
  const auto find = [this](std::vector<std::string> names) {
    return store_->Find({.reference = "app"}, names, kAda);
  };
  EXPECT_THAT(find({})->programs.files, IsEmpty());
  EXPECT_EQ(cells_.searches, 0);
  EXPECT_EQ(find({"sh", "cat"})->programs.files[0].path, "/usr/bin/cat");
  EXPECT_THAT(cells_.read_layers, ElementsAre(DigestOf("one").substr(7)));
  EXPECT_EQ(find({"cat", "sh", "cat"})->programs.files[0].path, "/usr/bin/cat");
  EXPECT_EQ(cells_.searches, 1);
  EXPECT_EQ(find({"missing"}).status().message(), "missing system tool: missing");
  // The name is another image now.
  ASSERT_TRUE(Import(kAda, "app", {"two"}).ok());
  EXPECT_TRUE(find({"cat", "sh"}).ok());
  EXPECT_EQ(cells_.searches, 3);
  EXPECT_THAT(cells_.read_layers, ElementsAre(DigestOf("two").substr(7)));
}

TEST_F(ImageStoreTest, WhoTheCommandsAre) {
  const std::string passwd = "passwd root:x:0:0::/:\nweb:x:33:44::/:\n";
  ASSERT_TRUE(Import(kAda, "app", {passwd, "group adm:x:4:\n", "x"}).ok());
  EXPECT_EQ(Find(kAda, "app")->user, 0u);
  EXPECT_EQ(Find(kAda, "app", "web")->user, 33u);
  EXPECT_EQ(Find(kAda, "app", "web")->group, 44u);
  EXPECT_EQ(Find(kAda, "app", "web:adm")->group, 4u);
  EXPECT_THAT(Find(kAda, "app", "www").status().message(),
              HasSubstr("image.user: www: the image has no such user in /etc/passwd; there are: "
                        "root, web"));
  // A later layer takes the file away.
  ASSERT_TRUE(Import(kAda, "bare", {passwd, "no accounts"}).ok());
  EXPECT_THAT(Find(kAda, "bare", "web").status().message(), HasSubstr("has no /etc/passwd"));
}

// ── Quota ──

TEST_F(ImageStoreTest, AUserHasAQuota) {
  rules_.quota = {8 * kMib, {}};
  ASSERT_EQ(Why(kAda, "four", {"1234"}), "imported");
  EXPECT_THAT(Why(kAda, "more", {"123456"}), HasSubstr("the image quota of uid 1000 has no room"));
  EXPECT_EQ(cells_.files.size(), 1u);
  EXPECT_EQ(Why(kBob, "more", {"123456"}), "imported");
  // One that is there already counts as one that is not.
  EXPECT_THAT(Why(kAda, "more", {"123456"}), HasSubstr("the image quota of uid 1000 has no room"));
  const auto list = store_->List(kAda, false);
  EXPECT_EQ(list->quota_bytes(), 8 * kMib);
  EXPECT_GT(list->used_bytes(), 4 * kMib);
  EXPECT_LT(list->used_bytes(), 5 * kMib);
  // Of a removed image it counts until its layers are gone.
  ASSERT_TRUE(store_->Remove(kAda, "four").ok());
  EXPECT_NE(Why(kAda, "more", {"123456"}), "imported");
  EXPECT_EQ(Collect(), 1u);
  EXPECT_EQ(Why(kAda, "more", {"123456"}), "imported");
}

TEST_F(ImageStoreTest, LayersOfNoImageCountToo) {
  rules_.quota = {8 * kMib, {}};
  EXPECT_NE(Why(kAda, "app", {"12345", "bad"}), "imported");
  EXPECT_THAT(Why(kAda, "app", {"12346"}), HasSubstr("has no room"));
}

TEST_F(ImageStoreTest, TheDefaultQuota) {
  EXPECT_EQ(store_->List(kAda, false)->quota_bytes(), uint64_t{20} << 30);
}

// ── What goes ──

TEST_F(ImageStoreTest, TheLastNameIsTheImages) {
  ASSERT_TRUE(Import(kAda, "app:1", {"base"}).ok());
  ASSERT_TRUE(Import(kAda, "app:2", {"base"}).ok());
  auto removed = store_->Remove(kAda, "app:1");
  EXPECT_THAT(removed->removed_names(), ElementsAre("app:1"));
  EXPECT_EQ(removed->removed_image(), "");
  removed = store_->Remove(kAda, "app:2");
  EXPECT_NE(removed->removed_image(), "");
  EXPECT_THAT(Names(kAda), IsEmpty());
  EXPECT_EQ(store_->List(kAda, false)->images_size(), 0);
  EXPECT_EQ(cells_.files.size(), 1u);
  EXPECT_EQ(Collect(), 1u);
  EXPECT_THAT(cells_.files, IsEmpty());
  Reopen();
  EXPECT_EQ(Find(kAda, "app:2").status().code(), Code::kNotFound);
}

TEST_F(ImageStoreTest, ByItsDigestAnImageGoesWithAllItsNames) {
  ASSERT_TRUE(Import(kAda, "app:1", {"base"}).ok());
  const auto image = Import(kAda, "app:2", {"base"});
  EXPECT_EQ(store_->Remove(kAda, "app:1@" + image->digest()).status().code(),
            Code::kInvalidArgument);
  EXPECT_THAT(store_->Remove(kAda, image->digest())->removed_names(),
              ElementsAre("app:1", "app:2"));
}

TEST_F(ImageStoreTest, CollectLeavesWhatAnotherImageHas) {
  ASSERT_TRUE(Import(kAda, "app", {"base", "ada"}).ok());
  ASSERT_TRUE(Import(kBob, "app", {"base", "bob"}).ok());
  ASSERT_TRUE(store_->Remove(kAda, "app").ok());
  EXPECT_EQ(Collect(), 1u);
  EXPECT_TRUE(Find(kBob, "app").ok());
  EXPECT_EQ(cells_.files.size(), 2u);
}

TEST_F(ImageStoreTest, CollectLeavesWhatALiveCellHas) {
  ASSERT_TRUE(Import(kAda, "app", {"base"}).ok());
  const std::string name = Find(kAda, "app")->layers[0];
  ASSERT_TRUE(store_->Remove(kAda, "app").ok());
  EXPECT_EQ(Collect({name}), 0u);
  EXPECT_EQ(cells_.files.size(), 1u);
  EXPECT_EQ(Collect(), 1u);
}

TEST_F(ImageStoreTest, CollectLeavesWhatACellIsMadeOf) {
  ASSERT_TRUE(Import(kAda, "app", {"base"}).ok());
  policy::ImageRoot root = {.reference = "app"};
  {
    const auto hold = store_->Use({"", "a", "command", "c"}, kAda, /*lasts=*/false, &root);
    ASSERT_TRUE(hold.ok());
    ASSERT_TRUE(store_->Remove(kAda, "app").ok());
    EXPECT_EQ(Collect(), 0u);
  }
  EXPECT_EQ(Collect(), 1u);
}

TEST_F(ImageStoreTest, CollectLeavesWhatAnImportWillHave) {
  ASSERT_TRUE(Import(kAda, "app", {"base"}).ok());
  const std::vector<std::string> layers = {"base", "top"};
  auto import = store_->Import(OrderOf(kAda, "next", layers));
  EXPECT_THAT((*import)->wanted(), ElementsAre(DigestOf("top")));
  ASSERT_TRUE(store_->Remove(kAda, "app").ok());
  EXPECT_EQ(Collect(), 0u);
  ASSERT_TRUE((*import)->BeginLayer(DigestOf("top")).ok());
  ASSERT_TRUE((*import)->Add("top").ok());
  ASSERT_TRUE((*import)->EndLayer().ok());
  EXPECT_TRUE((*import)->Finish().ok());
}

TEST_F(ImageStoreTest, CollectTriesAgainWhatItCouldNotRemove) {
  ASSERT_TRUE(Import(kAda, "app", {"base"}).ok());
  ASSERT_TRUE(store_->Remove(kAda, "app").ok());
  cells_.remove_status = Unavailable("no cell");
  EXPECT_EQ(store_->Collect([] { return std::set<std::string>(); }).status().message(), "no cell");
  cells_.remove_status = OkStatus();
  EXPECT_EQ(Collect(), 1u);
}

// ── Cells that last ──

TEST_F(ImageStoreTest, ACellKeepsItsImage) {
  const CellKey key = {"", "a", "command", "c"};
  const auto first = Import(kAda, "app", {"one"});
  policy::ImageRoot root = {.reference = "app"};
  ASSERT_TRUE(store_->Use(key, kAda, /*lasts=*/true, &root).ok());
  EXPECT_EQ(root.reference, first->digest());
  // The name moves, and then goes.
  const auto second = Import(kAda, "app", {"two"});
  ASSERT_TRUE(store_->Remove(kAda, first->digest()).ok());
  EXPECT_EQ(Collect(), 0u);
  Reopen();
  root.reference = "app";
  ASSERT_TRUE(store_->Use(key, kAda, true, &root).ok());
  EXPECT_EQ(root.reference, first->digest());
  EXPECT_TRUE(Find(kAda, root.reference).ok());
  root.reference = second->digest();
  EXPECT_THAT(store_->Use(key, kAda, true, &root).status().message(),
              HasSubstr("the cell's directories are of the image " + first->digest()));
  store_->ForgetUse(key);
  EXPECT_TRUE(store_->Use(key, kAda, true, &root).ok());
  EXPECT_EQ(Collect(), 1u);
}

TEST_F(ImageStoreTest, ACommitIsOneLayerMore) {
  const CellKey key = {"", "a", "command", "c"};
  ASSERT_TRUE(Import(0, "base", {"base"}, R"("Env":["A=b"])").ok());
  const CommitOrder order = {
      .key = key, .cell_tree = "tree", .owner_uid = kAda, .name = "mine:2", .comment = "a comment"};
  EXPECT_EQ(store_->Commit(order).status().message(),
            "key: the cell has no image, or no directories that last");
  policy::ImageRoot root = {.reference = "base"};
  ASSERT_TRUE(store_->Use(key, kAda, true, &root).ok());
  const auto image = store_->Commit(order);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_THAT(image->names(), ElementsAre("mine:2"));
  EXPECT_EQ(image->owner_uid(), kAda);
  ASSERT_EQ(image->layers_size(), 2);
  EXPECT_EQ(image->layers(1).digest(), DigestOf("changes of tree"));
  EXPECT_THAT(image->env(), ElementsAre("A=b"));
  const auto found = Find(kAda, "mine:2");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(cells_.files[found->layers[1]], "changes of tree");
  const auto inspected = store_->Inspect(kAda, "mine:2");
  EXPECT_EQ(DigestOf(inspected->manifest()), image->digest());
  EXPECT_THAT(inspected->config(), HasSubstr("a comment"));
  // Root may make an image of a user's cell, also of layers that it has not sent.
  ASSERT_TRUE(store_->Commit({.key = key, .cell_tree = "tree", .owner_uid = 0, .name = "r"}).ok());
}

TEST_F(ImageStoreTest, NothingStaysOfACommitThatFails) {
  const CellKey key = {"", "a", "command", "c"};
  ASSERT_TRUE(Import(kAda, "base", {"base"}).ok());
  policy::ImageRoot root = {.reference = "base"};
  ASSERT_TRUE(store_->Use(key, kAda, true, &root).ok());
  cells_.pack_status = InvalidArgument("entry \"dev/x\": it is a device");
  EXPECT_EQ(store_->Commit({.key = key, .cell_tree = "t", .owner_uid = kAda}).status().message(),
            "key: entry \"dev/x\": it is a device");
  EXPECT_EQ(cells_.files.size(), 1u);
}

TEST_F(ImageStoreTest, FilesAreReadOfAllLayers) {
  ASSERT_TRUE(Import(kAda, "app", {"base", "top"}).ok());
  LayerHold hold;
  const auto tar = store_->ReadFiles(kAda, "app", "/etc", &hold);
  ASSERT_TRUE(tar.ok());
  EXPECT_EQ(*(*tar)->Read(), "tar of /etc");
  EXPECT_EQ(cells_.read_layers.size(), 2u);
  EXPECT_THAT(store_->ReadFiles(kAda, "app", "etc/../x", &hold).status().message(),
              HasSubstr("path: etc/../x: give an absolute path"));
}

// ── Signatures ──

TEST_F(ImageStoreTest, ASignatureThatIsMissingNamesRuleAndKey) {
  rules_.require = {{"registry.test/*", "/no/such/key.pem", {"ceiling.yaml", 4}}};
  EXPECT_EQ(Why(kAda, "other/app", {"base"}), "imported");
  EXPECT_THAT(Why(kAda, "registry.test/app:1", {"base"}),
              HasSubstr("ceiling.yaml:4 wants a signature by the key /no/such/key.pem: "));
}

TEST_F(ImageStoreTest, ARuleHoldsForWhatWasThereBefore) {
  ASSERT_EQ(Why(kAda, "registry.test/app", {"base"}), "imported");
  rules_.require = {{"registry.test/app", "/no/such/key.pem", {"ceiling.yaml", 4}}};
  EXPECT_THAT(Find(kAda, "registry.test/app").status().message(),
              HasSubstr("image.reference: registry.test/app:latest: ceiling.yaml:4 wants"));
}

TEST_F(ImageStoreTest, ARuleHoldsForTheNameThatIsGivenWithADigest) {
  const std::string digest = Import(kAda, "other", {"base"})->digest();
  rules_.require = {{"registry.test/app", "/no/such/key.pem", {"ceiling.yaml", 4}}};
  EXPECT_TRUE(Find(kAda, "other@" + digest).ok());
  const std::string given = "registry.test/app@" + digest;
  const char* const why = "image.reference: registry.test/app:latest: ceiling.yaml:4 wants";
  EXPECT_THAT(Find(kAda, given).status().message(), HasSubstr(why));
  // A cell is made of the digest alone, once its image is in use.
  policy::ImageRoot root = {.reference = given};
  const CellKey key{"", "", "", "cell"};
  EXPECT_THAT(store_->Use(key, kAda, true, &root).status().message(), HasSubstr(why));
  EXPECT_FALSE(store_->UseOf(key).ok());
}

}  // namespace
}  // namespace odyssey::supervisor
