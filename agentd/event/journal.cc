#include "agentd/event/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/message/event_json.h"
#include "common/message/message_utf8.h"
#include "common/os/file.h"

namespace odyssey::event {
namespace {

constexpr uint64_t kIndexStride = 64;
constexpr size_t kReadBytes = 64 * 1024;

// Reads up to kReadBytes at `offset`, not beyond `end`; appends them to `out`.
Status ReadSome(int fd, const std::string& path, uint64_t offset, uint64_t end, std::string* out) {
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(kReadBytes, end - offset));
  const size_t before = out->size();
  out->resize(before + wanted);
  ssize_t n;
  do {
    n = pread(fd, out->data() + before, wanted, static_cast<off_t>(offset));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return ErrnoStatus(errno, "read " + path);
  if (n == 0) return {Code::kDataLoss, "read " + path + ": shorter than it was written"};
  out->resize(before + static_cast<size_t>(n));
  return OkStatus();
}

}  // namespace

Journal::Journal(UniqueFd fd, std::string path, std::string session_id, Stamp stamp)
    : fd_(std::move(fd)),
      path_(std::move(path)),
      session_id_(std::move(session_id)),
      stamp_(stamp) {}

Result<std::shared_ptr<Journal>> Journal::Open(std::string path, std::string session_id,
                                               Stamp stamp) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  std::shared_ptr<Journal> journal(
      new Journal(std::move(fd), std::move(path), std::move(session_id), stamp));
  ODY_RETURN_IF_ERROR(journal->Recover());
  return journal;
}

void Journal::AddLine(uint64_t bytes) {
  if (last_sequence_ % kIndexStride == 0) offsets_.push_back(size_);
  ++last_sequence_;
  size_ += bytes;
}

Status Journal::Recover() {
  const off_t end = lseek(fd_.get(), 0, SEEK_END);
  if (end < 0) return ErrnoStatus(errno, "seek " + path_);
  std::string chunk;
  uint64_t line_bytes = 0;
  for (uint64_t offset = 0; offset < static_cast<uint64_t>(end); offset += chunk.size()) {
    chunk.clear();
    ODY_RETURN_IF_ERROR(ReadSome(fd_.get(), path_, offset, static_cast<uint64_t>(end), &chunk));
    std::string_view rest = chunk;
    for (size_t newline; (newline = rest.find('\n')) != std::string_view::npos;) {
      AddLine(line_bytes + newline + 1);
      line_bytes = 0;
      rest.remove_prefix(newline + 1);
    }
    line_bytes += rest.size();
  }
  // What follows the last newline was being written when agentd or the machine ended.
  if (line_bytes > 0 && ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) {
    return ErrnoStatus(errno, "truncate " + path_);
  }
  return RecoverLastLine();
}

// After a crash of the machine the last block may be there without its content: such a line is not
// an event and goes the way of a torn one.
Status Journal::RecoverLastLine() {
  if (last_sequence_ == 0) return OkStatus();
  const uint64_t stride_start = offsets_.back();
  std::string tail;
  while (stride_start + tail.size() < size_) {
    ODY_RETURN_IF_ERROR(ReadSome(fd_.get(), path_, stride_start + tail.size(), size_, &tail));
  }
  const size_t previous = tail.rfind('\n', tail.size() - 2);
  const size_t begin = previous == std::string::npos ? 0 : previous + 1;
  Result<Event> last =
      message::DecodeEvent(std::string_view(tail).substr(begin, tail.size() - begin - 1));
  if (last.ok() && last->sequence() == last_sequence_) return OkStatus();
  if (last.ok()) {
    return {Code::kDataLoss, "open " + path_ + ": line " + std::to_string(last_sequence_) +
                                 " holds sequence " + std::to_string(last->sequence())};
  }
  size_ = stride_start + begin;
  --last_sequence_;
  if (last_sequence_ % kIndexStride == 0) offsets_.pop_back();
  if (ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) {
    return ErrnoStatus(errno, "truncate " + path_);
  }
  return RecoverLastLine();
}

Status Journal::WriteLine(const std::string& line) {
  std::string_view rest = line;
  uint64_t offset = size_;
  while (!rest.empty()) {
    const ssize_t n = pwrite(fd_.get(), rest.data(), rest.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write " + path_);
    offset += static_cast<uint64_t>(n);
    rest.remove_prefix(static_cast<size_t>(n));
  }
  return OkStatus();
}

Status Journal::AppendLine(const std::string& line, Durability durability) {
  Status status = WriteLine(line);
  if (status.ok() && durability == Durability::kSynced && fdatasync(fd_.get()) != 0) {
    status = ErrnoStatus(errno, "sync " + path_);
  }
  if (status.ok()) {
    AddLine(line.size());
  } else if (ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) {
    // Bytes beyond size_ are overwritten by the next line; they were to go in case there is none.
    return Status(status.code(), status.message() + " (and it could not be cut back)");
  }
  return status;
}

Result<uint64_t> Journal::Append(Event event, Durability durability) {
  event.set_id(stamp_.ids->New("evt"));
  event.set_session_id(session_id_);
  event.set_created_at(agent::FormatTime(stamp_.clock->Now()));
  message::SanitizeStrings(&event);  // texts of other programs are among them
  std::vector<std::function<void()>> waiters;
  Status status;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return FailedPrecondition("append to " + path_ + ": the session was removed");
    event.set_sequence(last_sequence_ + 1);
    status = AppendLine(message::EncodeEvent(event) + "\n", durability);
    if (status.ok() && followers_ > 0) {
      AddToTail(std::make_shared<const std::string>(event.SerializeAsString()));
    }
    failure_ = status;
    waiters = TakeWaiters();
  }
  for (const auto& ready : waiters) ready();
  ODY_RETURN_IF_ERROR(status);
  return event.sequence();
}

