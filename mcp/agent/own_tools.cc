#include "mcp/agent/own_tools.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "odyssey/agent/v1/cell.pb.h"
#include "odyssey/supervisor/v1/changes.pb.h"

namespace odyssey::mcp {
namespace {

namespace pb = agent::v1;
namespace sup = supervisor::v1;

constexpr int kQuickMs = 60'000;
constexpr int kSlowMs = 30 * 60'000;  // waits for a cell, or disks
constexpr uint64_t kDiffBytes = 1024 * 1024;
// As PermissionRequested.diff.
constexpr size_t kShownDiffBytes = 64 * 1024;
constexpr uint32_t kMaxListed = 1000;
constexpr size_t kMaxDenials = 100;
constexpr size_t kMaxOpened = 8;
constexpr std::chrono::minutes kAnswerWithin{10};
constexpr char kApproval[] = "approval";

uint64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string SessionCall(const char* method) {
  return std::string("/odyssey.agent.v1.SessionService/") + method;
}
std::string CellCall(const char* method) {
  return std::string("/odyssey.agent.v1.CellService/") + method;
}
std::string ChangesCall(const char* method) {
  return std::string("/odyssey.supervisor.v1.Changes/") + method;
}

}  // namespace

// One call of such a tool. Its lambdas live no longer than the scope, whose calls have them.
class OwnTools::Run final : public std::enable_shared_from_this<OwnTools::Run> {
 public:
  Run(AgentScope* scope, std::shared_ptr<Call> call, ToolRequest tool)
      : scope_(scope), call_(std::move(call)), tool_(std::move(tool)) {}

  // In the session that the call names, or the own one.
  void InSession(void (Run::*then)()) {
    scope_->WithSession(tool_.session, [self = shared_from_this(), then](const Status& status,
                                                                         const std::string& id) {
      if (!status.ok()) return self->Fail(status);
      self->session_id_ = id;
      (self.get()->*then)();
    });
  }

  void Diff() {
    sup::DiffChangesRequest request;
    request.mutable_key()->set_session_id(session_id_);
    request.set_max_bytes(kDiffBytes);
    if (!Select(request.mutable_selections())) return;
    ReadDiff(request, [](Run* self, const std::string& text, bool truncated) {
      self->call_->Answer(Success({{"diff", text}, {"truncated", truncated}}));
    });
  }

  // Shows a person what would be committed, and then commits exactly that.
  void Commit() {
    sup::ListChangesRequest request;
    request.mutable_key()->set_session_id(session_id_);
    if (!Select(request.mutable_selections())) return;
    if (Json state = State(); !state.is_null()) return Answered(state, &Run::SendCommit);
    auto changes = std::make_shared<Json>(Json::array());
    auto digest = std::make_shared<std::string>();
    scope_->calls_.Open(
        ChangesCall("ListChanges"), kSlowMs, request, std::make_unique<sup::ListChangesResponse>(),
        [changes, digest](const auto& part) {
          const auto& answer = static_cast<const sup::ListChangesResponse&>(part);
          if (answer.has_end()) *digest = answer.end().digest();
          if (!answer.has_change()) return;
          const sup::Change& change = answer.change();
          const std::string mark = change.mark().empty() ? "" : " (marked: " + change.mark() + ")";
          changes->push_back(change.host_path() + mark);
        },
        [self = shared_from_this(), changes, digest](const Status& status) {
          if (!status.ok()) return self->Fail(status);
          if (changes->empty()) {
            return self->call_->Answer(Success({{"committed", 0}, {"refused", Json::array()}}));
          }
          self->AskCommit(*changes, *digest);
        });
  }

  void Undo() {
    if (Json state = State(); !state.is_null()) return Answered(state, &Run::SendUndo);
    Newest([](Run* self, uint64_t newest) {
      if (newest == 0) return self->call_->Answer(Failure("undo: there is no commit to undo"));
      pb::PermissionRequested question;
      question.set_tool_name("undo");
      question.set_arguments_json(Json{{"commit", newest}}.dump());
      self->AskPerson(question, {{"commit", newest}}, &Run::SendUndo);
    });
  }

