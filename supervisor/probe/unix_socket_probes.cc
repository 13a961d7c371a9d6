// Unix sockets and pipes of the host, and sockets of another cell: by path, by abstract name, by
// every call that takes an address, and from an end of a pair too, which no rule about socket(2)
// sees.

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kByPath[] = "the mount namespace";
constexpr char kByGroup[] = "the mount's mapping, in which no group has a number";
constexpr char kByName[] = "network namespace; Landlock's scopes where the network is the host's";
// EPROTOTYPE, that it is another kind of socket, would show that a socket is there.
const Errnos kNoListener = {ECONNREFUSED, EPERM, EACCES, ENOENT, ENOTDIR};

// "@name" is abstract.
struct Address {
  explicit Address(const std::string& name) {
    un.sun_family = AF_UNIX;
    const size_t length = name.size() < sizeof(un.sun_path) ? name.size() : sizeof(un.sun_path) - 1;
    memcpy(un.sun_path, name.data(), length);
    const bool abstract = name[0] == '@';
    if (abstract) un.sun_path[0] = '\0';
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (abstract ? 0 : 1));
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&un); }

  sockaddr_un un{};
  socklen_t size = 0;
};

enum class Origin { kSocket, kPair };

UniqueFd Datagrams(Origin origin) {
  if (origin == Origin::kSocket) return UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return UniqueFd();
  const UniqueFd other(ends[1]);
  return UniqueFd(ends[0]);
}

Answer Connect(const std::string& name, int type) {
  const UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Address address(name);
  return Answered(connect(fd.get(), address.get(), address.size));
}

