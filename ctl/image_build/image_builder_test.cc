#include "ctl/image_build/image_builder.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/sha256.h"
#include "ctl/image_build/prepared_build.h"
#include "ctl/image_build/temporary_file.h"
#include "image/repack/tar_writer.h"

namespace odyssey::ctl {
namespace {

using image::TarHeader;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A file of a fake image.
struct Node {
  TarHeader header;
  std::string content;
};
using Tree = std::map<std::string, Node>;  // by path without the slash in front

TarHeader Directory(mode_t mode, uint32_t uid = 0) {
  return {.type = S_IFDIR, .mode = mode, .uid = uid, .gid = uid};
}
Node File(const std::string& content) {
  return {{.type = S_IFREG, .mode = 0644, .size = content.size()}, content};
}
Node Link(const std::string& to) { return {{.type = S_IFLNK, .mode = 0777, .link = to}, ""}; }

// The store in memory: layers are what their tars say, laid over another.
class FakeStore final : public BuildStore {
 public:
  // Returns its digest.
  std::string AddImage(const std::string& name, const Tree& tree,
                       const std::string& config = R"({"Env": ["PATH=/bin"]})") {
    const std::string layer = "sha256:" + Sha256Hex("layer of " + name);
    layers_[layer] = tree;
    const std::string text = R"({"architecture": ")" + OwnArchitecture() +
                             R"(", "os": "linux", "config": )" + config +
                             R"(, "rootfs": {"type": "layers", "diff_ids": [")" + layer + R"("]}})";
    const std::string manifest =
        R"({"schemaVersion": 2, "config": {"digest": "sha256:)" + Sha256Hex(text) +
        R"(", "size": 1}, "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar",)" +
        R"( "digest": ")" + layer + R"(", "size": 1}]})";
    return Put(name, manifest, text);
  }

  // What the image has.
  Tree TreeOf(const std::string& digest) const {
    Tree tree;
    const auto manifest = image::ReadManifest(images_.at(digest).manifest);
    for (const image::Layer& layer : manifest->layers) {
      for (const auto& [path, node] : layers_.at(layer.blob.digest)) {
        if (S_ISDIR(node.header.type) && tree.count(path) != 0) {
          // As overlayfs shows it: the upper one's mode and owner.
          tree[path].header = node.header;
        } else {
          tree[path] = node;
        }
      }
    }
    return tree;
  }
  nlohmann::json ConfigOf(const std::string& digest) const {
    return nlohmann::json::parse(images_.at(digest).config)["config"];
  }
  std::vector<std::string> digests() const {
    std::vector<std::string> out;
    for (const auto& [digest, image] : images_) out.push_back(digest);
    return out;
  }

  Result<StoredImage> Inspect(const std::string& reference) override {
    const auto named =
        names_.find(reference.find(':') == std::string::npos ? reference + ":latest" : reference);
    const auto found = images_.find(named == names_.end() ? reference : named->second);
    if (found == images_.end()) return NotFound("no image");
    StoredImage image = found->second;
    for (const auto& [name, digest] : names_) {
      if (digest == image.digest) image.names.push_back(name);
    }
    return image;
  }
  bool MayPull(const std::string& reference) const override {
    return registry.count(reference) != 0;
  }
  Status Pull(const std::string& reference) override {
    pulled.push_back(reference);
    if (registry.at(reference).empty()) return Unavailable("pull: the registry is down");
    AddImage(reference, registry.at(reference));
    return OkStatus();
  }
  Result<std::string> Import(const std::string& name, const std::string& manifest,
                             const std::string& config, const NewLayer* layer) override {
    const auto read = image::ReadManifest(manifest);
    if (!read.ok()) return read.status();
    for (const image::Layer& one : read->layers) {
      if (layers_.count(one.blob.digest) != 0) continue;
      if (layer == nullptr || layer->blob.digest != one.blob.digest) {
        return FailedPrecondition("a layer is missing");
      }
      layers_[one.blob.digest] = Unpack(layer->file);
    }
    return Put(name, manifest, config);
  }
  Status ReadFiles(const std::string& image, const std::string& path,
                   const std::function<Result<bool>(std::string_view)>& sink) override {
    const Tree tree = TreeOf(image);
    const std::string top = path.substr(1);
    if (!top.empty() && tree.count(top) == 0) return NotFound(path);
    const UniqueFd file = *MakeTemporaryFile();
    image::TarWriter writer(file.get());
    const std::string name = top.substr(top.rfind('/') + 1);
    if (top.empty()) {
      EXPECT_TRUE(writer.Begin({.path = ".", .type = S_IFDIR}).ok());
    }
    for (const auto& [at, node] : tree) {
      const bool below = top.empty() || at == top || at.starts_with(top + "/");
      if (!below) continue;
      TarHeader header = node.header;
      header.path = top.empty() ? at : name + at.substr(top.size());
      EXPECT_TRUE(writer.Begin(header).ok());
      EXPECT_TRUE(writer.Data(node.content).ok());
    }
    EXPECT_TRUE(writer.Finish().ok());
    lseek(file.get(), 0, SEEK_SET);
    std::string buffer(4096, '\0');
    for (ssize_t n = 0; (n = read(file.get(), buffer.data(), buffer.size())) > 0;) {
      const Result<bool> more = sink(std::string_view(buffer).substr(0, static_cast<size_t>(n)));
      if (!more.ok()) return more.status();
      if (!*more) return OkStatus();
    }
    return OkStatus();
  }
  Status Remove(const std::string& reference) override {
    return images_.erase(reference) == 1 ? OkStatus() : NotFound(reference);
  }
  Result<CommandResult> Run(const BuildCommand& command) override {
    commands.push_back(command);
    environments.push_back(ConfigOf(command.image)["Env"]);
    if (fail) return *fail;
    const StoredImage& before = images_.at(command.image);
    const std::string layer =
        "sha256:" + Sha256Hex("run " + std::to_string(commands.size()) + before.digest);
    layers_[layer] = {{"run-" + std::to_string(commands.size()), File("x")}};
    auto manifest = nlohmann::json::parse(before.manifest);
    auto config = nlohmann::json::parse(before.config);
    manifest["layers"].push_back(
        {{"mediaType", "application/vnd.oci.image.layer.v1.tar"}, {"digest", layer}, {"size", 1}});
    config["rootfs"]["diff_ids"].push_back(layer);
    return CommandResult{0, "", Put("", manifest.dump(), config.dump())};
  }

  std::vector<BuildCommand> commands;
  std::vector<nlohmann::json> environments;  // of their images
  std::optional<CommandResult> fail;
  std::map<std::string, Tree> registry;  // a name without files: its pull fails
  std::vector<std::string> pulled;

 private:
  std::string Put(const std::string& name, const std::string& manifest, const std::string& config) {
    const std::string digest = "sha256:" + Sha256Hex(manifest);
    images_[digest] = {digest, {}, manifest, config};
    if (!name.empty()) {
      names_[name.find(':') == std::string::npos ? name + ":latest" : name] = digest;
    }
    return digest;
  }

  static Tree Unpack(int file) {
    Tree tree;
    archive* const reader = archive_read_new();
    archive_read_support_format_tar(reader);
    EXPECT_EQ(archive_read_open_fd(reader, file, 4096), ARCHIVE_OK);
    archive_entry* entry = nullptr;
    while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
      std::string path = archive_entry_pathname(entry);
      if (path.ends_with('/')) path.pop_back();
      Node node;
      node.header.type = archive_entry_filetype(entry);
      node.header.mode = archive_entry_perm(entry);
      node.header.uid = static_cast<uint32_t>(archive_entry_uid(entry));
      node.header.gid = static_cast<uint32_t>(archive_entry_gid(entry));
      node.header.size = static_cast<uint64_t>(archive_entry_size(entry));
      if (const char* to = archive_entry_symlink(entry)) node.header.link = to;
      node.content.resize(node.header.size);
      EXPECT_EQ(archive_read_data(reader, node.content.data(), node.content.size()),
                static_cast<la_ssize_t>(node.content.size()));
      tree[path] = std::move(node);
    }
    archive_read_free(reader);
    return tree;
  }

  std::map<std::string, Tree> layers_;
  std::map<std::string, StoredImage> images_;
  std::map<std::string, std::string> names_;  // → digest
};

