#include "ctl/client/http_address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "common/os/unique_fd.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxAddressBytes = 256;
constexpr char kAddressOfUnits[] = "127.0.0.1:8472";
constexpr char kRunOfUnits[] = "/run/odyssey";

std::string RunDirectory(const Locations& locations) {
  return std::filesystem::path(locations.agentd_socket).parent_path().string();
}

}  // namespace

// The directory is odyssey-http's, which may put anything there: a regular file is read, no link is
// followed, and what is no address is no answer.
Result<std::string> FindHttpAddress(const Locations& locations) {
  const std::string path = RunDirectory(locations) + "/http/address";
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return ErrnoStatus(errno, "open " + path);
  struct stat info {};
  char text[kMaxAddressBytes];
  const bool is_file = fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t size = is_file ? read(file.get(), text, sizeof(text)) : -1;
  const std::string_view line(text, size > 0 ? static_cast<size_t>(size) : 0);
  const std::string_view address = line.substr(0, line.find('\n'));
  if (address.empty() || address.find_first_not_of("0123456789abcdef.:[]") != address.npos) {
    return InvalidArgument(path + ": no address and port; start odyssey-http anew");
  }
  return std::string(address);
}

Result<std::string> HttpAddressOfUnits(const Locations& locations) {
  if (RunDirectory(locations) != kRunOfUnits) return NotFound("not the units' daemons");
  return std::string(kAddressOfUnits);
}

Status ReachHttp(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return InvalidArgument(address + ": has no port");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) {
    return InvalidArgument(address + ": no address and port");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> place(found, freeaddrinfo);
  const UniqueFd fd(socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), place->ai_addr, place->ai_addrlen) != 0) {
    return ErrnoStatus(errno, "connect to " + address);
  }
  return OkStatus();
}

}  // namespace odyssey::ctl
