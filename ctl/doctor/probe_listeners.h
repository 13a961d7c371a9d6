#ifndef ODYSSEY_CTL_DOCTOR_PROBE_LISTENERS_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_LISTENERS_H_

// Sockets and named pipes of the host that no cell may reach: each is shown to receive, so
// that its silence means something.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {

class ProbeListeners final {
 public:
  // On loopback; at each of `paths` and at the abstract name `abstract`, with -stream, -dgram and
  // -packet, and at the paths a pipe with -pipe. Those with a path have mode 0666. The first
  // of the paths is the word "unix".
  static Result<ProbeListeners> Open(const std::vector<std::string>& paths,
                                     const std::string& abstract);

  // "tcp4=PORT" and so on.
  const std::vector<std::string>& words() const { return words_; }

  // Names of the loopback ones, or of the others, to which a process connected or sent since the
  // last call.
  std::vector<std::string> TakeHeardOnLoopback() { return TakeHeard(false); }
  std::vector<std::string> TakeHeardByName() { return TakeHeard(true); }

 private:
  struct Listener {
    std::string name;
    int type;  // of the socket; kPipe
    bool has_name;
    UniqueFd fd;
  };

  Status AddInternet(const std::string& name, int family, int type);
  // 127.0.0.2, on the same port.
  Status AddAlias();
  // At a path or, after an '@', an abstract name: three sockets, and at a path a pipe.
  Status AddNamed(const std::string& name);
  Status AddUnix(const std::string& name, int type);
  Status AddPipe(const std::string& path);
  std::vector<std::string> TakeHeard(bool by_name);

  std::vector<Listener> listeners_;
  uint16_t tcp4_port_ = 0;
  std::vector<std::string> words_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_LISTENERS_H_