  void Denials() {
    pb::SubscribeRequest request;
    request.set_session_id(session_id_);
    auto denials = std::make_shared<Json>(Json::array());
    scope_->calls_.Open(
        SessionCall("Subscribe"), kSlowMs, request, std::make_unique<pb::Event>(),
        [denials](const auto& part) {
          const auto& event = static_cast<const pb::Event&>(part);
          if (!event.has_access_denied()) return;
          const sup::Denial& denial = event.access_denied().denial();
          if (denials->size() == kMaxDenials) denials->erase(denials->begin());
          denials->push_back({{"kind", denial.kind()},
                              {"resource", denial.resource()},
                              {"access", denial.access()},
                              {"rule", denial.rule()},
                              {"grant", denial.grant()},
                              {"process", denial.process()}});
        },
        [self = shared_from_this(), denials](const Status& status) {
          if (!status.ok()) return self->Fail(status);
          self->call_->Answer(Success({{"denials", *denials}}));
        });
  }

  void CheckPolicy() {
    pb::ExplainPolicyRequest request;
    request.set_session_id(session_id_);
    if (!PutQuestion(&request)) return;
    scope_->calls_.Ask<pb::ExplainPolicyResponse>(
        CellCall("ExplainPolicy"), kSlowMs, request,
        [self = shared_from_this()](const Status& status, const pb::ExplainPolicyResponse& answer) {
          if (!status.ok()) return self->Fail(status);
          Json plan = Json::array();
          for (const std::string& line : answer.plan()) plan.push_back(line);
          Json out = {{"plan", std::move(plan)}, {"network_policy", answer.network_policy()}};
          if (!answer.refusal().empty()) out["refusal"] = answer.refusal();
          if (answer.has_decision()) {
            const pb::PolicyDecision& decision = answer.decision();
            out = {{"verdict", decision.verdict()},
                   {"rule", decision.rule()},
                   {"reason", decision.reason()}};
          }
          self->call_->Answer(Success(out));
        });
  }

  void ListSessions() {
    pb::ListSessionsRequest request;
    request.set_page_size(kMaxListed);
    scope_->calls_.Ask<pb::ListSessionsResponse>(
        SessionCall("ListSessions"), kQuickMs, request,
        [self = shared_from_this()](const Status& status, const pb::ListSessionsResponse& answer) {
          if (!status.ok()) return self->Fail(status);
          Json sessions = Json::array();
          for (const pb::Session& each : answer.sessions()) {
            if (each.model_provider() != kDirectProvider) continue;
            sessions.push_back({{"session", each.id()},
                                {"bundle", each.bundle_ref()},
                                {"cwd", each.cwd()},
                                {"review", each.review()},
                                {"created_at", each.created_at()},
                                {"own", each.id() == self->scope_->session_id_}});
          }
          self->call_->Answer(Success({{"sessions", std::move(sessions)}}));
        });
  }

  void OpenSession() {
    const Json review = tool_.arguments.value("review", Json(scope_->caller_.review));
    if (!review.is_boolean()) return Invalid("review: expected true or false");
    if (scope_->opened_.size() >= kMaxOpened) {
      return call_->Answer(Failure("session_open: " + std::to_string(kMaxOpened) +
                                   " sessions are open; close one with session_close"));
    }
    Caller caller = scope_->caller_;
    caller.review = review.get<bool>();
    scope_->options_.create(
        caller, &scope_->calls_,
        [self = shared_from_this()](const Status& status, const pb::Session& session) {
          if (!status.ok()) return self->Fail(status);
          self->scope_->opened_.insert(session.id());
          self->scope_->known_.insert(session.id());
          self->call_->Answer(Success({{"session", session.id()}, {"review", session.review()}}));
        });
  }

  void CloseSession() {
    AgentScope::Remove(&scope_->calls_, session_id_,
                       [self = shared_from_this()](const Status& status) {
                         if (!status.ok()) return self->Fail(status);
                         AgentScope* const scope = self->scope_;
                         scope->opened_.erase(self->session_id_);
                         scope->known_.erase(self->session_id_);
                         if (scope->session_id_ == self->session_id_) scope->session_id_.clear();
                         self->call_->Answer(Success({{"closed", self->session_id_}}));
                       });
  }

