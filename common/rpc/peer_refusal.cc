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

// "1, 2 and 3", with "and N more" of many.
std::string Named(const std::set<uid_t>& ids) {
  std::string out;
  size_t left = ids.size();
  for (const uid_t id : ids) {
    if (ids.size() - left == kMostNamed) break;
    out += (out.empty() ? "" : left == 1 ? " and " : ", ") + std::to_string(id);
    --left;
  }
  if (left > 0) out += " and " + std::to_string(left) + " more";
  return out;
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f; }

}  // namespace

std::string RefusalLine(const std::set<uid_t>& served, const std::set<gid_t>& groups, uid_t peer) {
  std::string line = std::string(kStart) + "this socket serves uids " + Named(served);
  if (!groups.empty())
    line += (groups.size() == 1 ? " and group " : " and groups ") + Named(groups);
  return line + "; the peer has uid " + std::to_string(peer) + "\n";
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