void Journal::AddToTail(Encoded encoded) {
  tail_bytes_ += encoded->size();
  tail_.push_back(std::move(encoded));
  while (tail_bytes_ > kTailBytes && tail_.size() > 1) {
    tail_bytes_ -= tail_.front()->size();
    tail_.pop_front();
  }
}

std::optional<std::vector<Encoded>> Journal::TailAfter(uint64_t sequence, size_t max_events) const {
  std::lock_guard lock(mutex_);
  if (sequence >= last_sequence_) return std::vector<Encoded>();
  const uint64_t before_tail = last_sequence_ - tail_.size();
  if (sequence < before_tail) return std::nullopt;
  const auto begin = tail_.begin() + static_cast<ptrdiff_t>(sequence - before_tail);
  const auto left = static_cast<size_t>(tail_.end() - begin);
  return std::vector<Encoded>(begin, begin + static_cast<ptrdiff_t>(std::min(left, max_events)));
}

void Journal::AddFollower() {
  std::lock_guard lock(mutex_);
  ++followers_;
}

void Journal::RemoveFollower() {
  std::lock_guard lock(mutex_);
  if (--followers_ > 0) return;
  tail_.clear();
  tail_bytes_ = 0;
}

uint64_t Journal::last_sequence() const {
  std::lock_guard lock(mutex_);
  return last_sequence_;
}

Status Journal::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void Journal::ForgetFailure() {
  std::lock_guard lock(mutex_);
  failure_ = OkStatus();
}

Result<std::vector<Event>> Journal::ReadAfter(uint64_t sequence, size_t max_events) const {
  uint64_t offset, end, line;
  {
    std::lock_guard lock(mutex_);
    if (sequence >= last_sequence_) return std::vector<Event>();
    offset = offsets_[sequence / kIndexStride];
    line = sequence / kIndexStride * kIndexStride;  // how many lines are before `offset`
    end = size_;
  }
  // Complete lines below `end` never change, so they are read without the lock.
  std::vector<Event> out;
  std::string buffer;
  size_t begin = 0;
  while (out.size() < max_events) {
    const size_t newline = buffer.find('\n', begin);
    if (newline == std::string::npos) {
      if (offset == end || (!out.empty() && buffer.size() >= kReadBytes)) break;
      const size_t before = buffer.size();
      ODY_RETURN_IF_ERROR(ReadSome(fd_.get(), path_, offset, end, &buffer));
      offset += buffer.size() - before;
      continue;
    }
    if (line++ >= sequence) {
      ODY_ASSIGN_OR_RETURN(Event event, message::DecodeEvent(std::string_view(buffer).substr(
                                            begin, newline - begin)));
      out.push_back(std::move(event));
    }
    begin = newline + 1;
  }
  return out;
}

std::vector<std::function<void()>> Journal::TakeWaiters() { return std::exchange(waiters_, {}); }

bool Journal::NotifyAfter(uint64_t sequence, std::function<void()> ready) {
  std::lock_guard lock(mutex_);
  if (closed_ || !failure_.ok() || sequence < last_sequence_) return false;
  waiters_.push_back(std::move(ready));
  return true;
}

void Journal::Close() {
  std::vector<std::function<void()>> waiters;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    waiters = TakeWaiters();
  }
  for (const auto& ready : waiters) ready();
}

bool Journal::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

Follower::Follower(std::shared_ptr<Journal> journal, uint64_t after)
    : journal_(std::move(journal)), position_(after) {
  journal_->AddFollower();
}

Follower::~Follower() { journal_->RemoveFollower(); }

Result<std::vector<Encoded>> Follower::Next(size_t max_events) {
  std::optional<std::vector<Encoded>> next = journal_->TailAfter(position_, max_events);
  if (!next) {
    ODY_ASSIGN_OR_RETURN(const std::vector<Event> events,
                         journal_->ReadAfter(position_, max_events));
    next.emplace();
    for (const Event& event : events) {
      next->push_back(std::make_shared<const std::string>(event.SerializeAsString()));
    }
  }
  position_ += next->size();
  return *std::move(next);
}

}  // namespace odyssey::event