 private:
  void Fail(const Status& status) { call_->Fail(status); }
  void Invalid(const std::string& why) {
    call_->Fail(RpcError{RpcCode::kInvalidParams, "arguments." + why, {}});
  }

  // At most one of three. False: the answer is what is wrong.
  bool PutQuestion(pb::ExplainPolicyRequest* out) {
    size_t asked = 0;
    for (const char* const name : {"path", "destination", "command"}) {
      const Json value = tool_.arguments.value(name, Json());
      if (value.is_null()) continue;
      if (!value.is_string()) return Invalid(std::string(name) + ": expected a string"), false;
      const std::string text = value.template get<std::string>();
      if (name == std::string_view("path")) out->set_path(text);
      if (name == std::string_view("destination")) out->set_destination(text);
      if (name == std::string_view("command")) out->set_command(text);
      ++asked;
    }
    if (asked <= 1) return true;
    return Invalid("path, destination and command: expected at most one of them"), false;
  }

  // Of the arguments `paths` and `marked`. False: the answer is what is wrong.
  template <typename Selections>
  bool Select(Selections* out) {
    const Json paths = tool_.arguments.value("paths", Json::array());
    const Json marked = tool_.arguments.value("marked", Json(false));
    if (!paths.is_array()) return Invalid("paths: expected an array of strings"), false;
    if (!marked.is_boolean()) return Invalid("marked: expected true or false"), false;
    for (const Json& path : paths) {
      if (!path.is_string()) return Invalid("paths: expected an array of strings"), false;
      sup::ChangeSelection* selection = out->Add();
      selection->set_path(path.template get<std::string>());
      selection->set_marked(marked.template get<bool>());
    }
    return true;
  }

  void ReadDiff(const sup::DiffChangesRequest& request,
                std::function<void(Run*, const std::string&, bool truncated)> then) {
    auto text = std::make_shared<std::string>();
    auto truncated = std::make_shared<bool>(false);
    scope_->calls_.Open(
        ChangesCall("DiffChanges"), kSlowMs, request, std::make_unique<sup::DiffChangesResponse>(),
        [text, truncated](const auto& part) {
          const auto& answer = static_cast<const sup::DiffChangesResponse&>(part);
          *text += answer.text();
          *truncated = *truncated || answer.truncated();
        },
        [self = shared_from_this(), text, truncated, then = std::move(then)](const Status& status) {
          if (!status.ok()) return self->Fail(status);
          then(self.get(), *text, *truncated);
        });
  }

  void AskCommit(const Json& changes, const std::string& digest) {
    sup::DiffChangesRequest request;
    request.mutable_key()->set_session_id(session_id_);
    request.set_max_bytes(kShownDiffBytes);
    if (!Select(request.mutable_selections())) return;
    ReadDiff(request, [changes, digest](Run* self, const std::string& text, bool) {
      pb::PermissionRequested question;
      question.set_tool_name("commit");
      question.set_arguments_json(Json{{"changes", changes}}.dump(-1, ' ', /*ensure_ascii=*/false,
                                                                  Json::error_handler_t::replace));
      question.set_diff(text);
      self->AskPerson(question, {{"digest", digest}}, &Run::SendCommit);
    });
  }

  // What the client brings back in the stateless era; null: nothing.
  Json State() {
    const Json& params = call_->request().params;
    const Json state = params.value("requestState", Json());
    if (!call_->stateless() || !state.is_string()) return {};
    return state;
  }

