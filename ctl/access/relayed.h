#ifndef ODYSSEY_CTL_ACCESS_RELAYED_H_
#define ODYSSEY_CTL_ACCESS_RELAYED_H_

#include <poll.h>

#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/exec/exec_pump.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

// One accepted connection and the Exec stream to a port of a cell. For a poll loop, which pumps the
// stream's channel; nothing here blocks. Either side may end its half first. What one side does not
// take holds the other back: at most one message of each is kept.
class Relayed final {
 public:
  // `socket` does not block. `stream` is of a call that has just been made.
  Relayed(UniqueFd socket, ExecStream stream, const std::string& cell_id, uint16_t port);

  // What to poll for; fd -1: nothing.
  pollfd Polled() const;
  // After poll and the channel's Pump.
  void Go(short ready);

  bool over() const;
  // Once it is over: what kept the connection from being made or ended it, OK if nothing did.
  const Status& why() const { return why_; }
  // `why` is of the call, not of the port: the next would fail too.
  bool refused() const { return refused_; }

 private:
  void ReadSocket();
  void WriteSocket();
  void TakeAnswers();
  void Conclude();
  void Abandon();

  const UniqueFd socket_;
  ExecStream stream_;
  bool in_open_ = true;   // the socket may send more
  bool out_open_ = true;  // the cell may
  std::string pending_;   // for the socket
  std::optional<supervisor::v1::ExecOutcome> outcome_;
  bool over_ = false;
  Status why_;
  bool refused_ = false;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACCESS_RELAYED_H_