Answer SendTo(const std::string& name, Origin origin) {
  const UniqueFd fd = Datagrams(origin);
  Address address(name);
  return Answered(
      sendto(fd.get(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT, address.get(), address.size));
}

mmsghdr MessageTo(Address* address, iovec* vector) {
  mmsghdr message{};
  message.msg_hdr.msg_name = address->get();
  message.msg_hdr.msg_namelen = address->size;
  message.msg_hdr.msg_iov = vector;
  message.msg_hdr.msg_iovlen = 1;
  return message;
}

Answer SendMessage(const std::string& name, Origin origin, bool many) {
  const UniqueFd fd = Datagrams(origin);
  Address address(name);
  char byte = 'x';
  iovec vector{&byte, 1};
  mmsghdr message = MessageTo(&address, &vector);
  if (many) return Answered(sendmmsg(fd.get(), &message, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
  return Answered(sendmsg(fd.get(), &message.msg_hdr, MSG_NOSIGNAL | MSG_DONTWAIT));
}

using NameOf = std::function<std::string(const Targets&)>;

void AddWays(const std::string& where, const char* layer, const NameOf& name, Probes* all) {
  const auto add = [&](const std::string& way, const char* kind,
                       std::function<Answer(const std::string&)> attempt) {
    all->push_back({"network.unix_" + where + "_" + way, "no listener", layer,
                    [name, kind, attempt = std::move(attempt)](const Targets& t) {
                      return MustBeRefused(attempt(name(t) + kind), kNoListener);
                    }});
  };
  add("connect", "-stream", [](const std::string& n) { return Connect(n, SOCK_STREAM); });
  add("connect_datagrams", "-dgram", [](const std::string& n) { return Connect(n, SOCK_DGRAM); });
  add("connect_packets", "-packet",
      [](const std::string& n) { return Connect(n, SOCK_SEQPACKET); });
  for (const Origin origin : {Origin::kSocket, Origin::kPair}) {
    const std::string from = origin == Origin::kPair ? "_from_pair" : "";
    add("sendto" + from, "-dgram", [origin](const std::string& n) { return SendTo(n, origin); });
    add("sendmsg" + from, "-dgram",
        [origin](const std::string& n) { return SendMessage(n, origin, false); });
    add("sendmmsg" + from, "-dgram",
        [origin](const std::string& n) { return SendMessage(n, origin, true); });
  }
}

Finding ThroughLink(const Targets& targets) {
  const std::string link = targets.Text("rw") + "/socket-link";
  if (symlink((targets.Text("unix") + "-stream").c_str(), link.c_str()) != 0) {
    return BrokenAt("make a link");
  }
  const Answer answer = Connect(link, SOCK_STREAM);
  unlink(link.c_str());
  return MustBeRefused(answer, kNoListener);
}

// What daemons of the host listen on.
constexpr const char* kKnown[] = {
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/podman/podman.sock",
    "/run/buildkit/buildkitd.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/systemd/journal/socket",
    "/run/systemd/journal/stdout",
    "/run/systemd/resolve/io.systemd.Resolve",
    "/dev/log",
    "/run/user/0/bus",
    "/run/user/1000/bus",
    "/run/user/1000/systemd/private",
    "/run/user/1000/wayland-0",
    "/run/user/1000/pulse/native",
    "/run/user/1000/gnupg/S.gpg-agent",
    "/run/user/1000/keyring/ssh",
    "/run/user/1000/podman/podman.sock",
    "/tmp/.X11-unix/X0",
    "@/tmp/.X11-unix/X0",
    "@/tmp/.ICE-unix/1",
    "/run/snapd.socket",
    "/run/libvirt/libvirt-sock",
    "/run/lxd.socket",
    "/var/lib/lxd/unix.socket",
    "/run/nscd/socket",
    "/run/cups/cups.sock",
    "/run/avahi-daemon/socket",
    "/run/mysqld/mysqld.sock",
    "/run/postgresql/.s.PGSQL.5432",
    "/run/odyssey/supervisor.sock",
    "/run/odyssey/agentd.sock",
    "/run/secrets/agent.sock",
};

Finding ConnectAny(const std::string& name) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    const Finding finding = MustBeRefused(Connect(name, type), kNoListener);
    if (finding.verdict != Verdict::kContained) return finding;
  }
  return Contained("no listener");
}

// What the host listens at in a read mount.
void AddReadMountProbes(const NameOf& name, Probes* all) {
  AddWays("in_ro", kByGroup, name, all);
  all->push_back({"network.pipe_in_ro", "no listener", kByGroup, [name](const Targets& t) {
                    const std::string path = name(t) + "-pipe";
                    const UniqueFd fd(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
                    const Answer answer = Answered(fd ? 0 : -1);
                    if (fd) (void)!write(fd.get(), "x", 1);
                    return MustBeRefused(answer, kNoListener);
                  }});
}

}  // namespace

void AddUnixSocketProbes(const Targets& targets, Probes* all) {
  AddReadMountProbes([](const Targets& t) { return t.Text("ro") + "/daemon"; }, all);
  AddWays(
      "path", kByPath, [](const Targets& t) { return t.Text("unix"); }, all);
  AddWays(
      "path_of_root", kByPath, [](const Targets& t) { return "/proc/1/root" + t.Text("unix"); },
      all);
  AddWays(
      "abstract", kByName, [](const Targets& t) { return "@" + t.Text("abstract"); }, all);
  AddWays(
      "abstract_of_another_cell", kByName,
      [](const Targets& t) { return "@" + t.Text("neighbour_abstract"); }, all);
  all->push_back({"network.unix_path_through_link", "no listener", kByPath, ThroughLink});
  for (const char* path : kKnown) {
    all->push_back({std::string("network.socket:") + path, "no listener",
                    path[0] == '@' ? kByName : kByPath,
                    [path](const Targets&) { return ConnectAny(path); }});
  }
  size_t number = 0;
  for (const std::string& path : targets.All("socket")) {
    all->push_back({"network.socket_of_daemon_" + std::to_string(++number), "no listener", kByPath,
                    [path](const Targets&) { return ConnectAny(path); }});
  }
  number = 0;
  for (const std::string& path : targets.All("own")) {
    all->push_back({"leak.directory_of_daemon_" + std::to_string(++number), "it is not there",
                    kByPath, [path](const Targets&) {
                      return MustBeRefused(Answered(access(path.c_str(), F_OK)), kRefusedOrAbsent);
                    }});
  }
}

}  // namespace odyssey::probe
