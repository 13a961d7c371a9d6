#include "tests/integration/throwaway_host.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os/unique_fd.h"

namespace odyssey::testing {
namespace {

// In the child: nothing of gtest.
void Must(bool good, const char* what) {
  if (good) return;
  fprintf(stderr, "throw-away host: %s: %s\n", what, strerrordesc_np(errno));
  _exit(1);
}

// ---- network: loopback is up, and every address is ours

struct RoutingRequest {
  nlmsghdr header;
  char body[256];

  RoutingRequest(uint16_t type, const void* fixed, size_t size) : header{}, body{} {
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
    header.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(size));
    memcpy(body, fixed, size);
  }
  void Add(uint16_t type, const void* value, size_t size) {
    auto* attribute = reinterpret_cast<rtattr*>(reinterpret_cast<char*>(this) + header.nlmsg_len);
    attribute->rta_type = type;
    attribute->rta_len = static_cast<uint16_t>(RTA_LENGTH(size));
    memcpy(RTA_DATA(attribute), value, size);
    header.nlmsg_len += static_cast<uint32_t>(RTA_SPACE(size));
  }
  void Send() const {
    const UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    Must(send(fd.get(), this, header.nlmsg_len, 0) > 0, "ask for a route");
    char reply[1024];
    Must(recv(fd.get(), reply, sizeof(reply), 0) > 0, "hear of the route");
    errno = -static_cast<const nlmsgerr*>(NLMSG_DATA(reinterpret_cast<nlmsghdr*>(reply)))->error;
    Must(errno == 0, "change the network");
  }
};

constexpr int kLoopback = 1;

void AddOwnAddress(int family, const void* address, size_t size) {
  ifaddrmsg message{};
  message.ifa_family = static_cast<uint8_t>(family);
  message.ifa_prefixlen = static_cast<uint8_t>(size * 8);
  message.ifa_index = kLoopback;
  RoutingRequest request(RTM_NEWADDR, &message, sizeof(message));
  request.Add(IFA_LOCAL, address, size);
  request.Send();
}

void MakeEveryAddressOurs(int family) {
  rtmsg message{};
  message.rtm_family = static_cast<uint8_t>(family);
  message.rtm_table = RT_TABLE_LOCAL;
  message.rtm_protocol = RTPROT_STATIC;
  message.rtm_scope = RT_SCOPE_HOST;
  message.rtm_type = RTN_LOCAL;
  RoutingRequest request(RTM_NEWROUTE, &message, sizeof(message));
  const uint32_t interface = kLoopback;
  request.Add(RTA_OIF, &interface, sizeof(interface));
  request.Send();
}

void MakeNetwork() {
  ifinfomsg up{};
  up.ifi_index = kLoopback;
  up.ifi_flags = up.ifi_change = IFF_UP;
  RoutingRequest(RTM_NEWLINK, &up, sizeof(up)).Send();
  const in_addr four{htonl(0x0a090807)};  // 10.9.8.7
  AddOwnAddress(AF_INET, &four, sizeof(four));
  for (const int family : {AF_INET, AF_INET6}) MakeEveryAddressOurs(family);
}

// ---- files

void Mount(const char* source, const std::string& target, const char* type,
           const std::string& options = "") {
  mkdir(target.c_str(), 0755);
  Must(mount(source, target.c_str(), type, 0, options.empty() ? nullptr : options.c_str()) == 0,
       target.c_str());
}

// `lower` with a layer in memory above it, at `base`/name.
std::string Layer(const std::string& base, const std::string& name, const std::string& lower) {
  const std::string own = base + "/" + name;
  for (const char* part : {"", "/upper", "/work", "/merged"}) {
    Must(mkdir((own + part).c_str(), 0755) == 0, "make a layer's directory");
  }
  Mount("overlay", own + "/merged", "overlay",
        "lowerdir=" + lower + ",upperdir=" + own + "/upper,workdir=" + own + "/work");
  return own + "/merged";
}

// In order: each needs what comes before.
void MakeFiles() {
  Must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "make mounts private");
  const std::string base = "/mnt";
  Mount("layers", base, "tmpfs");
  const std::string root = Layer(base, "root", "/");
  const std::string devices = Layer(base, "dev", "/dev");
  Must(mount(devices.c_str(), (root + "/dev").c_str(), nullptr, MS_BIND, nullptr) == 0, "/dev");
  Mount("proc", root + "/proc", "proc");
  Mount("sysfs", root + "/sys", "sysfs");
  Mount("groups", root + "/sys/fs/cgroup", "tmpfs");
  Mount("devpts", root + "/dev/pts", "devpts", "newinstance,ptmxmode=0666");
  Mount("shm", root + "/dev/shm", "tmpfs");
  Mount("tmp", root + "/tmp", "tmpfs");
  unlink((root + "/dev/ptmx").c_str());
  Must(symlink("pts/ptmx", (root + "/dev/ptmx").c_str()) == 0, "link ptmx");
  // Not chroot, in which no user namespace may be made.
  Must(chdir(root.c_str()) == 0, "enter the root");
  Must(syscall(SYS_pivot_root, ".", ".") == 0, "change the root");
  Must(umount2(".", MNT_DETACH) == 0, "let the old root go");
  Must(chdir("/") == 0, "enter the new root");
}

[[noreturn]] void BeHost(const std::function<void()>& body, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(out, STDOUT_FILENO);
  MakeFiles();
  MakeNetwork();
  body();
  _exit(0);  // and with pid 1 everything there
}

}  // namespace

std::string InThrowawayHost(const std::function<void()>& body) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  constexpr unsigned long kOwn =
      CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP;
  const long child = syscall(SYS_clone, kOwn | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  EXPECT_GE(child, 0) << strerrordesc_np(errno);
  if (child == 0) BeHost(body, writer.get());
  writer.reset();
  std::string said;
  char buffer[65536];
  for (ssize_t n; (n = read(reader.get(), buffer, sizeof(buffer))) > 0;) {
    said.append(buffer, static_cast<size_t>(n));
  }
  int status = -1;
  if (child > 0) waitpid(static_cast<pid_t>(child), &status, 0);
  EXPECT_EQ(status, 0) << said;
  return said;
}

}  // namespace odyssey::testing