  // A person allows it, and `then` does it with what the person was asked about.
  void AskPerson(const pb::PermissionRequested& question, const Json& about,
                 void (Run::*then)(const Json&)) {
    if (const auto decided = scope_->options_.decide(question, call_->Has("elicitation"))) {
      return Decide(*decided, about, then);
    }
    if (!call_->stateless()) {
      return call_->Ask("elicitation/create", ElicitationOf(question),
                        [self = shared_from_this(), question, about, then](const auto& response) {
                          const Json result = response.error ? Json() : response.result;
                          self->Decide(AnswerOf(question, result), about, then);
                        });
    }
    const Json content = {{"session", session_id_}, {"about", about}};
    call_->Answer(InputRequired(
        {{kApproval, {{"method", "elicitation/create"}, {"params", ElicitationOf(question)}}}},
        scope_->states().Seal(scope_->PurposeOf(tool_), content,
                              NowMs() + std::chrono::milliseconds(kAnswerWithin).count())));
  }

  void Answered(const Json& state, void (Run::*then)(const Json&)) {
    RequestStates& states = scope_->states();
    const Result<Json> content = states.Open(scope_->PurposeOf(tool_), state, NowMs());
    if (!content.ok()) return Fail(content.status());
    const Json responses = call_->request().params.value("inputResponses", Json());
    if (!responses.is_object() || !responses.contains(kApproval)) {
      return call_->Fail(
          RpcError{RpcCode::kInvalidParams, "inputResponses: approval: expected an object", {}});
    }
    if (content->at("session") != session_id_) {
      return Fail(FailedPrecondition("requestState: the session is another one now; call again"));
    }
    states.Spend(state);
    Decide(AnswerOf({}, responses[kApproval]), content->at("about"), then);
  }

  void Decide(const pb::ResolveApprovalRequest& answer, const Json& about,
              void (Run::*then)(const Json&)) {
    if (answer.decision() != pb::DECISION_DENY) return (this->*then)(about);
    call_->Answer(
        Failure(tool_.name + ": denied" + (answer.note().empty() ? "" : ": " + answer.note())));
  }

  void SendCommit(const Json& about) {
    sup::CommitChangesRequest request;
    request.mutable_key()->set_session_id(session_id_);
    request.set_digest(about["digest"].get<std::string>());
    if (!Select(request.mutable_selections())) return;
    scope_->calls_.Ask<sup::CommitChangesResponse>(
        ChangesCall("CommitChanges"), kSlowMs, request,
        [self = shared_from_this()](const Status& status, const sup::CommitChangesResponse& done) {
          if (!status.ok()) return self->Fail(status);
          self->call_->Answer(Success({{"commit", done.commit()},
                                       {"committed", done.committed()},
                                       {"refused", Refused(done.refused())}}));
        });
  }

  void SendUndo(const Json& about) {
    const uint64_t asked = about["commit"].get<uint64_t>();
    Newest([asked](Run* self, uint64_t newest) {
      if (newest != asked) {
        return self->call_->Answer(Failure("undo: commit " + std::to_string(asked) +
                                           " is not the newest one any more; call again"));
      }
      sup::UndoCommitsRequest request;
      request.mutable_key()->set_session_id(self->session_id_);
      self->scope_->calls_.Ask<sup::UndoCommitsResponse>(
          ChangesCall("UndoCommits"), kSlowMs, request,
          [run = self->shared_from_this()](const Status& status,
                                           const sup::UndoCommitsResponse& done) {
            if (!status.ok()) return run->Fail(status);
            run->call_->Answer(
                Success({{"restored", done.restored()}, {"refused", Refused(done.refused())}}));
          });
    });
  }

  // The number of the newest commit; 0: there is none.
  void Newest(std::function<void(Run*, uint64_t)> then) {
    sup::ListCommitsRequest request;
    request.mutable_key()->set_session_id(session_id_);
    scope_->calls_.Ask<sup::ListCommitsResponse>(
        ChangesCall("ListCommits"), kSlowMs, request,
        [self = shared_from_this(), then = std::move(then)](const Status& status,
                                                            const sup::ListCommitsResponse& list) {
          if (!status.ok()) return self->Fail(status);
          uint64_t newest = 0;
          for (const sup::Commit& each : list.commits()) {
            newest = std::max<uint64_t>(newest, each.commit());
          }
          then(self.get(), newest);
        });
  }

  template <typename List>
  static Json Refused(const List& list) {
    Json out = Json::array();
    for (const sup::RefusedChange& each : list) {
      out.push_back({{"path", each.path()}, {"reason", each.reason()}, {"marked", each.marked()}});
    }
    return out;
  }