class ImageBuilderTest : public testing::Test {
 protected:
  ImageBuilderTest() {
    char name[] = "/tmp/odyssey-build-XXXXXX";
    directory_ = mkdtemp(name);
    store_.AddImage("base:1", {{"bin", {Directory(0755), ""}},
                               {"bin/sh", File("shell")},
                               {"etc", {Directory(0755), ""}},
                               {"etc/passwd", File("root:x:0:0::/root:\nme:x:7:8::/:\n")},
                               {"etc/group", File("us:x:9:\n")},
                               {"data", {Directory(01777, 5), ""}},
                               {"lib", Link("usr/lib")},
                               {"usr", {Directory(0755), ""}},
                               {"usr/lib", {Directory(0711, 3), ""}},
                               {"var", {Directory(0755), ""}},
                               {"var/out", Link("../../../../data")},
                               {"loop", Link("loop")}});
  }
  ~ImageBuilderTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& path, const std::string& content) {
    const std::filesystem::path whole = directory_ + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << content;
  }

  Result<std::unique_ptr<PreparedBuild>> Prepare(const std::string& text,
                                                 const BuildArguments& arguments = {},
                                                 const std::string& target = "") {
    problems_.clear();
    BuildFiles files{"Dockerfile", text, ".dockerignore", ignore_, {}};
    files.directory = UniqueFd(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return PreparedBuild::Make(std::move(files), arguments, target, &store_, -1, &problems_);
  }
  Result<std::string> Build(const std::string& text, const BuildArguments& arguments = {},
                            const std::string& target = "") {
    const auto prepared = Prepare(text, arguments, target);
    if (!prepared.ok()) return prepared.status();
    return (*prepared)->Build(
        &store_, {}, -1, [this](size_t step, size_t steps, const std::string& line) {
          steps_.push_back(std::to_string(step) + "/" + std::to_string(steps) + " " + line);
        });
  }
  // Of a build that has to succeed.
  Tree Built(const std::string& text, const BuildArguments& arguments = {}) {
    const Result<std::string> digest = Build(text, arguments);
    EXPECT_TRUE(digest.ok()) << digest.status().ToString() << testing::PrintToString(problems_);
    if (!digest.ok()) return {};
    digest_ = *digest;
    return store_.TreeOf(*digest);
  }
  std::string WhyNot(const std::string& text) {
    const Result<std::string> digest = Build(text);
    EXPECT_FALSE(digest.ok()) << text;
    return problems_.empty() ? digest.status().message() : testing::PrintToString(problems_);
  }

  FakeStore store_;
  std::string directory_, ignore_, digest_;
  std::vector<std::string> problems_, steps_;
};

