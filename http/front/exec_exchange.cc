#include "http/front/exec_exchange.h"

#include <algorithm>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "http/shape/message_body.h"

namespace odyssey::front {
namespace {

namespace sup = supervisor::v1;
using shape::Json;

constexpr uint64_t kDefaultOutputBytes = 1024 * 1024;
constexpr uint64_t kMaxOutputBytes = 8 * 1024 * 1024;
constexpr unsigned kUnprocessable = 422;
constexpr size_t kStdinBytes = 256 * 1024;  // of one message

struct Command {
  sup::ExecStart start;
  std::string input;
};

// The fields of ExecStart that a client of HTTP has, `stdin` and `max_output_bytes`.
Result<Command> ReadCommand(Json body, const std::string& session_id) {
  constexpr const char* kOfStart[] = {"argv", "cwd", "env", "wall_clock_ms"};
  Command out;
  uint64_t most = kDefaultOutputBytes;
  if (const auto input = body.find("stdin"); input != body.end()) {
    if (!input->is_string()) {
      return Refused(Code::kInvalidArgument, "stdin", "", "must be a string");
    }
    out.input = input->get<std::string>();
    body.erase(input);
  }
  if (const auto bytes = body.find("max_output_bytes"); bytes != body.end()) {
    if (!bytes->is_number_unsigned() || bytes->get<uint64_t>() == 0 ||
        bytes->get<uint64_t>() > kMaxOutputBytes) {
      return Refused(Code::kInvalidArgument, "max_output_bytes", bytes->dump(),
                     "must be a number from 1 to " + std::to_string(kMaxOutputBytes));
    }
    most = bytes->get<uint64_t>();
    body.erase(bytes);
  }
  for (const auto& [key, value] : body.items()) {
    if (std::find(std::begin(kOfStart), std::end(kOfStart), key) == std::end(kOfStart)) {
      return Refused(Code::kInvalidArgument, SanitizeUtf8(key), "", "there is no such field");
    }
  }
  ODY_RETURN_IF_ERROR(shape::ReadMessage(body, &out.start));
  if (out.start.argv().empty()) {
    return Refused(Code::kInvalidArgument, "argv", "", "must have a word");
  }
  out.start.set_cell_id(session_id);
  out.start.set_open_stdin(!out.input.empty());
  out.start.set_stdout_cap_bytes(most);
  out.start.set_stderr_cap_bytes(most);
  return out;
}

}  // namespace

void ExecExchange::Start() {
  const Result<Json> body = shape::ParseObject(request_.body);
  if (!body.ok()) return Fail(body.status());
  const Result<Command> command = ReadCommand(*body, SessionId());
  if (!command.ok()) return FailWith(kUnprocessable, command.status());
  call_ = Open(api::CallPath(*api::MethodOf(*request_.route)), request_.route->deadline_ms);
  sup::ExecRequest message;
  *message.mutable_start() = command->start;
  call_->Send(message);
  const std::string& input = command->input;
  for (size_t at = 0; at < input.size(); at += kStdinBytes) {
    message.set_stdin(input.substr(at, kStdinBytes));
    call_->Send(message);
  }
  if (!input.empty()) {
    message.set_stdin_eof(true);
    call_->Send(message);
  }
}

void ExecExchange::OnProgress() {
  sup::ExecResponse message;
  while (call_->Receive(&message)) {
    if (message.has_started()) exec_id_ = message.started().exec_id();
    if (message.has_denial()) denials_.push_back(message.denial());
    if (message.has_outcome()) outcome_ = message.outcome();
    if (!message.has_output()) continue;
    const bool is_error = message.output().stream() == sup::OUTPUT_STREAM_STDERR;
    (is_error ? stderr_ : stdout_) += message.output().data();
  }
  if (!call_->ended()) return;
  if (!call_->status().ok()) return Fail(call_->status());
  ReplyJson(Answer());
}

std::string ExecExchange::Answer() const {
  Json out = {{"exec_id", exec_id_},
              {"outcome", Json::parse(shape::WriteMessage(outcome_))},
              {"stdout", SanitizeUtf8(stdout_)},
              {"stderr", SanitizeUtf8(stderr_)},
              {"denials", Json::array()}};
  for (const sup::Denial& each : denials_) {
    out["denials"].push_back(Json::parse(shape::WriteMessage(each)));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace odyssey::front
