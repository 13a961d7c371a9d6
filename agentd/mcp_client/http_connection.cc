#include "agentd/mcp_client/http_connection.h"

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>
#include <vector>

#include "agentd/mcp_client/http_answer.h"
#include "agentd/tool/command_outcome.h"
#include "common/base/utf8.h"

namespace odyssey::mcp_client {
namespace {

namespace pb = ::odyssey::supervisor::v1;
using std::chrono::milliseconds;

constexpr size_t kKeptError = 4096;
// For curl to end by itself once there is the answer: what it prints last has the session's id.
constexpr milliseconds kTimeToEnd{2'000};
// Beyond curl's own bound.
constexpr uint32_t kGraceMs = 10'000;
// For what is told to a server whose answer no one waits for.
constexpr milliseconds kTellTimeout{2'000};
// Requests of a server that are refused, of one answer.
constexpr size_t kMaxRefused = 16;

constexpr int kNotFound = 404;
constexpr int kFirstError = 300;

// Then the answer is not the server's.
bool WasRefused(const std::vector<pb::EgressDecision>& decisions) {
  return std::any_of(decisions.begin(), decisions.end(), [](const pb::EgressDecision& decision) {
    return decision.verdict() == pb::EGRESS_VERDICT_DENIED;
  });
}

}  // namespace

// One command, on a thread of its own, and what it has printed so far.
class HttpConnection::Post final {
 public:
  Post(sandbox::Sandbox* sandbox, pb::ExecStart start, const std::string& message, int64_t id)
      : start_(std::move(start)), id_(id) {
    (void)feed_.Write(message);  // it has at most kMaxRequestBytes
    feed_.CloseStdin();
    thread_ = std::thread([this, sandbox] { Run(sandbox); });
  }
  ~Post() {
    stop_.request_stop();
    thread_.join();
  }

  // False: `stop`, or the time is over.
  bool Await(const CallTerms& terms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, terms.stop, terms.timeout,
                             [this] { return ended_ || answer_ || !asked_.empty(); });
  }
  void AwaitEnd(milliseconds time) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, time, [this] { return ended_; })) return;
    stop_.request_stop();
    changed_.wait(lock, [this] { return ended_; });
  }
  std::vector<Json> TakeAsked() {
    std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }
  bool settled() {
    std::lock_guard lock(mutex_);
    return ended_ || answer_;
  }
  // Once it has ended.
  std::optional<RpcResponse> answer_;
  bool list_changed_ = false;
  std::string error_;  // stderr
  std::string beginning_;
  Status broken_;  // why the body is no answer
  Result<pb::ExecOutcome> outcome_ = Status(Code::kUnknown, "it runs");
  std::vector<pb::Denial> denials_;
  std::vector<pb::EgressDecision> decisions_;

 private:
  void Run(sandbox::Sandbox* sandbox) {
    sandbox::ExecSink sink;
    sink.started = [](const pb::ExecStarted&) { return OkStatus(); };
    sink.output = [this](const pb::ExecOutput& output) { return OnOutput(output); };
    sink.denied = [this](const pb::Denial& denial) {
      denials_.push_back(denial);
      return OkStatus();
    };
    sink.decided = [this](const pb::EgressDecision& decision) {
      decisions_.push_back(decision);
      return OkStatus();
    };
    sink.feed = &feed_;
    Result<pb::ExecOutcome> ended = sandbox->Exec(start_, sink, stop_.get_token());
    feed_.End();
    if (broken_.ok()) {
      broken_ = body_.Finish([this](const std::string& message) { return OnMessage(message); });
    }
    beginning_ = SanitizeUtf8(body_.beginning());
    std::lock_guard lock(mutex_);
    outcome_ = std::move(ended);
    ended_ = true;
    changed_.notify_all();
  }

  Status OnOutput(const pb::ExecOutput& output) {
    if (output.stream() == pb::OUTPUT_STREAM_STDERR) {
      error_ += output.data();
      if (error_.size() > kKeptError) error_.erase(0, error_.size() - kKeptError);
      return OkStatus();
    }
    broken_ = body_.Push(output.data(),
                         [this](const std::string& message) { return OnMessage(message); });
    return broken_;
  }

  Status OnMessage(const std::string& text) {
    RpcMessage message = ParseRpcMessage(text);
    if (const auto* invalid = std::get_if<RpcInvalid>(&message)) {
      return InvalidArgument(invalid->error.message);
    }
    std::lock_guard lock(mutex_);
    if (const auto* request = std::get_if<RpcRequest>(&message)) {
      if (++refused_ > kMaxRefused) return ResourceExhausted("too many requests of the server's");
      asked_.push_back(request->id);
      changed_.notify_all();
    } else if (const auto* told = std::get_if<RpcNotification>(&message)) {
      list_changed_ = list_changed_ || told->method == kListChangedMethod;
    } else if (auto& answer = std::get<RpcResponse>(message); answer.id == Json(id_) && !answer_) {
      answer_ = std::move(answer);
      changed_.notify_all();
    }
    return OkStatus();
  }

  const pb::ExecStart start_;
  const int64_t id_;
  sandbox::ExecFeed feed_;
  std::stop_source stop_;
  HttpBody body_;  // of the command's thread
  size_t refused_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Json> asked_;  // ids of the server's requests; guarded by mutex_
  bool ended_ = false;       // likewise
  std::thread thread_;       // last: it uses everything above
};

