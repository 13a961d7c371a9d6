#include "ctl/doctor/probe_listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

namespace odyssey::ctl {
namespace {

constexpr int kBacklog = 64;
constexpr int kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kPipe = -1;

// Takes one connection, datagram or byte of a pipe, if there is one.
bool TakeOne(int fd, int type) {
  char byte;
  if (type == kPipe) return read(fd, &byte, 1) == 1;
  if (type != SOCK_DGRAM) return static_cast<bool>(UniqueFd(accept4(fd, nullptr, nullptr, kFlags)));
  return recv(fd, &byte, 1, 0) >= 0;
}

}  // namespace

Result<ProbeListeners> ProbeListeners::Open(const std::vector<std::string>& paths,
                                            const std::string& abstract) {
  ProbeListeners out;
  ODY_RETURN_IF_ERROR(out.AddInternet("tcp4", AF_INET, SOCK_STREAM));
  ODY_RETURN_IF_ERROR(out.AddAlias());
  ODY_RETURN_IF_ERROR(out.AddInternet("udp4", AF_INET, SOCK_DGRAM));
  ODY_RETURN_IF_ERROR(out.AddInternet("tcp6", AF_INET6, SOCK_STREAM));
  ODY_RETURN_IF_ERROR(out.AddInternet("udp6", AF_INET6, SOCK_DGRAM));
  std::vector<std::string> names = paths;
  names.push_back("@" + abstract);
  for (const std::string& name : names) ODY_RETURN_IF_ERROR(out.AddNamed(name));
  out.words_.push_back("unix=" + paths.front());
  out.words_.push_back("abstract=" + abstract);
  return out;
}

Status ProbeListeners::AddInternet(const std::string& name, int family, int type) {
  sockaddr_in6 address{};
  auto* four = reinterpret_cast<sockaddr_in*>(&address);
  socklen_t size = sizeof(address);
  if (family == AF_INET) {
    four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = sizeof(*four);
  } else {
    address.sin6_addr = in6addr_loopback;
  }
  address.sin6_family = static_cast<sa_family_t>(family);
  UniqueFd fd(socket(family, type | kFlags, 0));
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!fd || bind(fd.get(), any, size) != 0) return ErrnoStatus(errno, "bind " + name);
  if (type == SOCK_STREAM && listen(fd.get(), kBacklog) != 0) return ErrnoStatus(errno, "listen");
  if (getsockname(fd.get(), any, &size) != 0) return ErrnoStatus(errno, "ask for the port");
  if (name == "tcp4") tcp4_port_ = ntohs(address.sin6_port);
  // In the same place in both families.
  words_.push_back(name + "=" + std::to_string(ntohs(address.sin6_port)));
  listeners_.push_back({name, type, false, std::move(fd)});
  return OkStatus();
}

Status ProbeListeners::AddAlias() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(tcp4_port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | kFlags, 0));
  if (!fd || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return ErrnoStatus(errno, "listen on 127.0.0.2");
  }
  listeners_.push_back({"tcp4 on 127.0.0.2", SOCK_STREAM, false, std::move(fd)});
  return OkStatus();
}

Status ProbeListeners::AddNamed(const std::string& name) {
  ODY_RETURN_IF_ERROR(AddUnix(name + "-stream", SOCK_STREAM));
  ODY_RETURN_IF_ERROR(AddUnix(name + "-dgram", SOCK_DGRAM));
  ODY_RETURN_IF_ERROR(AddUnix(name + "-packet", SOCK_SEQPACKET));
  return name[0] == '@' ? OkStatus() : AddPipe(name + "-pipe");
}

Status ProbeListeners::AddUnix(const std::string& name, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof(address.sun_path))
    return InvalidArgument("socket " + name + ": too long");
  memcpy(address.sun_path, name.data(), name.size());
  const bool abstract = name[0] == '@';
  if (abstract) address.sun_path[0] = '\0';
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  UniqueFd fd(socket(AF_UNIX, type | kFlags, 0));
  if (!fd || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return ErrnoStatus(errno, "bind " + name);
  }
  if (type != SOCK_DGRAM && listen(fd.get(), kBacklog) != 0) return ErrnoStatus(errno, "listen");
  // Only the view of a cell protects it.
  if (!abstract && chmod(name.c_str(), 0777) != 0) return ErrnoStatus(errno, "open up " + name);
  listeners_.push_back({name, type, true, std::move(fd)});
  return OkStatus();
}

Status ProbeListeners::AddPipe(const std::string& path) {
  if (mkfifo(path.c_str(), 0600) != 0 || chmod(path.c_str(), 0666) != 0) {
    return ErrnoStatus(errno, "make the pipe " + path);
  }
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  listeners_.push_back({path, kPipe, true, std::move(fd)});
  return OkStatus();
}

std::vector<std::string> ProbeListeners::TakeHeard(bool by_name) {
  std::vector<std::string> heard;
  for (const Listener& listener : listeners_) {
    if (listener.has_name != by_name) continue;
    bool any = false;
    while (TakeOne(listener.fd.get(), listener.type)) any = true;
    if (any) heard.push_back(listener.name);
  }
  return heard;
}

}  // namespace odyssey::ctl
