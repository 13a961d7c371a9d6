// Directories of the host in a cell: what a read-only one and a writable one of root's allow.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kText[] = "of the host\n";

class ConfinementMountsTest : public ::testing::Test {
 protected:
  ConfinementMountsTest() {
    for (const std::string name : {"ro", "rw", "beside"}) {
      fs::create_directories(Path(name));
      std::ofstream(Path(name) + "/file") << kText;
    }
    auto request = SupervisorHarness::Request("mounts");
    Mount(&request, "ro", policy::v1::ACCESS_READ_ONLY);
    Mount(&request, "rw", policy::v1::ACCESS_READ_WRITE);
    cell_ = supervisor_.Cell(request);
  }

  std::string Path(const std::string& name) const { return supervisor_.directory() + "/" + name; }

  void Mount(v1::PrepareCellRequest* request, const std::string& name, policy::v1::Access access) {
    policy::v1::Mount* mount = request->mutable_sandbox()->add_mounts();
    mount->set_source(Path(name));
    mount->set_target("/" + name);
    mount->set_access(access);
  }

  SupervisorHarness supervisor_;
  std::string cell_;
};

TEST_F(ConfinementMountsTest, AReadOnlyMountStaysAsItIs) {
  struct stat before, after;
  ASSERT_EQ(stat((Path("ro") + "/file").c_str(), &before), 0);
  const Findings findings = Probe(&supervisor_, cell_, R"(
import mmap
path = '/ro/file'
fd = os.open(path, os.O_RDONLY)
handle = os.open(path, os.O_PATH)
directory = os.open('/ro', os.O_RDONLY)
attempt('create', lambda: os.open('/ro/new', os.O_WRONLY | os.O_CREAT))
attempt('create_at', lambda: os.open('new', os.O_WRONLY | os.O_CREAT, dir_fd=directory))
attempt('write', lambda: os.open(path, os.O_WRONLY))
attempt('append', lambda: os.open(path, os.O_WRONLY | os.O_APPEND))
attempt('truncating', lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
attempt('truncate', lambda: os.truncate(path, 0))
attempt('reopen', lambda: os.open(f'/proc/self/fd/{fd}', os.O_RDWR))
attempt('reopen_handle', lambda: os.open(f'/proc/self/fd/{handle}', os.O_RDWR))
attempt('through_root', lambda: os.open('/proc/self/root/ro/file', os.O_RDWR))
attempt('through_dots', lambda: os.open('/workspace/../ro/file', os.O_RDWR))
attempt('map', lambda: mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_WRITE))
os.symlink('/ro/file', '/rw/link')
attempt('through_link', lambda: os.open('/rw/link', os.O_RDWR))
attempt('hard_link', lambda: os.link(path, '/rw/hard'))
attempt('rename', lambda: os.rename(path, '/rw/moved'))
attempt('exchange', lambda: call(316, -100, b'/ro/file', -100, b'/rw/file', 2))
attempt('unlink', lambda: os.unlink(path))
attempt('chmod', lambda: os.chmod(path, 0o777))
attempt('utime', lambda: os.utime(path))
attempt('setxattr', lambda: os.setxattr(path, 'user.x', b'x'))
attempt('fifo', lambda: os.mkfifo('/ro/fifo'))
attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
try_call('remount', 165, None, b'/ro', None, 0x20 | 0x1000, None)
try_call('bind_over', 165, b'/rw', b'/ro', None, 0x1000, None)
try_call('mount_setattr', 442, -100, b'/ro', 0, attributes, 32)
try_call('umount', 166, b'/ro', 2)
try_call('clone_tree', 428, -100, b'/ro', 1)
)");
  ExpectAll(findings, {"EROFS", "EACCES", "EPERM", "EXDEV"}, 25);
  ASSERT_EQ(stat((Path("ro") + "/file").c_str(), &after), 0);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_nlink, before.st_nlink);
  EXPECT_EQ(Slurp(Path("ro") + "/file"), kText);
}

