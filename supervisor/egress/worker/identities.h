#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_IDENTITIES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_IDENTITIES_H_

// Whose a connection is. The cell's slots send an Identity for each connect(2) before it happens;
// the kernel's table of sockets says which socket is at the other end of a connection that was
// accepted. For one thread.

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "policy/egress/decision.h"
#include "supervisor/egress/worker/executed_files.h"

struct sockaddr_storage;

namespace odyssey::egress {

class Identities final {
 public:
  // `is_pinned`: the file of a program with this path is to be hashed.
  explicit Identities(std::function<bool(const std::string& path)> is_pinned)
      : is_pinned_(std::move(is_pinned)) {}

  // `arriving`: the way kIdentities; `table`: kSocketTable.
  void Open(UniqueFd arriving) { arriving_ = std::move(arriving); }
  void OpenTable(UniqueFd table) { table_ = std::move(table); }

  // Takes what has arrived; does not block. false: nothing more will.
  bool Drain();
  // Each that arrives, with where it connects to, before it can be asked for.
  using OnArrival = std::function<void(const std::string& destination, const Program&)>;
  void set_on_arrival(OnArrival call) { on_arrival_ = std::move(call); }

  // That connected `accepted`, which accept(2) gave. Not known: no identity came for its socket, or
  // two of different programs came: then the kernel does not tell which of them uses it.
  Program Of(int accepted);

 private:
  struct Known {
    Program program;
    bool ambiguous = false;
    std::list<uint64_t>::iterator age;
  };
  void Take(Message message);
  void Add(uint64_t socket, Program program);
  uint64_t SocketOf(const sockaddr_storage& client, const sockaddr_storage& listener) const;

  const std::function<bool(const std::string&)> is_pinned_;
  UniqueFd arriving_, table_;
  ExecutedFiles files_;
  OnArrival on_arrival_;
  std::unordered_map<uint64_t, Known> known_;  // by socket
  std::list<uint64_t> ages_;                   // oldest first
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_IDENTITIES_H_
