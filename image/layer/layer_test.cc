#include "image/layer/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "image/layer/test_tar.h"

namespace odyssey::image {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LayerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "layer-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    outside_ = path;
    root_ = path + "/root";
    ASSERT_EQ(mkdir(root_.c_str(), 0755), 0);
    std::ofstream(outside_ + "/secret") << "as it was";
  }
  void TearDown() override {
    std::ifstream in(outside_ + "/secret");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "as it was");
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(outside_))
      names.push_back(entry.path().filename());
    EXPECT_THAT(names, testing::UnorderedElementsAre("root", "secret"));
    fs::remove_all(outside_);
  }

  Result<LayerStats> Unpack(Tar& tar, const Bounds& bounds = {}) {
    const UniqueFd directory(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return UnpackLayer(tar.fd(), directory.get(), bounds);
  }
  std::string Why(Tar& tar, const Bounds& bounds = {}) {
    const Result<LayerStats> stats = Unpack(tar, bounds);
    return stats.ok() ? "unpacked" : stats.status().message();
  }
  std::string Content(const std::string& path) {
    const Result<std::string> text = ReadFile(root_ + "/" + path, 1 << 20);
    return text.ok() ? *text : "! " + text.status().message();
  }
  struct stat Look(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(lstat((root_ + "/" + path).c_str(), &info), 0) << path;
    return info;
  }

  std::string outside_, root_;
};

