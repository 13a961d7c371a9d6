#include "mcp/agent/agent_calls.h"

#include <utility>

#include "common/rpc/call_status.h"

namespace odyssey::mcp {

// Outlives the owner while one of its functions runs, which may destroy the owner.
struct AgentCalls::State {
  struct Entry {
    std::shared_ptr<upstream::AgentCall> call;
    std::unique_ptr<google::protobuf::MessageLite> part;
    OnPart on_part;
    OnEnd on_end;
  };

  void OnProgress(uint64_t key) {
    const auto found = entries.find(key);
    if (found == entries.end()) return;
    const std::shared_ptr<Entry> entry = found->second;
    while (entry->call->Receive(entry->part.get())) {
      entry->on_part(*entry->part);
      if (entries.count(key) == 0) return;
    }
    if (!entry->call->ended()) return;
    entries.erase(key);
    const Status& status = entry->call->status();
    if (status.detail().hint == rpc::kHintConnectionLost) {
      return entry->on_end(
          Unavailable("odyssey-agentd does not answer; try again, and see odyssey-ctl status"));
    }
    entry->on_end(status);
  }

  upstream::AgentLink* link = nullptr;
  std::string token;
  uint64_t last = 0;
  std::map<uint64_t, std::shared_ptr<Entry>> entries;
};

AgentCalls::AgentCalls(upstream::AgentLink* link, std::string token)
    : state_(std::make_shared<State>()) {
  state_->link = link;
  state_->token = std::move(token);
}

AgentCalls::~AgentCalls() { state_->entries.clear(); }

uint64_t AgentCalls::Open(const std::string& path, int deadline_ms,
                          const google::protobuf::MessageLite& request,
                          std::unique_ptr<google::protobuf::MessageLite> part, OnPart on_part,
                          OnEnd on_end) {
  const uint64_t key = ++state_->last;
  auto call = state_->link->Open(path, state_->token, deadline_ms,
                                 [weak = std::weak_ptr<State>(state_), key] {
                                   if (const auto state = weak.lock()) state->OnProgress(key);
                                 });
  call->Send(request);
  call->CloseSend();
  state_->entries[key] = std::make_shared<State::Entry>(
      State::Entry{std::move(call), std::move(part), std::move(on_part), std::move(on_end)});
  return key;
}

void AgentCalls::Drop(uint64_t key) { state_->entries.erase(key); }

bool AgentCalls::empty() const { return state_->entries.empty(); }

}  // namespace odyssey::mcp