TEST_F(ImageBuilderTest, CopiesWhatIsNotIgnored) {
  Write("a.txt", "one");
  Write("src/b.c", "two");
  Write("src/deep/c.c", "three");
  Write("secret/key", "no");
  ignore_ = "secret\n";
  const Tree tree = Built("FROM base:1\nCOPY . /app/\n");
  EXPECT_EQ(tree.at("app/a.txt").content, "one");
  EXPECT_EQ(tree.at("app/src/deep/c.c").content, "three");
  EXPECT_EQ(tree.count("app/secret"), 0u);
  EXPECT_EQ(tree.at("app").header.uid, 0u);
}

TEST_F(ImageBuilderTest, PlacesAsDockerDoes) {
  Write("a", "A");
  Write("b", "B");
  Write("d/e", "E");
  const Tree tree = Built(
      "FROM base:1\nWORKDIR /w\nCOPY a x\nCOPY a y/\nCOPY a b z/\nCOPY d /dd\nCOPY a /data\n"
      "COPY ? /wild/\nCOPY [\"a\", \"/j k\"]\n");
  EXPECT_EQ(tree.at("w/x").content, "A");
  EXPECT_EQ(tree.at("w/y/a").content, "A");
  EXPECT_EQ(tree.at("w/z/b").content, "B");
  EXPECT_EQ(tree.at("dd/e").content, "E");
  EXPECT_EQ(tree.at("data/a").content, "A");
  EXPECT_EQ(tree.at("wild/a").content, "A");
  EXPECT_EQ(tree.at("wild/e").content, "E");
  EXPECT_EQ(tree.at("j k").content, "A");
}

