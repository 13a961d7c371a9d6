#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_IDENTITIES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_IDENTITIES_H_

// Whose a connection is. The cell's slots send an Identity for each connect(2) before it happens;
// the kernel's table of sockets says which socket is at the other end of a connection that was
// accepted. For one thread.

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "common/os/unique_fd.h"
#include "supervisor/wire/cell_wire.h"

struct sockaddr_storage;

namespace odyssey::egress {

class Identities final {
 public:
  // `arriving`: the way kIdentities; `table`: kSocketTable.
  void Open(UniqueFd arriving) { arriving_ = std::move(arriving); }
  void OpenTable(UniqueFd table) { table_ = std::move(table); }

  // Takes what has arrived; does not block. false: nothing more will.
  bool Drain();
  // Each that arrives, before it can be asked for.
  void set_on_arrival(std::function<void(const cell::Identity&)> call) {
    on_arrival_ = std::move(call);
  }

  // Of the process that connected `accepted`, which accept(2) gave. nullopt: no identity came for
  // its socket, or two of different programs came: then the kernel does not tell which of them uses
  // it.
  std::optional<cell::Identity> Of(int accepted);

 private:
  struct Known {
    cell::Identity identity;
    bool ambiguous = false;
    std::list<uint64_t>::iterator age;
  };
  void Add(cell::Identity identity);
  uint64_t SocketOf(const sockaddr_storage& client, const sockaddr_storage& listener) const;

  UniqueFd arriving_, table_;
  std::function<void(const cell::Identity&)> on_arrival_;
  std::unordered_map<uint64_t, Known> known_;  // by socket
  std::list<uint64_t> ages_;                   // oldest first
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_IDENTITIES_H_
