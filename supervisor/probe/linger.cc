#include "supervisor/probe/linger.h"

#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisor/probe/answers.h"

namespace odyssey::probe {
namespace {

bool ListenTcp(const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(atoi(port.c_str())));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
         listen(fd, 8) == 0;
}

bool ListenAbstract(const std::string& name, const char* suffix, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string whole = std::string(1, '\0') + name + suffix;
  memcpy(address.sun_path, whole.data(), whole.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + whole.size());
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) return false;
  return type == SOCK_DGRAM || listen(fd, 8) == 0;
}

bool TakeRole(const std::string& role, const std::string& value) {
  if (role == "name") return prctl(PR_SET_NAME, value.c_str()) == 0;
  if (role == "tcp") return ListenTcp(value);
  if (role == "key") return shmget(atoi(value.c_str()), 4096, IPC_CREAT | 0666) >= 0;
  return role == "abstract" && ListenAbstract(value, "-stream", SOCK_STREAM) &&
         ListenAbstract(value, "-dgram", SOCK_DGRAM) &&
         ListenAbstract(value, "-packet", SOCK_SEQPACKET);
}

}  // namespace

int Linger(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return 2;
    if (TakeRole(word.substr(0, equals), word.substr(equals + 1))) continue;
    fprintf(stderr, "odyssey-probe: %s: %s\n", word.c_str(), ErrnoText(errno).c_str());
    return 1;
  }
  printf("ready\n");
  fflush(stdout);
  for (;;) pause();
}

int EatMemory(const std::string& bytes) {
  const size_t most = strtoull(bytes.c_str(), nullptr, 10);
  constexpr size_t kPiece = 1 << 20;
  for (size_t taken = 0; taken < most; taken += kPiece) {
    void* piece = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return 1;
    memset(piece, 'x', kPiece);
  }
  return 0;
}

int IgnoreSignals() {
  for (int number = 1; number < SIGRTMIN; ++number) signal(number, SIG_IGN);
  for (;;) pause();
}

int LeaveDaemon(const std::string& name) {
  if (fork() != 0) return 0;
  setsid();
  if (fork() != 0) _exit(0);
  prctl(PR_SET_NAME, name.c_str());
  IgnoreSignals();
  return 0;
}

int PrintIdentity() {
  const std::string capabilities = OwnStatus("CapEff");
  const bool capable = capabilities.find_first_not_of('0') != std::string::npos;
  return geteuid() == 0 || getegid() == 0 || capable ? kPrivileged : kOrdinary;
}

}  // namespace odyssey::probe