TEST_F(ImageBuilderTest, KeepsModeAndOwnerOfDirectoriesOfTheImage) {
  Write("a", "A");
  Write("tree/data/b", "B");
  const Tree tree = Built("FROM base:1\nCOPY a /data/\nCOPY --chown=7 tree /\n");
  EXPECT_EQ(tree.at("data").header.mode, 01777u);
  EXPECT_EQ(tree.at("data").header.uid, 5u);
  EXPECT_EQ(tree.at("data/b").header.uid, 7u);
}

// As inside the image's root: "/var/out/x" is "/data/x", and nothing of the host.
TEST_F(ImageBuilderTest, FollowsLinksOfTheDestinationInsideTheImage) {
  Write("a", "A");
  const Tree tree = Built("FROM base:1\nCOPY a /lib/a\nCOPY a /var/out/x\nWORKDIR /lib/w\n");
  EXPECT_EQ(tree.at("usr/lib/a").content, "A");
  EXPECT_EQ(tree.at("usr/lib").header.mode, 0711u);
  EXPECT_TRUE(S_ISLNK(tree.at("lib").header.type));
  EXPECT_EQ(tree.at("data/x").content, "A");
  EXPECT_TRUE(S_ISDIR(tree.at("usr/lib/w").header.type));
  Write("root/lib/z", "Z");
  EXPECT_EQ(
      WhyNot("FROM base:1\nCOPY root /\n"),
      "Dockerfile:2: COPY root /: /lib: is a link in the image, to usr/lib, which a directory "
      "would hide; copy to where it leads");
  EXPECT_EQ(WhyNot("FROM base:1\nCOPY a /loop/x\n"),
            "Dockerfile:2: COPY a /loop/x: /loop/x: goes through too many links");
  EXPECT_EQ(WhyNot("FROM base:1\nCOPY a /bin/sh/x\n"),
            "Dockerfile:2: COPY a /bin/sh/x: /bin/sh: is no directory in the image");
}

// What leads out of the context is not followed, in whichever component.
TEST_F(ImageBuilderTest, FollowsNoLinkOutOfTheContext) {
  Write("in/a", "A");
  std::filesystem::create_symlink("/etc", directory_ + "/etc");
  std::filesystem::create_symlink("../../../../etc", directory_ + "/up");
  std::filesystem::create_symlink("in", directory_ + "/within");
  EXPECT_THAT(WhyNot("FROM base:1\nCOPY etc/passwd /x\n"),
              HasSubstr("leads out of the context, by the link etc"));
  EXPECT_THAT(WhyNot("FROM base:1\nCOPY up /x\n"), HasSubstr("up: leads out of the context"));
  EXPECT_THAT(WhyNot("FROM base:1\nCOPY ../x /x\n"), HasSubstr("is not in the context"));
  const Tree tree = Built("FROM base:1\nCOPY within/a /x\nCOPY . /all/\n");
  EXPECT_EQ(tree.at("x").content, "A");
  EXPECT_EQ(tree.at("all/etc").header.link, "/etc");  // as a link
}