  AgentScope* const scope_;
  const std::shared_ptr<Call> call_;
  const ToolRequest tool_;
  std::string session_id_;
};

struct OwnTools::Row {
  const char* name;
  const char* description;
  std::string properties;  // of its arguments, in JSON
  bool reads = false;      // changes nothing
  void (Run::*start)() = nullptr;
  // Of the argument `session`. kOwn: without it the call is of the own session, which is made.
  enum class Session { kNone, kOwn, kNamed } session = Session::kOwn;
};

const std::vector<OwnTools::Row>& OwnTools::Table() {
  static const std::string kPaths =
      R"("paths":{"type":"array","items":{"type":"string"},"description":"these alone; a directory means all below it"})";
  static const std::vector<Row> kTable = {
      {.name = "diff",
       .description =
           "Show the changes of a reviewed session that wait for a commit, as git diff does",
       .properties = kPaths,
       .reads = true,
       .start = &Run::Diff},
      {.name = "commit",
       .description =
           "Put the changes of a reviewed session into the host's directories; a person is asked",
       .properties =
           kPaths +
           R"(,"marked":{"type":"boolean","description":"also what is marked: programs of the host would run or obey it"})",
       .start = &Run::Commit},
      {.name = "undo",
       .description = "Take the newest commit of a session back; a person is asked",
       .start = &Run::Undo},
      {.name = "denials",
       .description = "List what the sandbox has refused in a session, the newest last",
       .reads = true,
       .start = &Run::Denials},
      {.name = "policy_check",
       .description = "Ask whether the sandbox would allow something, and by what; without a "
                      "question, show its plan",
       .properties =
           R"("path":{"type":"string","description":"a path of the host: does a command see it, may it write it"},)"
           R"("destination":{"type":"string","description":"HOST or HOST:PORT: does a command reach it"},)"
           R"("command":{"type":"string","description":"a command line: what the rules make of it"})",
       .reads = true,
       .start = &Run::CheckPolicy},
      {.name = "session_open",
       .description =
           "Make a second session with a sandbox of its own; its calls run beside others",
       .properties =
           R"("review":{"type":"boolean","description":"host directories are written on a copy"})",
       .start = &Run::OpenSession,
       .session = Row::Session::kNone},
      {.name = "session_list",
       .description = "List the sessions that calls may name",
       .reads = true,
       .start = &Run::ListSessions,
       .session = Row::Session::kNone},
      {.name = "session_close",
       .description = "Remove a session and its sandbox",
       .start = &Run::CloseSession,
       .session = Row::Session::kNamed}};
  return kTable;
}

const OwnTools::Row* OwnTools::Find(const std::string& name) {
  const std::vector<Row>& table = Table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Row& row) { return name == row.name; });
  return found == table.end() ? nullptr : &*found;
}

std::vector<Json> OwnTools::List() {
  std::vector<Json> out;
  for (const Row& row : Table()) {
    Json schema = {{"type", "object"}, {"properties", Json::parse("{" + row.properties + "}")}};
    if (row.session != Row::Session::kNone) AddSessionArgument(&schema);
    out.push_back({{"name", row.name},
                   {"description", row.description},
                   {"inputSchema", std::move(schema)},
                   {"annotations",
                    {{"readOnlyHint", row.reads},
                     {"destructiveHint", !row.reads},
                     {"openWorldHint", false}}}});
  }
  return out;
}

bool OwnTools::Has(const std::string& name) { return Find(name) != nullptr; }

void OwnTools::Start(AgentScope* scope, const std::shared_ptr<Call>& call, ToolRequest tool) {
  const Row& row = *Find(tool.name);
  if (row.session == Row::Session::kNamed && tool.session.empty()) {
    return call->Fail(RpcError{RpcCode::kInvalidParams, "arguments.session: is required", {}});
  }
  const auto run = std::make_shared<Run>(scope, call, std::move(tool));
  if (row.session != Row::Session::kNone) return run->InSession(row.start);
  (run.get()->*row.start)();
}

}  // namespace odyssey::mcp