HttpConnection::HttpConnection(sandbox::Sandbox* sandbox, const dialect::McpServerSpec* server,
                               std::string cell_id)
    : sandbox_(sandbox), server_(server), cell_id_(std::move(cell_id)) {}

Exchange HttpConnection::Send(const std::string& message, int64_t id, const CallTerms& terms) {
  Exchange out;
  HttpTerms http;
  {
    std::lock_guard lock(mutex_);
    http = {session_id_, version_, static_cast<uint32_t>(terms.timeout.count())};
  }
  pb::ExecStart start;
  start.set_cell_id(cell_id_);
  for (std::string& word : PostCommand(*server_, http)) start.add_argv(std::move(word));
  start.set_open_stdin(true);
  start.set_default_wall_clock_ms(http.timeout_ms + kGraceMs);
  Post post(sandbox_, std::move(start), message, id);
  bool in_time = true;
  bool settled = false;
  while (in_time && !settled) {
    in_time = post.Await(terms);
    settled = post.settled();
    // What came with the answer, too.
    for (const Json& asked : post.TakeAsked()) Refuse(asked, terms);
  }
  post.AwaitEnd(in_time ? kTimeToEnd : milliseconds(0));
  list_changed_ = list_changed_ || post.list_changed_;
  out.denials = std::move(post.denials_);
  out.decisions = std::move(post.decisions_);
  const HttpFacts facts = ReadFacts(post.error_);
  std::lock_guard lock(mutex_);
  if (!facts.session_id.empty()) session_id_ = facts.session_id;
  if (post.answer_ && facts.status < kFirstError) {
    out.result = std::move(post.answer_->result);
    out.error = std::move(post.answer_->error);
    return out;
  }
  if (!in_time) {
    const bool stopped = terms.stop.stop_requested();
    out.status = stopped ? Cancelled("the call was cancelled")
                         : Status(Code::kDeadlineExceeded,
                                  "the server did not answer within " +
                                      std::to_string(terms.timeout.count() / 1000) + " s");
    return out;
  }
  if (post.outcome_.status().code() == Code::kUnavailable) {
    out.status = post.outcome_.status();
    return out;
  }
  if (facts.status == kNotFound && !http.session_id.empty()) {
    over_ = true;
    out.status = Aborted("the server has ended its session; call it again");
    return out;
  }
  if (WasRefused(out.decisions)) {
    out.status = Aborted(server_->url + " was not reached");
    return out;
  }
  const std::string said = post.beginning_.empty() ? "" : ": " + post.beginning_;
  if (facts.status >= kFirstError) {
    out.status =
        Aborted("the server answered with HTTP status " + std::to_string(facts.status) + said);
  } else if (!post.broken_.ok()) {
    out.status =
        Aborted("the server's answer is no message of the protocol: " + post.broken_.message());
  } else if (facts.status == 0 || !post.outcome_.ok() || !tools::Exited(*post.outcome_)) {
    const std::string why = !post.outcome_.ok() ? post.outcome_.status().message()
                            : !tools::Exited(*post.outcome_)
                                ? tools::WhyEnded(*post.outcome_, kCurl)
                                : facts.complaint;
    out.status = Aborted(server_->url + " was not reached: " + why);
  } else if (id != 0) {
    out.status = Aborted("the server's answer has no message for the call" + said);
  }
  return out;
}

// A request of the server's, for which it may wait before it answers.
void HttpConnection::Refuse(const Json& id, const CallTerms& terms) {
  (void)Send(FormatRpcError(id, {RpcCode::kMethodNotFound, "this client serves no requests"}), 0,
             {std::min(terms.timeout, kTellTimeout), terms.stop});
}

Exchange HttpConnection::Call(const std::string& method, const Json& params,
                              const CallTerms& terms) {
  const int64_t id = ++last_id_;
  const std::string message = FormatRpcRequest(id, method, params);
  if (message.size() > kMaxRequestBytes) {
    Exchange out;
    out.status = InvalidArgument("the arguments have more than " +
                                 std::to_string(kMaxRequestBytes) + " bytes");
    return out;
  }
  Exchange out = Send(message, id, terms);
  const bool given_up =
      out.status.code() == Code::kCancelled || out.status.code() == Code::kDeadlineExceeded;
  if (given_up && method != "initialize") {
    (void)Send(FormatRpcNotification(kCancelledMethod, {{"requestId", id}}), 0, {kTellTimeout, {}});
  }
  return out;
}

Exchange HttpConnection::Notify(const std::string& method, const Json& params,
                                const CallTerms& terms) {
  return Send(FormatRpcNotification(method, params), 0, terms);
}

void HttpConnection::Speak(const std::string& version) {
  std::lock_guard lock(mutex_);
  version_ = version;
}

bool HttpConnection::is_open() const {
  std::lock_guard lock(mutex_);
  return !over_;
}

void HttpConnection::End() {
  std::lock_guard lock(mutex_);
  over_ = true;
}

}  // namespace odyssey::mcp_client