TEST_F(ImageBuilderTest, RefusesSocketsByName) {
  ASSERT_EQ(mkfifo((directory_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(WhyNot("FROM base:1\nCOPY . /x/\n"), "pipe: is a FIFO; leave it out by .dockerignore");
  ignore_ = "pipe";
  Write("a", "A");
  EXPECT_EQ(Built("FROM base:1\nCOPY . /x/\n").at("x/a").content, "A");
}

TEST_F(ImageBuilderTest, OwnersAndModes) {
  Write("a", "A");
  const Tree tree = Built(
      "FROM base:1\nARG WHO=me\nCOPY --chown=$WHO a /a\nCOPY --chown=me:us --chmod=750 a /b\n"
      "COPY --chown=12:13 a /new/c\n");
  EXPECT_EQ(tree.at("a").header.uid, 7u);
  EXPECT_EQ(tree.at("a").header.gid, 7u);
  EXPECT_EQ(tree.at("b").header.gid, 9u);
  EXPECT_EQ(tree.at("b").header.mode, 0750u);
  EXPECT_EQ(tree.at("new/c").header.gid, 13u);
  EXPECT_EQ(tree.at("new").header.uid, 12u);
  EXPECT_EQ(WhyNot("FROM base:1\nCOPY --chown=you a /x\n"),
            "Dockerfile:2: COPY --chown=you a /x: --chown=you: user you: the image's /etc/passwd "
            "has none");
}

TEST_F(ImageBuilderTest, HeredocsBecomeFiles) {
  const Tree tree = Built(
      "FROM base:1\nENV X=1\nCOPY <<one <<'two' /d/\n$X\none\n$X\ntwo\nCOPY <<EOF "
      "/e\nhello\nEOF\n");
  EXPECT_EQ(tree.at("d/one").content, "1\n");
  EXPECT_EQ(tree.at("d/two").content, "$X\n");
  EXPECT_EQ(tree.at("e").content, "hello\n");
}

TEST_F(ImageBuilderTest, AddUnpacksArchives) {
  Write("in/deep/f", "F");
  Write("plain.tar", "no archive");
  const std::string tar = "cd " + directory_ + " && tar --owner=21 --group=22 -c";
  ASSERT_EQ(system((tar + "zf a.tar.gz -C in . && tar cJf b.tar.xz in && tar cjf c.tar.bz2 in && "
                          "tar cf d.tar in")
                       .c_str()),
            0);
  const Tree tree = Built(
      "FROM base:1\nADD a.tar.gz b.tar.xz plain.tar /x/\nADD c.tar.bz2 /y\nADD d.tar /\n"
      "COPY d.tar /d.tar\n");
  EXPECT_EQ(tree.at("x/deep/f").content, "F");
  EXPECT_EQ(tree.at("x/deep/f").header.uid, 21u);
  EXPECT_EQ(tree.at("x/in/deep/f").content, "F");
  EXPECT_EQ(tree.at("x/plain.tar").content, "no archive");
  EXPECT_EQ(tree.at("y/in/deep/f").content, "F");
  EXPECT_EQ(tree.at("in/deep/f").content, "F");
  EXPECT_TRUE(S_ISREG(tree.at("d.tar").header.type));
}

TEST_F(ImageBuilderTest, RefusesArchivesThatLeave) {
  Write("f", "F");
  ASSERT_EQ(system(("cd " + directory_ + " && tar -cPf a.tar --transform 's,^,../../,' f").c_str()),
            0);
  EXPECT_THAT(WhyNot("FROM base:1\nADD a.tar /x/\n"),
              HasSubstr(R"(a.tar: entry "../../f": its path has "..")"));
  ASSERT_EQ(system(("cd " + directory_ + " && tar -cf a.tar --transform 's,^,.wh.,' f").c_str()),
            0);
  EXPECT_THAT(WhyNot("FROM base:1\nADD a.tar /x/\n"), HasSubstr("begins with .wh."));
}

TEST_F(ImageBuilderTest, StagesAndImages) {
  store_.AddImage("tools", {{"opt", {Directory(0755), ""}},
                            {"opt/t1", {{.type = S_IFREG, .mode = 0755, .uid = 4, .size = 1}, "1"}},
                            {"opt/t2", File("2")},
                            {"opt/l", Link("t1")},
                            {"o", Link("opt")}});
  Write("a", "A");
  const Tree tree = Built(
      "FROM base:1 AS one\nCOPY a /out/a\nFROM base:1 AS unused\nRUN false\nFROM scratch\n"
      "COPY --from=one /out /x\nCOPY --from=0 /out/a /y\nCOPY --from=tools /o/t1 /t/\n"
      "COPY --from=tools /opt/t? /w/\nCOPY --from=tools /opt/l /linked\n");
  EXPECT_EQ(tree.at("x/a").content, "A");
  EXPECT_EQ(tree.at("y").content, "A");
  EXPECT_EQ(tree.at("t/t1").header.uid, 4u);  // as it is there
  EXPECT_EQ(tree.at("w/t2").content, "2");
  EXPECT_EQ(tree.at("linked").content, "1");
  EXPECT_EQ(tree.count("bin/sh"), 0u);
  EXPECT_THAT(store_.commands, IsEmpty());  // of a stage that is not needed
  EXPECT_EQ(steps_.front(), "1/8 FROM base:1 AS one");
  EXPECT_EQ(steps_.back(), "8/8 COPY --from=tools /opt/l /linked");
  EXPECT_THAT(WhyNot("FROM base:1\nCOPY --from=tools /none /x\n"),
              HasSubstr("Dockerfile:2: COPY --from=tools /none /x: /none: the image has none"));
}

TEST_F(ImageBuilderTest, CommandsRunAsTheFileSays) {
  Built(
      "FROM base:1\nARG A=1\nENV B=$A C=x\nRUN one\nUSER me\nWORKDIR /w/d\nRUN [\"two\", \"$B\"]\n"
      "SHELL [\"/bin/bash\", \"-ec\"]\nRUN three\nRUN <<EOF\na\nb\nEOF\nRUN cat <<EOF "
      ">f\nz\nEOF\n");
  ASSERT_EQ(store_.commands.size(), 5u);
  const BuildCommand& one = store_.commands[0];
  EXPECT_THAT(one.argv, ElementsAre("/bin/sh", "-c", "one"));
  EXPECT_EQ(one.user, "0");
  EXPECT_EQ(one.directory, "/");
  EXPECT_EQ(one.environment, (std::map<std::string, std::string>{{"A", "1"}, {"HOME", "/root"}}));
  EXPECT_EQ(store_.commands[1].environment.at("HOME"), "/");
  EXPECT_EQ(store_.environments[0], (nlohmann::json{"PATH=/bin", "B=1", "C=x"}));
  EXPECT_EQ(one.comment, "RUN one");
  EXPECT_THAT(store_.commands[1].argv, ElementsAre("two", "$B"));
  EXPECT_EQ(store_.commands[1].user, "me");
  EXPECT_EQ(store_.commands[1].directory, "/w/d");
  EXPECT_THAT(store_.commands[2].argv, ElementsAre("/bin/bash", "-ec", "three"));
  EXPECT_THAT(store_.commands[3].argv, ElementsAre("/bin/bash", "-ec", "a\nb\n"));
  EXPECT_THAT(store_.commands[4].argv, ElementsAre("/bin/bash", "-ec", "cat <<EOF >f\nz\nEOF\n"));
}

TEST_F(ImageBuilderTest, Configuration) {
  Built(
      "FROM base:1\nENV A=1\nENV A=2 D=$A PATH=/x:$PATH\nLABEL l=\"a b\" l2=$D\nEXPOSE 80 53/udp "
      "90-91\n"
      "VOLUME /v\nSTOPSIGNAL SIGINT\nENTRYPOINT [\"/e\"]\nCMD x y\nUSER me:us\nMAINTAINER one "
      "two\n");
  const nlohmann::json config = store_.ConfigOf(digest_);
  EXPECT_EQ(config["Env"], (nlohmann::json{"PATH=/x:/bin", "A=2", "D=1"}));
  EXPECT_EQ(config["Labels"], (nlohmann::json{{"l", "a b"}, {"l2", "1"}}));
  EXPECT_EQ(config["ExposedPorts"].size(), 4u);
  EXPECT_EQ(config["Entrypoint"], nlohmann::json{"/e"});
  EXPECT_EQ(config["Cmd"], (nlohmann::json{"/bin/sh", "-c", "x y"}));
  EXPECT_EQ(config["User"], "me:us");
  EXPECT_EQ(config["StopSignal"], "SIGINT");
  EXPECT_TRUE(config["Volumes"].contains("/v"));
  EXPECT_EQ(WhyNot("FROM base:1\nEXPOSE 0\n"),
            "Dockerfile:2: EXPOSE 0: 0: expected PORT, PORT-PORT, and /tcp, /udp or /sctp");
}

TEST_F(ImageBuilderTest, ScopesOfArguments) {
  store_.AddImage("other:2", {{"o", File("o")}});
  const std::string text =
      "ARG BASE=base:1\nARG G=global\nFROM $BASE AS a\nARG G\nARG L=local\nENV "
      "O=$G-$L-$TARGETARCH-\n"
      "FROM $BASE\nENV O=$G-${L:-none}\n";
  Built(text);
  EXPECT_EQ(store_.ConfigOf(digest_)["Env"][1], "O=-none");
  Result<std::string> a = Build(text, {}, "a");
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(store_.ConfigOf(*a)["Env"][1], "O=global-local--");
  a = Build(text, {{"G", "given"}, {"L", ""}}, "0");
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(store_.ConfigOf(*a)["Env"][1], "O=given---");
  const Tree other = Built(text, {{"BASE", "other:2"}});
  EXPECT_EQ(other.count("o"), 1u);
  EXPECT_EQ(Build(text, {{"NONE", "1"}}).status().message(),
            "--build-arg NONE: no ARG has this name");
  EXPECT_EQ(Build(text, {}, "b").status().message(), "--target b: no stage has this name");
}

TEST_F(ImageBuilderTest, NothingStaysOfAFailedBuild) {
  const std::vector<std::string> before = store_.digests();
  Write("a", "A");
  store_.fail = CommandResult{3, "", ""};
  EXPECT_EQ(WhyNot("FROM base:1\nCOPY a /a\n\nRUN make \\\n  all\n"),
            "Dockerfile:4: RUN make   all: exit code 3");
  EXPECT_EQ(store_.digests(), before);
  store_.fail = CommandResult{0, "timed out", ""};
  EXPECT_EQ(WhyNot("FROM base:1\nRUN x\n"), "Dockerfile:2: RUN x: timed out");
  store_.fail.reset();
  // Of one that succeeds, its image.
  Built("FROM base:1\nCOPY a /a\nRUN x\nENV B=1\n");
  std::vector<std::string> after = before;
  after.push_back(digest_);
  EXPECT_THAT(store_.digests(), testing::UnorderedElementsAreArray(after));
}

TEST_F(ImageBuilderTest, ReportsAllThatIsMissing) {
  EXPECT_EQ(
      WhyNot("FROM none AS a\nFROM none:2\nCOPY --from=a / /\nCOPY --from=third /x /\n"),
      "{ \"Dockerfile:1: FROM none AS a: no such image in the store; odyssey-ctl image pull "
      "fetches one\", \"Dockerfile:2: FROM none:2: no such image in the store; odyssey-ctl "
      "image pull fetches one\", \"Dockerfile:4: COPY --from=third /x /: no such image in the "
      "store; odyssey-ctl image pull fetches one\" }");
  EXPECT_THAT(WhyNot("FROM " + std::string(457, 'a') + "\n"),
              HasSubstr("457 bytes; at most 456 are allowed"));
  EXPECT_THAT(WhyNot("FROM --platform=linux/none base:1\n"),
              HasSubstr("Dockerfile:1: FROM --platform=linux/none base:1: --platform=linux/none: "
                        "only linux/" +
                        OwnArchitecture()));
  store_.AddImage("triggers", {}, R"({"OnBuild": ["RUN x"]})");
  EXPECT_THAT(WhyNot("FROM triggers\nRUN x\n"), HasSubstr("has ONBUILD instructions"));
  EXPECT_EQ(WhyNot("FROM scratch\nENV A=1\n"), "Dockerfile: the image would have no file");
}

TEST_F(ImageBuilderTest, WhatIsMissingIsPulledOnceTheRestIsRight) {
  store_.registry = {{"r.test/a:1", {{"a", File("A")}}}, {"r.test/b:1", {{"b", File("B")}}}};
  const std::string text = "FROM r.test/a:1\nCOPY --from=r.test/b:1 /b /\nRUN x\n";
  const auto prepared = Prepare(text);
  ASSERT_TRUE(prepared.ok()) << prepared.status().ToString();
  EXPECT_THAT(store_.pulled, IsEmpty());
  EXPECT_TRUE((*prepared)->has_missing());
  EXPECT_THAT((*prepared)->bases(),
              ElementsAre("r.test/a:1 (pulled first)", "r.test/b:1 (pulled first)"));
  const std::string before = (*prepared)->key();

  ASSERT_TRUE((*prepared)->PullMissing(&store_).ok());
  EXPECT_THAT(store_.pulled, ElementsAre("r.test/a:1", "r.test/b:1"));
  EXPECT_FALSE((*prepared)->has_missing());
  EXPECT_THAT((*prepared)->bases(),
              ElementsAre(HasSubstr("r.test/a:1 (sha256:"), HasSubstr("r.test/b:1 (sha256:")));
  EXPECT_NE((*prepared)->key(), before);
  EXPECT_EQ((*prepared)->key(), (*Prepare(text))->key());
  EXPECT_THAT(Built(text), testing::Contains(testing::Key("b")));
  EXPECT_EQ(store_.pulled.size(), 2u);
}

TEST_F(ImageBuilderTest, NothingIsPulledForABuildThatIsWrong) {
  store_.registry = {{"r.test/a:1", {{"a", File("A")}}}};
  EXPECT_THAT(WhyNot("FROM r.test/a:1\nCOPY --from=none /b /\n"), HasSubstr("Dockerfile:2: "));
  EXPECT_THAT(store_.pulled, IsEmpty());
}

TEST_F(ImageBuilderTest, AFailedPullNamesTheLine) {
  store_.registry = {{"r.test/down:1", {}}};
  const auto prepared = Prepare("FROM scratch AS x\nFROM r.test/down:1\n");
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ((*prepared)->PullMissing(&store_).message(),
            "Dockerfile:2: FROM r.test/down:1: pull: the registry is down");
}

TEST_F(ImageBuilderTest, TheKeyIsOfAllThatCounts) {
  Write("a", "A");
  Write("ignored", "1");
  ignore_ = "ignored";
  const std::string text = "FROM base:1\nARG X\nCOPY a /a\n";
  const auto key = [&](const BuildArguments& arguments = {}) {
    return (*Prepare(text, arguments))->key();
  };
  const std::string first = key();
  Write("ignored", "2");
  EXPECT_EQ(key(), first);
  EXPECT_NE(key({{"X", "1"}}), first);
  EXPECT_NE((*Prepare(text + "\n"))->key(), first);
  Write("a", "B");
  const std::string changed = key();
  EXPECT_NE(changed, first);
  std::filesystem::permissions(directory_ + "/a", std::filesystem::perms::owner_all);
  EXPECT_NE(key(), changed);
  Write("a", "A");
  std::filesystem::permissions(directory_ + "/a", std::filesystem::perms(0644));
  EXPECT_EQ(key(), first);
  store_.AddImage("base:1", {{"x", File("another base")}}, "{}");
  EXPECT_NE(key(), first);
}

TEST_F(ImageBuilderTest, FindsWhatItHasBuilt) {
  Write("a", "A");
  const auto build = [&](std::vector<std::string> names) {
    const auto prepared = Prepare("FROM base:1\nCOPY a /a\nRUN x\n");
    const auto built = BuildOrFind(**prepared, "kept", std::move(names), true, &store_, -1,
                                   [](size_t, size_t, const std::string&) {});
    EXPECT_TRUE(built.ok()) << built.status().ToString();
    return *built;
  };
  const BuiltImage first = build({"app"});
  EXPECT_FALSE(first.cached);
  EXPECT_EQ(store_.Inspect("app")->digest, first.digest);
  const BuiltImage second = build({"again:2"});
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.digest, first.digest);
  EXPECT_EQ(store_.Inspect("again:2")->digest, first.digest);
  EXPECT_EQ(store_.commands.size(), 1u);
  Write("a", "B");
  EXPECT_FALSE(build({"app"}).cached);
  EXPECT_EQ(store_.commands.size(), 2u);
}

// Between the digest that was approved and the copy.
TEST_F(ImageBuilderTest, RefusesAFileThatChangedSinceItWasRead) {
  Write("a", "A");
  const auto prepared = Prepare("FROM base:1\nCOPY a /a\n");
  ASSERT_TRUE(prepared.ok());
  Write("a", "B");
  const Result<std::string> built =
      (*prepared)->Build(&store_, {}, -1, [](size_t, size_t, const std::string&) {});
  EXPECT_EQ(built.status().message(),
            "Dockerfile:2: COPY a /a: a: changed while the image was built");
}

}  // namespace
}  // namespace odyssey::ctl
