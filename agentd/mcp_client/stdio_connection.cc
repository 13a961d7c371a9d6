#include "agentd/mcp_client/stdio_connection.h"

#include <algorithm>
#include <utility>

#include "agentd/tool/command_outcome.h"
#include "common/base/utf8.h"

namespace odyssey::mcp_client {
namespace {

namespace pb = ::odyssey::supervisor::v1;

constexpr size_t kKeptNoise = 2048;

pb::ExecStart WithStdin(pb::ExecStart start) {
  start.set_open_stdin(true);
  return start;
}

}  // namespace

StdioConnection::StdioConnection(sandbox::Sandbox* sandbox, pb::ExecStart start)
    : start_(WithStdin(std::move(start))), thread_([this, sandbox] { Run(sandbox); }) {}

StdioConnection::~StdioConnection() {
  stop_.request_stop();
  thread_.join();
}

// ── The process's thread ────────────────────────────────────────────────────────────────────────

void StdioConnection::Run(sandbox::Sandbox* sandbox) {
  sandbox::ExecSink sink;
  sink.started = [](const pb::ExecStarted&) { return OkStatus(); };
  sink.output = [this](const pb::ExecOutput& output) { return OnOutput(output); };
  sink.denied = [this](const pb::Denial& denial) {
    std::lock_guard lock(mutex_);
    denials_.push_back(denial);
    return OkStatus();
  };
  sink.decided = [this](const pb::EgressDecision& decision) {
    std::lock_guard lock(mutex_);
    decisions_.push_back(decision);
    return OkStatus();
  };
  sink.feed = &feed_;
  const Result<pb::ExecOutcome> ended = sandbox->Exec(start_, sink, stop_.get_token());
  feed_.End();
  std::lock_guard lock(mutex_);
  end_ = WhyEndedLocked(ended);
  ended_ = true;
  changed_.notify_all();
}

Status StdioConnection::OnOutput(const pb::ExecOutput& output) {
  if (output.stream() == pb::OUTPUT_STREAM_STDERR) {
    KeepNoise(output.data());
    return OkStatus();
  }
  {
    std::lock_guard lock(mutex_);
    unasked_bytes_ += output.data().size();
    if (unasked_bytes_ > kMaxUnaskedBytes) {
      return Aborted("the server sent more than " + std::to_string(kMaxUnaskedBytes) +
                     " bytes for one call");
    }
  }
  lines_.Feed(output.data());
  while (const std::optional<std::string> line = lines_.Next()) {
    ODY_RETURN_IF_ERROR(OnLine(*line));
  }
  return OkStatus();
}

// Some servers print words for people on stdout. What looks like a message has to be one.
Status StdioConnection::OnLine(const std::string& line) {
  const bool is_message = line.front() == '{' || line.size() > kMaxMessageBytes;
  if (!is_message) {
    KeepNoise(line + "\n");
    return OkStatus();
  }
  RpcMessage message = ParseRpcMessage(line);
  if (const auto* invalid = std::get_if<RpcInvalid>(&message)) {
    return Aborted("the server sent what is no message of the protocol: " + invalid->error.message);
  }
  // What cannot be written now is not: such a server reads nothing.
  if (const auto* request = std::get_if<RpcRequest>(&message)) {
    const bool ping = request->method == "ping";
    (void)feed_.Write(ping ? FormatRpcResult(request->id, Json::object())
                           : FormatRpcError(request->id, {RpcCode::kMethodNotFound,
                                                          "this client serves no requests"}));
    return OkStatus();
  }
  std::lock_guard lock(mutex_);
  if (const auto* told = std::get_if<RpcNotification>(&message)) {
    list_changed_ = list_changed_ || told->method == kListChangedMethod;
    return OkStatus();
  }
  auto& answer = std::get<RpcResponse>(message);
  const int64_t id = answer.id.is_number_integer() ? answer.id.get<int64_t>() : 0;
  if (waiting_.erase(id) == 0) return OkStatus();  // of a call that was given up
  answers_[id] = std::move(answer);
  changed_.notify_all();
  return OkStatus();
}

void StdioConnection::KeepNoise(std::string_view text) {
  std::lock_guard lock(mutex_);
  noise_ += text.substr(text.size() - std::min(text.size(), kKeptNoise));
  if (noise_.size() > kKeptNoise) noise_.erase(0, noise_.size() - kKeptNoise);
}

// ── Other threads ───────────────────────────────────────────────────────────────────────────────

// Caller holds mutex_.
Status StdioConnection::WhyEndedLocked(const Result<pb::ExecOutcome>& ended) const {
  if (!ended.ok()) {
    const bool stopped = ended.status().code() == Code::kCancelled;
    return stopped ? Aborted("the server was ended") : ended.status();
  }
  std::string why = tools::Exited(*ended)
                        ? "the server exited with code " + std::to_string(ended->exit_code())
                        : "the server ended: " + tools::WhyEnded(*ended, start_.argv(0));
  const size_t end = noise_.find_last_not_of(" \t\r\n");
  if (end != std::string::npos) why += "; it printed: " + SanitizeUtf8(noise_.substr(0, end + 1));
  return Aborted(std::move(why));
}

// Caller holds mutex_.
void StdioConnection::TakeEndLocked(Exchange* out) {
  out->status = end_;
  out->denials = std::exchange(denials_, {});
  out->decisions = std::exchange(decisions_, {});
}

Exchange StdioConnection::Call(const std::string& method, const Json& params,
                               const CallTerms& terms) {
  Exchange out;
  std::unique_lock lock(mutex_);
  if (ended_) {
    TakeEndLocked(&out);
    return out;
  }
  const int64_t id = ++last_id_;
  const std::string line = FormatRpcRequest(id, method, params);
  if (line.size() > kMaxRequestBytes) {
    out.status = InvalidArgument("the arguments have more than " +
                                 std::to_string(kMaxRequestBytes) + " bytes");
    return out;
  }
  unasked_bytes_ = 0;
  const Status written = feed_.Write(line);
  if (!written.ok() && written.code() != Code::kFailedPrecondition) {
    out.status = Aborted("the server does not read what it is sent: " + written.message());
    return out;
  }
  waiting_.insert(id);
  const auto settled = [&] { return ended_ || answers_.count(id) != 0; };
  const bool in_time = changed_.wait_for(lock, terms.stop, terms.timeout, settled);
  waiting_.erase(id);
  if (const auto found = answers_.find(id); found != answers_.end()) {
    out.result = std::move(found->second.result);
    out.error = std::move(found->second.error);
    answers_.erase(found);
    return out;
  }
  if (ended_) {
    TakeEndLocked(&out);
    return out;
  }
  ODY_CHECK(!in_time);
  const bool stopped = terms.stop.stop_requested();
  const std::string seconds = std::to_string(terms.timeout.count() / 1000);
  out.status = stopped ? Cancelled("the call was cancelled")
                       : Status(Code::kDeadlineExceeded, "the server did not answer " + method +
                                                             " within " + seconds + " s");
  const Json why = {{"requestId", id}, {"reason", stopped ? "cancelled" : "no answer in time"}};
  if (method != "initialize") (void)feed_.Write(FormatRpcNotification(kCancelledMethod, why));
  return out;
}

Exchange StdioConnection::Notify(const std::string& method, const Json& params, const CallTerms&) {
  Exchange out;
  out.status = feed_.Write(FormatRpcNotification(method, params));
  return out;
}

bool StdioConnection::is_open() const {
  std::lock_guard lock(mutex_);
  return !ended_;
}

bool StdioConnection::TakeListChanged() {
  std::lock_guard lock(mutex_);
  return std::exchange(list_changed_, false);
}

void StdioConnection::End() {
  stop_.request_stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_; });
}

}  // namespace odyssey::mcp_client