TEST_F(LayerTest, HasWhatTheTarHas) {
  Tar tar;
  tar.Directory("./", 0711).Directory("usr/bin").File("usr/bin/ls", "elf", 33);
  tar.Link("bin", "usr/bin").HardLink("usr/bin/dir", "usr/bin/ls").Add("run/pipe", AE_IFIFO, 0600);
  const Result<LayerStats> stats = Unpack(tar);
  ASSERT_TRUE(stats.ok()) << stats.status().message();
  EXPECT_EQ(stats->entries, 6u);
  EXPECT_EQ(stats->bytes, 3u);
  EXPECT_EQ(Look("").st_mode & 07777, 0711u);
  EXPECT_EQ(Content("bin/ls"), "elf");
  EXPECT_EQ(Look("usr/bin/ls").st_uid, 33u);
  EXPECT_EQ(Look("usr/bin/ls").st_mtime, 1'700'000'000);
  EXPECT_EQ(Look("usr/bin/ls").st_ino, Look("usr/bin/dir").st_ino);
  EXPECT_TRUE(S_ISFIFO(Look("run/pipe").st_mode));
  EXPECT_EQ(Look("run").st_mode & 07777, 0755u);
}

TEST_F(LayerTest, IsPackedWithGzipOrZstd) {
  for (const int filter : {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_ZSTD}) {
    Tar tar(filter);
    tar.File("f" + std::to_string(filter), "packed");
    ASSERT_EQ(Why(tar), "unpacked");
    EXPECT_EQ(Content("f" + std::to_string(filter)), "packed");
  }
}

TEST_F(LayerTest, NamesAreAsTheyAre) {
  Tar tar;
  const std::string long_name = std::string(200, 'n') + "/" + std::string(200, 'm');
  tar.File(long_name).File("größe").File("bad\xff").File("line\nfeed");
  ASSERT_EQ(Why(tar), "unpacked");
  for (const std::string& name :
       {long_name, std::string("größe"), std::string("bad\xff"), std::string("line\nfeed")}) {
    EXPECT_EQ(Content(name), "x") << name;
  }
}

TEST_F(LayerTest, HolesStay) {
  ASSERT_EQ(system(("cd " + root_ +
                    " && truncate -s 1G sparse && printf end >>sparse && "
                    "tar --sparse --format=pax -cf layer.tar sparse && rm sparse")
                       .c_str()),
            0);
  const UniqueFd tar(open((root_ + "/layer.tar").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd directory(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Result<LayerStats> stats = UnpackLayer(tar.get(), directory.get(), {});
  ASSERT_TRUE(stats.ok()) << stats.status().message();
  EXPECT_EQ(Look("sparse").st_size, (1 << 30) + 3);
  EXPECT_LT(Look("sparse").st_blocks, 1000);
  EXPECT_LT(stats->bytes, 1u << 20);
}

TEST_F(LayerTest, WhiteoutsAreThoseOfOverlayfs) {
  Tar tar;
  tar.File("etc/.wh.shadow", "")
      .File("var/.wh..wh..opq", "")
      .File("var/new")
      .File(".wh..wh.plnk", "");
  const Result<LayerStats> stats = Unpack(tar);
  ASSERT_TRUE(stats.ok()) << stats.status().message();
  EXPECT_EQ(stats->whiteouts, 1u);
  EXPECT_TRUE(S_ISCHR(Look("etc/shadow").st_mode));
  EXPECT_EQ(Look("etc/shadow").st_rdev, makedev(0, 0));
  char value[4] = "";
  EXPECT_EQ(getxattr((root_ + "/var").c_str(), "user.overlay.opaque", value, sizeof(value)), 1);
  EXPECT_EQ(value[0], 'y');
  EXPECT_EQ(Content("var/new"), "x");
}

TEST_F(LayerTest, SetIdBitsAreLeftOut) {
  Tar tar;
  tar.Add("su", AE_IFREG, 04755, "x").Add("wall", AE_IFREG, 02755, "x").Directory("tmp", 01777);
  const Result<LayerStats> stats = Unpack(tar);
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->set_id_files, 2u);
  EXPECT_EQ(Look("su").st_mode & 07777, 0755u);
  EXPECT_EQ(Look("wall").st_mode & 07777, 0755u);
  EXPECT_EQ(Look("tmp").st_mode & 07777, 01777u);
}

TEST_F(LayerTest, TheLastEntryOfAPathCounts) {
  Tar tar;
  tar.File("a", "1").File("a", "2").Link("b", "a").File("b", "3").File("c").Directory("c").File(
      "c/d");
  tar.Directory("e").Link("e", "a");
  ASSERT_EQ(Why(tar), "unpacked");
  EXPECT_EQ(Content("a"), "2");
  EXPECT_EQ(Content("b"), "3");
  EXPECT_EQ(Content("c/d"), "x");
  EXPECT_TRUE(S_ISLNK(Look("e").st_mode));
}

// In a user namespace, as it is used: without a capability of the host.
TEST_F(LayerTest, NeedsNoRightOfTheHost) {
  constexpr uid_t kBase = 0x30000000;
  ASSERT_EQ(chmod(outside_.c_str(), 0755), 0);
  ASSERT_EQ(chown(root_.c_str(), kBase, kBase), 0);
  Tar tar;
  tar.File("etc/.wh.shadow", "").File("var/.wh..wh..opq", "").File("home/ada", "x", 1000);
  const int fd = tar.fd();
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    if (unshare(CLONE_NEWUSER) != 0 || write(ready[1], "r", 1) != 1 || read(go[0], &byte, 1) != 1)
      _exit(2);
    if (setgid(0) != 0 || setuid(0) != 0) _exit(3);
    const UniqueFd directory(open(root_.c_str(), O_RDONLY | O_DIRECTORY));
    const Result<LayerStats> stats = UnpackLayer(fd, directory.get(), {});
    if (!stats.ok()) fprintf(stderr, "%s\n", stats.status().message().c_str());
    _exit(stats.ok() ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  for (const char* const map : {"uid_map", "gid_map"}) {
    std::ofstream("/proc/" + std::to_string(child) + "/" + map) << "0 " << kBase << " 65536";
  }
  ASSERT_EQ(write(go[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(S_ISCHR(Look("etc/shadow").st_mode));
  EXPECT_EQ(Look("home/ada").st_uid, kBase + 1000);
}

// Hostile layers. Each is refused by the name of its entry, and TearDown looks outside.

TEST_F(LayerTest, PathsThatLeave) {
  for (const char* const path : {"../secret", "a/../../secret", "/../secret", "a/.."}) {
    Tar tar;
    tar.File(path);
    EXPECT_EQ(Why(tar), "entry \"" + std::string(path) + "\": its path has \"..\"");
  }
}

TEST_F(LayerTest, ThroughALinkOfTheLayer) {
  for (const std::string& to : {outside_, std::string(".."), std::string("/"), std::string("d")}) {
    Tar tar;
    tar.Directory("d").Link("l", to).File("l/secret", "evil");
    EXPECT_EQ(Why(tar), "entry \"l/secret\": its path passes through a link or a file of the layer")
        << to;
  }
}

TEST_F(LayerTest, OverALinkOfTheLayer) {
  Tar tar;
  tar.Link("l", outside_ + "/secret").File("l", "evil");
  EXPECT_EQ(Why(tar), "unpacked");  // in place of the link
  EXPECT_EQ(Content("l"), "evil");
}

TEST_F(LayerTest, DirectoryOverALink) {
  Tar tar;
  tar.Link("l", outside_).Directory("l", 0700);
  EXPECT_EQ(Why(tar), "unpacked");
  EXPECT_TRUE(S_ISDIR(Look("l").st_mode));
}

TEST_F(LayerTest, OpaqueThroughALink) {
  Tar tar;
  tar.Link("l", outside_).File("l/.wh..wh..opq", "");
  EXPECT_EQ(Why(tar),
            "entry \"l/.wh..wh..opq\": its path passes through a link or a file of the layer");
  EXPECT_LT(getxattr(outside_.c_str(), "user.overlay.opaque", nullptr, 0), 0);
}

TEST_F(LayerTest, WhiteoutThroughALink) {
  Tar tar;
  tar.Link("l", outside_).File("l/.wh.secret", "");
  EXPECT_EQ(Why(tar),
            "entry \"l/.wh.secret\": its path passes through a link or a file of the layer");
}

TEST_F(LayerTest, HardLinksThatLeave) {
  for (const char* const to : {"../secret", "a/../../secret"}) {
    Tar tar;
    tar.HardLink("h", to);
    EXPECT_EQ(Why(tar), "entry \"h\": its path has \"..\"");
  }
  Tar absolute;
  absolute.HardLink("h", outside_ + "/secret");
  EXPECT_THAT(Why(absolute), HasSubstr("which is not there"));
  Tar through;
  through.Link("l", outside_).HardLink("h", "l/secret");
  EXPECT_EQ(Why(through), "entry \"h\": its path passes through a link or a file of the layer");
}

TEST_F(LayerTest, HardLinkToALink) {
  Tar tar;
  tar.Link("l", outside_ + "/secret").HardLink("h", "l").File("h", "evil");
  EXPECT_EQ(Why(tar), "unpacked");  // the link itself has two names, and loses one
  EXPECT_EQ(Content("h"), "evil");
}

TEST_F(LayerTest, HardLinkToADirectory) {
  Tar tar;
  tar.Directory("d").HardLink("h", "d");
  EXPECT_EQ(Why(tar), "entry \"h\": it is a hard link to \"d\", which is a directory");
}

TEST_F(LayerTest, HardLinkToItself) {
  Tar tar;
  tar.File("h", "x").HardLink("h", "h");
  EXPECT_EQ(Why(tar), "unpacked");
  EXPECT_EQ(Content("h"), "x");
}

TEST_F(LayerTest, Devices) {
  for (const unsigned type : {AE_IFCHR, AE_IFBLK}) {
    Tar tar;
    tar.Add("dev/null", type, 0666);
    EXPECT_EQ(Why(tar), "entry \"dev/null\": it is a device");
  }
}

TEST_F(LayerTest, OwnersBeyondTheRange) {
  for (const int64_t uid : {int64_t{65536}, int64_t{4294967295}}) {
    Tar tar;
    tar.File("f", "x", uid);
    EXPECT_EQ(Why(tar), "entry \"f\": its owner is " + std::to_string(uid) + ":" +
                            std::to_string(uid) + "; allowed: 0 to 65535");
  }
}

TEST_F(LayerTest, WhiteoutsOfNoName) {
  for (const char* const path : {".wh.", ".wh..", ".wh..."}) {
    Tar tar;
    tar.File(path, "");
    EXPECT_EQ(Why(tar), "entry \"" + std::string(path) + "\": it is a whiteout of no name");
  }
}

TEST_F(LayerTest, AWhiteoutAsADirectory) {
  Tar tar;
  tar.File(".wh.d/f");
  EXPECT_EQ(Why(tar), "entry \".wh.d/f\": its path has a whiteout as a directory");
}

TEST_F(LayerTest, AFileAsADirectory) {
  Tar tar;
  tar.File("f").File("f/g");
  EXPECT_EQ(Why(tar), "entry \"f/g\": its path passes through a link or a file of the layer");
}

TEST_F(LayerTest, AFileInPlaceOfAFullDirectory) {
  Tar tar;
  tar.File("d/f").File("d");
  EXPECT_EQ(Why(tar), "entry \"d\": a directory of the layer that is not empty has its path");
}

TEST_F(LayerTest, AFileInPlaceOfTheRoot) {
  Tar tar;
  tar.File(".");
  EXPECT_EQ(Why(tar), "entry \".\": the layer's root is a directory");
}

TEST_F(LayerTest, Deep) {
  std::string path;
  for (int i = 0; i < 300; ++i) path += "d/";
  Tar tar;
  tar.Directory(path);
  EXPECT_THAT(Why(tar), HasSubstr("its path has more than 256 names"));
}

TEST_F(LayerTest, TooManyEntries) {
  Tar tar;
  for (int i = 0; i < 11; ++i) tar.File("f" + std::to_string(i));
  EXPECT_EQ(Why(tar, {.entries = 10}), "the layer has more than 10 entries");
}

TEST_F(LayerTest, TooManyBytes) {
  Tar tar;
  tar.File("a", std::string(600, 'a')).File("b", std::string(600, 'b'));
  EXPECT_EQ(Why(tar, {.bytes = 1000}), "entry \"b\": the layer has more than 1000 bytes");
  Tar one;
  one.File("a", std::string(1001, 'a'));
  EXPECT_EQ(Why(one, {.bytes = 1000}), "entry \"a\": it has more than 1000 bytes");
}

TEST_F(LayerTest, ABombOfZeros) {
  Tar tar(ARCHIVE_FILTER_GZIP);
  tar.File("zeros", std::string(8 << 20, '\0'));
  EXPECT_EQ(Why(tar, {.free_bytes = 1 << 20}),
            "entry \"zeros\": the layer has more than 200 bytes for each byte of its tar");
}

TEST_F(LayerTest, ATarThatEnds) {
  Tar tar;
  tar.File("f", std::string(5000, 'x'));
  const int fd = tar.fd();
  ASSERT_EQ(ftruncate(fd, 2000), 0);
  const UniqueFd directory(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_THAT(UnpackLayer(fd, directory.get(), {}).status().message(), HasSubstr("the tar: "));
}

TEST_F(LayerTest, NoTarAtAll) {
  const UniqueFd file(memfd_create("x", MFD_CLOEXEC));
  ASSERT_TRUE(WriteAll(file.get(), "#!/bin/sh\necho no tar\n").ok());
  lseek(file.get(), 0, SEEK_SET);
  const UniqueFd directory(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_THAT(UnpackLayer(file.get(), directory.get(), {}).status().message(),
              HasSubstr("the tar: "));
}

}  // namespace
}  // namespace odyssey::image
