#include "supervisor/rpc/run_output.h"

#include <utility>

namespace odyssey::supervisor {
namespace {

// Of one request. Several of these may wait before the command does.
constexpr size_t kChunk = 1024 * 1024;
constexpr size_t kMaxWaiting = 2 * kChunk;

}  // namespace

void RunOutput::Add(std::string_view bytes) {
  if (!failure_.ok() || closed_) return;
  const std::string_view kept = bytes.substr(0, kMaxKeptBytes - accepted_);
  waiting_ += kept;
  accepted_ += kept.size();
  if (kept.size() < bytes.size()) {
    failure_ = ResourceExhausted("at most " + std::to_string(kMaxKeptBytes) + " bytes are kept");
  }
  WriteSome();
}

bool RunOutput::full() const { return waiting_.size() >= kMaxWaiting; }

// One request at a time, which takes what has come meanwhile: small pieces of output become few
// requests.
void RunOutput::WriteSome() {
  if (writing_ || waiting_.empty()) return;
  writing_ = true;
  piece_ = waiting_.substr(0, kChunk);
  waiting_.erase(0, piece_.size());
  if (written_ > 0) return Write();
  // A file of an earlier command goes first.
  wiring_.ask({.op = tool::Op::kDiscard, .path = path_},
              [self = shared_from_this()](const Result<tool::Response>&) { self->Write(); });
}

void RunOutput::Write() {
  const tool::Request request{.op = written_ == 0 ? tool::Op::kCreate : tool::Op::kAppend,
                              .path = path_,
                              .offset = written_,
                              .content = piece_};
  wiring_.ask(request, [self = shared_from_this()](const Result<tool::Response>& response) {
    self->OnWritten(response.status());
  });
}

void RunOutput::OnWritten(const Status& status) {
  writing_ = false;
  if (status.ok()) {
    written_ += piece_.size();
  } else {
    failure_ = status;
    waiting_.clear();
  }
  WriteSome();
  wiring_.progress();
}

}  // namespace odyssey::supervisor
