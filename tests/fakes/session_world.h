#ifndef ODYSSEY_TESTS_FAKES_SESSION_WORLD_H_
#define ODYSSEY_TESTS_FAKES_SESSION_WORLD_H_

// Sessions with everything they need, on fakes and a temporary directory; can be restarted as
// agentd can.

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agentd/session/sessions.h"
#include "common/message/event_json.h"
#include "tests/fakes/events.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_ids.h"
#include "tests/fakes/fake_model.h"
#include "tests/fakes/fake_sandbox.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::fakes {

class SessionWorld final {
 public:
  // `http_uid`: as --http-uid.
  explicit SessionWorld(FakeModelClient::Function model, session::Sessions::Options options = {},
                        std::optional<uint32_t> http_uid = std::nullopt)
      : http_uid_(http_uid),
        model_(std::make_shared<FakeModelClient>(std::move(model))),
        models_(model_),
        options_(options) {
    for (const char* name : {"/sessions", "/journals", "/bundles"}) {
      std::filesystem::create_directory(state_.path() + name);
    }
    Start();
  }

  // Ends agentd's part in good order and begins it again; the sandbox lives on.
  void Restart() {
    Stop();
    Start();
  }
  void Stop() {
    sessions_.reset();
    approvals_.reset();
    bundles_.reset();
    journals_.reset();
    store_.reset();
  }
  void Start() {
    store_ = std::make_unique<session::SessionStore>(state_.path() + "/sessions");
    ODY_CHECK(store_->Load(&ids_, &warnings_).ok());
    journals_ = std::make_unique<event::JournalStore>(state_.path() + "/journals",
                                                      event::Stamp{&clock_, &ids_});
    bundles_ = std::make_unique<bundle::BundleStore>(state_.path() + "/bundles", &ids_);
    approvals_ = std::make_unique<approval::Registry>();
    session::Runtime runtime;
    runtime.clock = &clock_;
    runtime.ids = &ids_;
    runtime.store = store_.get();
    runtime.journals = journals_.get();
    runtime.bundles = bundles_.get();
    runtime.approvals = approvals_.get();
    runtime.sandbox = &sandbox_;
    runtime.models = &models_;
    runtime.tools = &tools_;
    runtime.supervisor_patience = std::chrono::milliseconds(400);  // one or two tries more
    runtime.policy_directory = state_.path() + "/policy.d";
    runtime.tokens = &tokens_;
    runtime.http_uid = http_uid_;
    runtime.may_connect = [this](uint32_t uid) { return uid != locked_out_; };
    sessions_ = std::make_unique<session::Sessions>(runtime, options_);
    for (std::string& warning : sessions_->Recover()) warnings_.push_back(std::move(warning));
  }

  session::Sessions& sessions() { return *sessions_; }
  session::SessionStore& store() { return *store_; }
  approval::Registry& approvals() { return *approvals_; }
  bundle::BundleStore& bundles() { return *bundles_; }
  FakeSandbox& sandbox() { return sandbox_; }
  FakeModelClient& model() { return *model_; }
  FakeModelSource& models() { return models_; }
  FakeClock& clock() { return clock_; }
  token::TokenStore& tokens() { return tokens_; }
  // A uid that may connect no longer.
  void LockOut(uint32_t uid) { locked_out_ = uid; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::string& state() const { return state_.path(); }

  // The id of a new session of the bundle in `directory`.
  std::string Create(const std::string& directory) {
    Result<session::SessionPtr> created = sessions_->Create({directory, "/", {}, ""});
    if (!created.ok()) std::fprintf(stderr, "%s\n", created.status().ToString().c_str());
    ODY_CHECK(created.ok());
    return (*created)->id;
  }
  std::string Submit(const std::string& session_id, const std::string& prompt = "go") {
    Result<session::Submitted> submitted = sessions_->Submit(session_id, prompt);
    if (!submitted.ok()) std::fprintf(stderr, "%s\n", submitted.status().ToString().c_str());
    ODY_CHECK(submitted.ok());
    return submitted->turn_id;
  }

  // Blocks until the journal holds an event of this kind after `after`; returns it.
  event::Event Await(const std::string& session_id, event::Event::PayloadCase kind,
                     uint64_t after = 0) {
    const std::shared_ptr<event::Journal> journal = *sessions_->JournalOf(session_id);
    for (uint64_t sequence = after;;) {
      const std::vector<event::Event> events = *journal->ReadAfter(sequence, 100);
      for (const event::Event& event : events) {
        if (event.payload_case() == kind) return event;
        sequence = event.sequence();
      }
      std::promise<void> more;
      if (journal->NotifyAfter(sequence, [&more] { more.set_value(); })) more.get_future().wait();
    }
  }

  // Blocks until the turn has ended; its record.
  session::TurnRecord AwaitEnd(const std::string& session_id, const std::string& turn_id) {
    const std::shared_ptr<event::Journal> journal = *sessions_->JournalOf(session_id);
    for (;;) {
      const uint64_t sequence = journal->last_sequence();
      const session::TurnRecord turn = *sessions_->GetTurn(session_id, turn_id);
      // The event of the end comes after the record of it.
      if (!session::IsOpen(turn.status) && turn.announced) return turn;
      std::promise<void> more;
      if (!session::IsOpen(turn.status)) continue;
      if (journal->NotifyAfter(sequence, [&more] { more.set_value(); })) more.get_future().wait();
    }
  }

  // Blocks until no turn or command is in the session's queue: a turn's client may see its end
  // before. A job may run.
  void AwaitEmptyQueue(const std::string& session_id) {
    (void)sessions_->WhileIdle(session_id, [] { return OkStatus(); });
  }

  // A turn to its end, with an empty queue behind it.
  session::TurnRecord RunTurn(const std::string& session_id, const std::string& prompt = "go") {
    const session::TurnRecord turn = AwaitEnd(session_id, Submit(session_id, prompt));
    AwaitEmptyQueue(session_id);
    return turn;
  }

  // A session's events, in order.
  std::vector<event::Event> Events(const std::string& session_id) {
    const std::shared_ptr<event::Journal> journal = *sessions_->JournalOf(session_id);
    std::vector<event::Event> out;
    while (out.size() < journal->last_sequence()) {
      const std::vector<event::Event> more = *journal->ReadAfter(out.size(), 100);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
  // Without the steps of turns.
  std::vector<std::string> EventNames(const std::string& session_id) {
    std::vector<std::string> out;
    for (const event::Event& event : Events(session_id)) {
      if (!event.has_turn_step()) out.push_back(message::TypeName(event));
    }
    return out;
  }

 private:
  TemporaryDirectory state_;
  FakeClock clock_;
  FakeIds ids_;
  token::TokenStore tokens_{state_.path() + "/tokens.json", &clock_, &ids_};
  const std::optional<uint32_t> http_uid_;
  uint32_t locked_out_ = 4242;
  FakeSandbox sandbox_;
  const std::shared_ptr<FakeModelClient> model_;
  FakeModelSource models_;
  const tools::ToolRegistry tools_;
  const session::Sessions::Options options_;
  std::vector<std::string> warnings_;
  std::unique_ptr<session::SessionStore> store_;
  std::unique_ptr<event::JournalStore> journals_;
  std::unique_ptr<bundle::BundleStore> bundles_;
  std::unique_ptr<approval::Registry> approvals_;
  std::unique_ptr<session::Sessions> sessions_;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_SESSION_WORLD_H_