TEST_F(ConfinementMountsTest, AWritableMountOfRootsTakesFilesAsItsOwner) {
  ASSERT_TRUE(supervisor_
                  .Shell(cell_,
                         "echo more >> /rw/file; echo x > /rw/new; mkdir /rw/d; "
                         "chmod 0700 /rw/new; mv /rw/new /rw/d/")
                  .Exited(0));
  struct stat info;
  ASSERT_EQ(stat((Path("rw") + "/d/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(Slurp(Path("rw") + "/file"), kText + std::string("more\n"));
}

// Files written there belong to root: one with a set-uid bit would be root's for every user.
TEST_F(ConfinementMountsTest, NoSetUserIdFileOfRootsAppearsOnTheHost) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
import shutil
os.chdir('/rw')
shutil.copyfile('/bin/true', 'f')
fd = os.open('f', os.O_RDWR)
attempt('chmod', lambda: os.chmod('f', 0o4755))
attempt('chmod_gid', lambda: os.chmod('f', 0o2755))
attempt('fchmod', lambda: os.fchmod(fd, 0o6755))
attempt('open', lambda: os.open('g', os.O_CREAT | os.O_WRONLY, 0o4755))
try_call('creat', 85, b'g', 0o4755)
try_call('mknod', 133, b'g', 0o104755, 0)
try_call('tmpfile', 257, -100, b'.', 0o20200002, 0o4755)
attempt('device', lambda: os.mknod('dev', 0o060666, os.makedev(259, 0)))
attempt('capability', lambda: os.setxattr('f', 'security.capability', bytes.fromhex(
    '0100000200000000000000000000000000000000')))
)");
  ExpectAll(findings, {"EPERM"}, 9);
  (void)supervisor_.Shell(cell_,
                          "cd /rw; cp -a /usr/bin/su /usr/bin/passwd . ; "
                          "tar -C /usr/bin -cf - su | tar -xpf - ; chmod u+s f; "
                          "install -m 4755 f h; mkdir -m 2777 e");
  size_t seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Path("rw"))) {
    struct stat info;
    ASSERT_EQ(lstat(entry.path().c_str(), &info), 0);
    ++seen;
    EXPECT_EQ(info.st_mode & (S_ISUID | S_ISGID), 0u) << entry.path();
    EXPECT_FALSE(S_ISBLK(info.st_mode) || S_ISCHR(info.st_mode)) << entry.path();
    char value[64];
    EXPECT_LT(lgetxattr(entry.path().c_str(), "security.capability", value, sizeof(value)), 0)
        << entry.path();
  }
  EXPECT_GE(seen, 3u);
}

TEST_F(ConfinementMountsTest, LinksLeadNowhereOutsideTheMounts) {
  fs::create_symlink(Path("beside") + "/file", Path("rw") + "/absolute");
  fs::create_symlink("../beside/file", Path("rw") + "/relative");
  const Findings findings = Probe(&supervisor_, cell_, R"(
os.symlink('/etc/shadow', '/rw/shadow')
os.symlink('/proc/1/root/etc/shadow', '/rw/through_init')
for name in ['absolute', 'relative', 'shadow', 'through_init']:
    attempt(name, lambda: open('/rw/' + name).read())
for path in ['/rw/../beside/file', '/proc/self/root/beside/file']:
    attempt(path, lambda: open(path).read())
directory = os.open('/rw', os.O_RDONLY)
attempt('up', lambda: os.open('../beside/file', os.O_RDONLY, dir_fd=directory))
os.chdir('/rw')
attempt('chdir', lambda: open('../beside/file').read())
attempt('chroot', lambda: os.chroot('/rw'))
)");
  ExpectAll(findings, {"ENOENT", "EACCES", "EPERM"}, 9);
}

