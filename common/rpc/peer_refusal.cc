#include "common/rpc/peer_refusal.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <string_view>

#include "common/os/unique_fd.h"

namespace odyssey::rpc {
namespace {

constexpr std::string_view kStart = "refused: ";
constexpr size_t kMaxLine = 1024;
constexpr size_t kMostNamed = 16;
constexpr int kWaitMs = 200;

// Of HTTP/2 (RFC 9113, 4.1, 6.8).
constexpr size_t kFrameHeader = 9;
constexpr char kGoaway = 7;

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f; }

}  // namespace

std::string RefusalLine(const std::set<uid_t>& served, const std::optional<gid_t>& group,
                        uid_t peer) {
  std::string uids;
  size_t left = served.size();
  for (const uid_t uid : served) {
    if (served.size() - left == kMostNamed) break;
    uids += (uids.empty() ? "" : left == 1 ? " and " : ", ") + std::to_string(uid);
    --left;
  }
  if (left > 0) uids += " and " + std::to_string(left) + " more";
  if (group) uids += " and group " + std::to_string(*group);
  return std::string(kStart) + "this socket serves uids " + uids + "; the peer has uid " +
         std::to_string(peer) + "\n";
}

std::string RefusalFrame(const std::string& line) {
  constexpr size_t kLastStreamAndCode = 8;
  const size_t length = kLastStreamAndCode + line.size();
  std::string goaway(kFrameHeader + kLastStreamAndCode, '\0');
  goaway[1] = static_cast<char>(length >> 8);
  goaway[2] = static_cast<char>(length & 0xff);
  goaway[3] = kGoaway;
  return goaway + line;
}

std::string AskWhetherRefused(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return "";
  memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return "";
  }
  pollfd polled = {fd.get(), POLLIN, 0};
  if (poll(&polled, 1, kWaitMs) != 1) return "";
  char buffer[kMaxLine];
  const ssize_t n = recv(fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  std::string_view line(buffer, n > 0 ? static_cast<size_t>(n) : 0);
  line.remove_prefix(std::min(line.find(kStart), line.size()));
  if (line.empty() || line.back() != '\n') return "";
  std::string out(line.substr(kStart.size(), line.size() - kStart.size() - 1));
  return std::all_of(out.begin(), out.end(), IsPlain) ? out : "";
}

}  // namespace odyssey::rpc
