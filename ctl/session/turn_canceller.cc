#include "ctl/session/turn_canceller.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "ctl/client/client.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {

TurnCanceller::TurnCanceller(const Console& console, Locations locations, std::string session_id,
                             std::string turn_id)
    : console_(console),
      locations_(std::move(locations)),
      session_id_(std::move(session_id)),
      turn_id_(std::move(turn_id)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Cancel(); }) {}

TurnCanceller::~TurnCanceller() {
  const uint64_t one = 1;
  ODY_CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  Wait();
}

void TurnCanceller::Wait() {
  if (thread_.joinable()) thread_.join();
}

void TurnCanceller::Cancel() {
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return;
  agent::v1::CancelTurnRequest request;
  request.set_session_id(session_id_);
  request.set_turn_id(turn_id_);
  agent::v1::CancelTurnResponse response;
  const agent::v1::SessionServiceStub stub(client->channel());
  const Status status = stub.CancelTurn({kCellCallMs, stop_.get()}, request, &response);
  if (!status.ok() && status.code() != Code::kCancelled) {
    console_.Fail(client->Explain("cancel the turn", status));
  }
}

}  // namespace odyssey::ctl
