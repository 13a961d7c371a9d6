#ifndef ODYSSEY_SUPERVISOR_RPC_RUN_USE_H_
#define ODYSSEY_SUPERVISOR_RPC_RUN_USE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "supervisor/rpc/file_transfer.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {

// A run that stays while this lives, and the way to its files.
class RunUse final {
 public:
  RunUse(uint64_t run, AskWorker ask, std::function<void()> release)
      : name_(cell::RunName(run)), ask_(std::move(ask)), release_(std::move(release)) {}
  ~RunUse() { release_(); }
  RunUse(const RunUse&) = delete;
  RunUse& operator=(const RunUse&) = delete;

  const std::string& name() const { return name_; }
  const AskWorker& ask() const { return ask_; }

 private:
  const std::string name_;
  const AskWorker ask_;
  const std::function<void()> release_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_RUN_USE_H_