TEST_F(ConfinementMountsTest, MountsAreNeitherExecutableNorForDevices) {
  ASSERT_EQ(mknod((Path("rw") + "/null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  fs::copy_file("/bin/true", Path("rw") + "/program");
  ASSERT_EQ(chmod((Path("rw") + "/program").c_str(), 04755), 0);
  const Findings findings = Probe(&supervisor_, cell_, R"(
attempt('device', lambda: os.open('/rw/null', os.O_RDWR))
attempt('program', lambda: os.execv('/rw/program', ['program']))
)");
  ExpectAll(findings, {"EACCES"}, 2);
}

TEST_F(ConfinementMountsTest, SecretsOfOtherUsersInAMountStaySecret) {
  const std::string path = Path("ro") + "/of-another";
  std::ofstream(path) << "secret\n";
  ASSERT_EQ(chown(path.c_str(), 4321, 4321), 0);
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const Findings findings = Probe(&supervisor_, cell_, R"(
attempt('read', lambda: open('/ro/of-another').read())
report('owner', os.stat('/ro/of-another').st_uid)
)");
  EXPECT_EQ(findings, (Findings{{"read", "EACCES"}, {"owner", "65534"}}));
}

// ── What the cell's mounts are, one by one ──────────────────────────────────────────────────────

// Of /proc/self/mountinfo.
struct MountLine {
  std::string target, options, propagation, type;

  bool Has(const std::string& option) const {
    return ("," + options + ",").find("," + option + ",") != std::string::npos;
  }
};

std::vector<MountLine> ParseMounts(const std::string& mountinfo) {
  std::vector<MountLine> mounts;
  for (const std::string& line : Lines(mountinfo)) {
    std::istringstream words(line);
    std::string id, parent, device, root, word;
    MountLine mount;
    words >> id >> parent >> device >> root >> mount.target >> mount.options;
    while (words >> word && word != "-") mount.propagation += word + " ";
    words >> mount.type;
    mounts.push_back(mount);
  }
  return mounts;
}

class EveryMountTest : public ConfinementMountsTest {
 protected:
  // Whatever the host does with its mounts: here they are everybody's.
  static void SetUpTestSuite() {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_SHARED, nullptr), 0);
    hosts_ = Slurp("/proc/self/mountinfo");
  }

  // With a guard on a writable tree and on a read-only one.
  void SetUp() override {
    auto request = SupervisorHarness::Request("guarded");
    request.set_workspace(Path("rw"));
    Mount(&request, "ro", policy::v1::ACCESS_READ_ONLY);
    request.mutable_sandbox()->add_deny("**/.env");
    const ExecResult result =
        supervisor_.Exec(supervisor_.Cell(request), {"cat", "/proc/self/mountinfo"});
    mounts_ = ParseMounts(result.out);
    ASSERT_GT(mounts_.size(), 20u) << result.ToString();
    const auto guards = std::count_if(mounts_.begin(), mounts_.end(),
                                      [](const auto& m) { return m.type == "fuse"; });
    ASSERT_EQ(guards, 2);
  }

  inline static std::string hosts_;
  std::vector<MountLine> mounts_;
};

TEST_F(EveryMountTest, TakesNoSetUidBitAndNoDevice) {
  for (const MountLine& mount : mounts_) {
    EXPECT_TRUE(mount.Has("nosuid")) << mount.target;
    // Single nodes of the host's, and the cell's own terminals.
    if (mount.type == "devtmpfs" || mount.type == "devpts") continue;
    EXPECT_TRUE(mount.Has("nodev")) << mount.target;
  }
}

TEST_F(EveryMountTest, TakesNoProgramButWhereTheSystemsAre) {
  const std::set<std::string> executable = {
      "/",
      "/usr",
      "/opt",
      "/bin",
      "/sbin",
      "/lib",
      "/lib32",
      "/lib64",
      "/libx32",
      "/.odyssey/cell-init",
      "/.odyssey/cell-guard"};  // below a device that hides it
  for (const MountLine& mount : mounts_) {
    if (mount.type == "devtmpfs") continue;
    EXPECT_EQ(mount.Has("noexec"), executable.count(mount.target) == 0) << mount.target;
  }
}

TEST_F(EveryMountTest, OfAReadOnlyTreeIsReadOnly) {
  size_t seen = 0;
  for (const MountLine& mount : mounts_) {
    const bool read_only =
        mount.target == "/ro" || mount.target == "/usr" || mount.target == "/.odyssey/cell-init";
    if (!read_only) continue;
    ++seen;
    EXPECT_TRUE(mount.Has("ro")) << mount.target << " " << mount.type;
  }
  EXPECT_GE(seen, 4u);
}

// What is mounted on the host later does not come in, nothing of a cell's gets out, and what a slot
// mounts stays its own.
TEST_F(EveryMountTest, IsNobodyElsesToo) {
  EXPECT_EQ(Slurp("/proc/self/mountinfo"), hosts_);
  for (const MountLine& mount : mounts_) {
    EXPECT_EQ(mount.propagation, "") << mount.target;
  }
}

}  // namespace
}  // namespace odyssey::testing
