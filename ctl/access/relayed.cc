#include "ctl/access/relayed.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;

constexpr size_t kPiece = 256 * 1024;

}  // namespace

Relayed::Relayed(UniqueFd socket, ExecStream stream, const std::string& cell_id, uint16_t port)
    : socket_(std::move(socket)), stream_(std::move(stream)) {
  ExecRequest request;
  request.mutable_start()->set_cell_id(cell_id);
  request.mutable_start()->set_port(port);
  stream_.call()->Send(request);
}

pollfd Relayed::Polled() const {
  short events = 0;
  if (in_open_ && stream_.call()->sent() && !stream_.call()->done()) events |= POLLIN;
  if (!pending_.empty()) events |= POLLOUT;
  return {events == 0 ? -1 : socket_.get(), events, 0};
}

void Relayed::Go(short ready) {
  if ((ready & (POLLIN | POLLERR | POLLHUP)) != 0 && in_open_) ReadSocket();
  WriteSocket();
  TakeAnswers();
  if (stream_.call()->done() && pending_.empty() && !stream_.call()->HasMessage()) Conclude();
}

bool Relayed::over() const { return over_; }

void Relayed::ReadSocket() {
  if (!stream_.call()->sent() || stream_.call()->done()) return;
  ExecRequest request;
  std::string* piece = request.mutable_stdin();
  piece->resize(kPiece);
  const ssize_t n = read(socket_.get(), piece->data(), piece->size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n < 0) return Abandon();
  piece->resize(static_cast<size_t>(n));
  in_open_ = n > 0;
  if (!in_open_) request.set_stdin_eof(true);
  stream_.call()->Send(request);
}

void Relayed::WriteSocket() {
  while (!pending_.empty()) {
    const ssize_t n = send(socket_.get(), pending_.data(), pending_.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      pending_.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      return Abandon();
    }
  }
}

void Relayed::TakeAnswers() {
  ExecResponse response;
  while (pending_.empty() && stream_.call()->Receive(&response)) {
    if (response.has_outcome()) outcome_ = response.outcome();
    if (!response.has_output() || !out_open_) continue;
    out_open_ = !response.output().end();
    if (out_open_) {
      pending_ = response.output().data();
      WriteSocket();
    } else {
      shutdown(socket_.get(), SHUT_WR);
    }
  }
}

// The client is gone.
void Relayed::Abandon() {
  over_ = true;
  stream_.Cancel();
}

void Relayed::Conclude() {
  over_ = true;
  refused_ = !stream_.call()->status().ok();
  why_ = stream_.call()->status();
  if (refused_ || !outcome_) return;
  const bool exited = outcome_->kind() == supervisor::v1::OUTCOME_KIND_EXITED;
  if (!exited) why_ = FailedPrecondition(outcome_->message());
}

}  // namespace odyssey::ctl
