#include "image/layer/pack.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "image/layer/layer.h"

namespace odyssey::image {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class PackTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "pack-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
    for (const char* const name : {"/from", "/to"}) ASSERT_TRUE(fs::create_directory(path + name));
  }
  void TearDown() override { fs::remove_all(path_); }

  std::string From(const std::string& name) { return path_ + "/from/" + name; }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(From(name)).parent_path());
    std::ofstream(From(name)) << text;
  }
  void Whiteout(const std::string& name) {
    fs::create_directories(fs::path(From(name)).parent_path());
    ASSERT_EQ(mknod(From(name).c_str(), S_IFCHR | 0600, makedev(0, 0)), 0);
  }
  void Opaque(const std::string& name) {
    fs::create_directories(From(name));
    ASSERT_EQ(setxattr(From(name).c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  }

  Result<std::string> Pack(const std::vector<std::string>& leave_out = {},
                           const Bounds& bounds = {}) {
    const UniqueFd tar(memfd_create("tar", MFD_CLOEXEC));
    const UniqueFd from(open(From("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ODY_RETURN_IF_ERROR(PackLayer(from.get(), tar.get(), leave_out, bounds).status());
    lseek(tar.get(), 0, SEEK_SET);
    return ReadToTheEnd(tar.get(), "the tar", 1 << 30);
  }
  std::string Why(const Bounds& bounds = {}) {
    const auto tar = Pack({}, bounds);
    return tar.ok() ? "packed" : tar.status().message();
  }
  // As another reader sees it.
  std::vector<std::string> Listed(const std::string& tar) {
    std::ofstream(path_ + "/layer.tar", std::ios::binary) << tar;
    EXPECT_EQ(system(("tar -tf " + path_ + "/layer.tar >" + path_ + "/list").c_str()), 0);
    std::ifstream in(path_ + "/list");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  Status UnpackTo(const std::string& tar) {
    const UniqueFd file(memfd_create("tar", MFD_CLOEXEC));
    ODY_RETURN_IF_ERROR(WriteAll(file.get(), tar));
    lseek(file.get(), 0, SEEK_SET);
    const UniqueFd to(open((path_ + "/to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return UnpackLayer(file.get(), to.get(), {}).status();
  }
  struct stat To(const std::string& name) {
    struct stat info {};
    EXPECT_EQ(lstat((path_ + "/to/" + name).c_str(), &info), 0) << name;
    return info;
  }

  std::string path_;
};

TEST_F(PackTest, AnUpperLayerComesBackAsItWas) {
  Write("etc/passwd", "root:x:0:0::/:\n");
  ASSERT_EQ(chown(From("etc/passwd").c_str(), 33, 44), 0);
  ASSERT_EQ(chmod(From("etc/passwd").c_str(), 0640), 0);
  ASSERT_EQ(link(From("etc/passwd").c_str(), From("etc/passwd-").c_str()), 0);
  ASSERT_EQ(symlink("/etc/passwd", From("link").c_str()), 0);
  Write("größe\xff\n", "x");
  Whiteout("usr/gone");
  Opaque("var/new");
  const auto tar = Pack();
  ASSERT_TRUE(tar.ok()) << tar.status().message();
  const Status unpacked = UnpackTo(*tar);
  ASSERT_TRUE(unpacked.ok()) << unpacked.message();
  EXPECT_EQ(To("etc/passwd").st_uid, 33u);
  EXPECT_EQ(To("etc/passwd").st_gid, 44u);
  EXPECT_EQ(To("etc/passwd").st_mode & 07777, 0640u);
  EXPECT_EQ(To("etc/passwd").st_ino, To("etc/passwd-").st_ino);
  EXPECT_TRUE(S_ISLNK(To("link").st_mode));
  EXPECT_TRUE(S_ISREG(To("größe\xff\n").st_mode));
  EXPECT_TRUE(S_ISCHR(To("usr/gone").st_mode));
  char value[2] = "";
  EXPECT_EQ(getxattr((path_ + "/to/var/new").c_str(), "user.overlay.opaque", value, 2), 1);
}

TEST_F(PackTest, MarksAreThoseOfOci) {
  Write("a/f", "x");
  Whiteout("a/gone");
  Opaque("b");
  EXPECT_THAT(Listed(*Pack()),
              ElementsAre("./", "a/", "a/f", "a/.wh.gone", "b/", "b/.wh..wh..opq"));
}

TEST_F(PackTest, EqualFilesGiveEqualBytes) {
  for (const char* const name : {"b", "a", "d/c", "d/a"}) Write(name, name);
  const auto first = Pack();
  // Read, which changes times of access, and made again in another order.
  fs::rename(From("a"), From("z"));
  fs::rename(From("z"), From("a"));
  const timespec times[2] = {{1, 0}, {0, UTIME_OMIT}};
  ASSERT_EQ(utimensat(AT_FDCWD, From("b").c_str(), times, 0), 0);
  for (const char* const directory : {"", "d"}) {
    const timespec same[2] = {{5, 0}, {5, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, From(directory).c_str(), same, 0), 0);
  }
  const auto second = Pack();
  EXPECT_EQ(Listed(*first), Listed(*second));
  EXPECT_EQ(*second, *Pack());
}

TEST_F(PackTest, LeavesOutWhatItIsTold) {
  Write("proc/x", "x");
  Write("a/proc", "x");
  EXPECT_THAT(Listed(*Pack({"proc"})), ElementsAre("./", "a/", "a/proc"));
}

TEST_F(PackTest, RefusesANameThatWouldBeAWhiteout) {
  Write("etc/.wh.passwd", "x");
  EXPECT_EQ(Why(), "entry \"etc/.wh.passwd\": in a layer its name would be a whiteout");
}

TEST_F(PackTest, RefusesADevice) {
  ASSERT_EQ(mknod(From("null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  EXPECT_EQ(Why(), "entry \"null\": it is a device");
}

TEST_F(PackTest, LeavesOutSockets) {
  const UniqueFd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX};
  From("s").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_THAT(Listed(*Pack()), ElementsAre("./"));
}

TEST_F(PackTest, IsBounded) {
  Write("a", std::string(600, 'a'));
  Write("b", std::string(600, 'b'));
  EXPECT_EQ(Why({.bytes = 1000}), "entry \"b\": there are more than 1000 bytes");
  EXPECT_EQ(Why({.entries = 2}), "there are more than 2 files");
  Write("c/c/c/c", "x");
  EXPECT_THAT(Why({.depth = 3}), HasSubstr("its path has more than 3 names"));
}

class PackFilesTest : public PackTest {
 protected:
  Result<std::vector<std::string>> Files(const std::string& path) {
    const UniqueFd tar(memfd_create("tar", MFD_CLOEXEC));
    const UniqueFd root(open(From("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ODY_RETURN_IF_ERROR(PackFiles(root.get(), path, tar.get(), {}).status());
    lseek(tar.get(), 0, SEEK_SET);
    ODY_ASSIGN_OR_RETURN(const std::string bytes, ReadToTheEnd(tar.get(), "the tar", 1 << 30));
    return Listed(bytes);
  }
  std::string WhyNot(const std::string& path) {
    const auto files = Files(path);
    return files.ok() ? "packed" : files.status().ToString();
  }
};

TEST_F(PackFilesTest, HaveTheLastNameOfThePath) {
  Write("a/b/f", "x");
  EXPECT_THAT(*Files("/a/b"), ElementsAre("b/", "b/f"));
  EXPECT_THAT(*Files("/a/b/f"), ElementsAre("f"));
  EXPECT_THAT(*Files("/"), ElementsAre("./", "a/", "a/b/", "a/b/f"));
}

TEST_F(PackFilesTest, FollowNoLink) {
  Write("d/f", "x");
  ASSERT_EQ(symlink("d", From("l").c_str()), 0);
  EXPECT_THAT(*Files("/l"), ElementsAre("l"));
  EXPECT_EQ(WhyNot("/l/f"), "NOT_FOUND: /l/f: a link is on the way to it");
  EXPECT_EQ(WhyNot("/x/y"), "NOT_FOUND: /x/y: the image has none");
}

TEST_F(PackFilesTest, LeaveOutWhatIsMountedThere) {
  Write("a/f", "x");
  Write("m/f", "x");
  ASSERT_EQ(unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(mount("none", From("m").c_str(), "tmpfs", 0, nullptr), 0);
  EXPECT_THAT(*Files("/"), ElementsAre("./", "a/", "a/f"));
  EXPECT_EQ(WhyNot("/m"), "NOT_FOUND: /m: the image has none");
  ASSERT_EQ(umount(From("m").c_str()), 0);
}

}  // namespace
}  // namespace odyssey::image
