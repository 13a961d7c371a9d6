#include "agentd/event/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/message/event_json.h"
#include "common/message/message_utf8.h"
#include "common/os/atomic_file.h"
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

// Whether a line that was not written whole may begin so: with an object, or a block that was not
// written.
bool MayBeLine(char first) { return first == '{' || first == '\0'; }

// Adds the complete lines of a file's bytes, which come in pieces, to its index.
class LineIndexer final {
 public:
  explicit LineIndexer(JournalFile* file) : file_(file) {}

  void Add(std::string_view bytes) {
    for (size_t newline; (newline = bytes.find('\n')) != std::string_view::npos;) {
      file_->AddLine(pending_ + newline + 1);
      pending_ = 0;
      bytes.remove_prefix(newline + 1);
    }
    pending_ += bytes.size();
  }

 private:
  JournalFile* const file_;
  uint64_t pending_ = 0;  // bytes of a line that goes on
};

}  // namespace

void JournalFile::AddLine(uint64_t bytes) {
  if (lines % kIndexStride == 0) offsets.push_back(size);
  ++lines;
  size += bytes;
}

Journal::Journal(UniqueFd fd, std::string path, std::string session_id, Stamp stamp)
    : path_(std::move(path)),
      session_id_(std::move(session_id)),
      stamp_(stamp),
      file_(std::make_shared<JournalFile>()) {
  file_->fd = std::move(fd);
}

Result<std::shared_ptr<Journal>> Journal::Open(std::string path, std::string session_id,
                                               Stamp stamp) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  std::shared_ptr<Journal> journal(
      new Journal(std::move(fd), std::move(path), std::move(session_id), stamp));
  ODY_RETURN_IF_ERROR(journal->Recover());
  return journal;
}

// What follows the last newline was being written when agentd ended, and lines at the end that are
// partly NUL bytes when the machine did: a line has none. Everything else that cannot be read is
// damage.
Status Journal::Recover() {
  const off_t end = lseek(file_->fd.get(), 0, SEEK_END);
  if (end < 0) return ErrnoStatus(errno, "seek " + path_);
  LineIndexer indexer(file_.get());
  char torn = '{';  // how what follows the last newline begins
  std::string chunk;
  for (uint64_t offset = 0; offset < static_cast<uint64_t>(end); offset += chunk.size()) {
    chunk.clear();
    ODY_RETURN_IF_ERROR(
        ReadSome(file_->fd.get(), path_, offset, static_cast<uint64_t>(end), &chunk));
    indexer.Add(chunk);
    if (file_->size >= offset && file_->size < offset + chunk.size()) {
      torn = chunk[file_->size - offset];
    }
  }
  const bool damaged = !MayBeLine(torn);
  if (!damaged) {
    if (file_->size < static_cast<uint64_t>(end) &&
        ftruncate(file_->fd.get(), static_cast<off_t>(file_->size)) != 0) {
      return ErrnoStatus(errno, "truncate " + path_);
    }
    ODY_RETURN_IF_ERROR(DropZeroedLines());
  }
  if (file_->lines == 0) return damaged ? Repair() : OkStatus();
  ODY_ASSIGN_OR_RETURN(const std::string line, ReadLine(1));
  const Result<Event> first = message::DecodeEvent(line);
  if (!first.ok() || (first->sequence() != 1 && !first->has_events_removed())) return Repair();
  file_->first = first->sequence();
  file_->marked = first->has_events_removed();
  if (damaged) return Repair();
  ODY_ASSIGN_OR_RETURN(const std::string end_line, ReadLine(file_->last()));
  const Result<Event> last = message::DecodeEvent(end_line);
  return last.ok() && last->sequence() == file_->last() ? OkStatus() : Repair();
}

Status Journal::DropZeroedLines() {
  while (file_->lines > 0) {
    ODY_ASSIGN_OR_RETURN(const std::string line, ReadLine(file_->last()));
    if (line.find('\0') == std::string::npos || !MayBeLine(line[0])) return OkStatus();
    file_->size -= line.size() + 1;
    --file_->lines;
    if (file_->lines % kIndexStride == 0) file_->offsets.pop_back();
    if (ftruncate(file_->fd.get(), static_cast<off_t>(file_->size)) != 0) {
      return ErrnoStatus(errno, "truncate " + path_);
    }
  }
  return OkStatus();
}

// Without its newline.
Result<std::string> Journal::ReadLine(uint64_t sequence) const {
  ODY_ASSIGN_OR_RETURN(const uint64_t begin, OffsetAfter(sequence - 1));
  std::string out;
  size_t newline = std::string::npos;
  while ((newline = out.find('\n')) == std::string::npos) {
    ODY_RETURN_IF_ERROR(ReadSome(file_->fd.get(), path_, begin + out.size(), file_->size, &out));
  }
  return out.substr(0, newline);
}

// Where the line after that of `sequence` begins.
Result<uint64_t> Journal::OffsetAfter(uint64_t sequence) const {
  const uint64_t index = sequence + 1 - file_->first;  // of lines to skip
  if (index >= file_->lines) return file_->size;
  uint64_t offset = file_->offsets[index / kIndexStride];
  uint64_t left = index % kIndexStride;
  std::string chunk;
  while (left > 0) {
    chunk.clear();
    ODY_RETURN_IF_ERROR(ReadSome(file_->fd.get(), path_, offset, file_->size, &chunk));
    size_t used = 0;
    while (left > 0 && used < chunk.size()) {
      const size_t newline = chunk.find('\n', used);
      if (newline != std::string::npos) --left;
      used = newline == std::string::npos ? chunk.size() : newline + 1;
    }
    offset += used;
  }
  return offset;
}

// The last events of the file that can be read and are in sequence. Without one: what comes next.
Result<Journal::Run> Journal::LastReadableRun() const {
  Run run;
  uint64_t expected = 0;  // 0: the line before could not be read
  std::string buffer;
  uint64_t begin = 0;  // of `buffer`
  while (begin + buffer.size() < file_->size) {
    ODY_RETURN_IF_ERROR(
        ReadSome(file_->fd.get(), path_, begin + buffer.size(), file_->size, &buffer));
    size_t used = 0;
    for (size_t newline; (newline = buffer.find('\n', used)) != std::string::npos;) {
      const Result<Event> event =
          message::DecodeEvent(std::string_view(buffer).substr(used, newline - used));
      const uint64_t sequence = event.ok() ? event->sequence() : 0;
      if (sequence != 0 && sequence != expected) run = {sequence, begin + used, 0};
      used = newline + 1;
      if (sequence != 0) run.end = begin + used;
      expected = sequence == 0 ? 0 : sequence + 1;
    }
    buffer.erase(0, used);
    begin += used;
  }
  if (run.sequence != 0) return run;
  return Run{file_->lines == 0 ? 1 : file_->last() + 1, file_->size, file_->size};
}

Status Journal::Repair() {
  std::lock_guard lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const Run run, LastReadableRun());
  const off_t bytes = lseek(file_->fd.get(), 0, SEEK_END);
  const bool whole = file_->lines > 0 && run.sequence == file_->first && run.begin == 0 &&
                     run.end == static_cast<uint64_t>(bytes);
  if (whole) return OkStatus();
  // The name is the same at each try, so that one damage leaves one file.
  const std::string aside = path_ + ".corrupt-" + std::to_string(bytes);
  if (link(path_.c_str(), aside.c_str()) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "link " + aside);
  }
  return Rewrite(run, kDamage);
}

// Copies what stays, behind what stands for the rest, to a file that takes this one's place.
Status Journal::Rewrite(const Run& kept, const char* reason) {
  const std::string temporary = path_ + kJournalTemporary;
  unlink(temporary.c_str());  // of a crash
  const auto next = std::make_shared<JournalFile>();
  next->fd =
      UniqueFd(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!next->fd) return ErrnoStatus(errno, "create " + temporary);
  next->first = kept.sequence;
  next->marked = file_->marked && kept.begin == 0;  // by its own first line
  const auto write = [&]() -> Status {
    LineIndexer indexer(next.get());
    if (kept.sequence > 1 && !next->marked) {
      Event marker;
      StampEvent(&marker, kept.sequence - 1);
      marker.mutable_events_removed()->set_first_sequence(1);
      marker.mutable_events_removed()->set_last_sequence(kept.sequence - 1);
      marker.mutable_events_removed()->set_reason(reason);
      next->first = kept.sequence - 1;
      next->marked = true;
      const std::string line = message::EncodeEvent(marker) + "\n";
      indexer.Add(line);
      ODY_RETURN_IF_ERROR(WriteAll(next->fd.get(), line));
    }
    std::string chunk;
    for (uint64_t offset = kept.begin; offset < kept.end; offset += chunk.size()) {
      chunk.clear();
      ODY_RETURN_IF_ERROR(ReadSome(file_->fd.get(), path_, offset, kept.end, &chunk));
      indexer.Add(chunk);
      ODY_RETURN_IF_ERROR(WriteAll(next->fd.get(), chunk));
    }
    if (fsync(next->fd.get()) != 0) return ErrnoStatus(errno, "sync " + temporary);
    if (rename(temporary.c_str(), path_.c_str()) != 0) {
      return ErrnoStatus(errno, "rename " + temporary);
    }
    return OkStatus();
  };
  const Status written = write();
  if (!written.ok()) {
    unlink(temporary.c_str());
    return written;
  }
  if (next->last() != file_->last()) {
    tail_.clear();
    tail_bytes_ = 0;
  }
  file_ = next;
  return SyncDirectoryOf(path_);
}

Result<Removed> Journal::RemoveThrough(uint64_t sequence, const char* reason) {
  std::lock_guard lock(mutex_);
  if (closed_) return FailedPrecondition("compact " + path_ + ": the session was removed");
  const uint64_t last = std::min(sequence, file_->last());
  if (last <= file_->removed()) return Removed();
  const uint64_t size = file_->size;
  const uint64_t events = last - file_->removed();
  ODY_ASSIGN_OR_RETURN(const uint64_t offset, OffsetAfter(last));
  ODY_RETURN_IF_ERROR(Rewrite({last + 1, offset, file_->size}, reason));
  return Removed{events, size - std::min(size, file_->size)};
}

uint64_t Journal::removed_through() const {
  std::lock_guard lock(mutex_);
  return file_->removed();
}

uint64_t Journal::BytesAfter(uint64_t sequence) const {
  std::lock_guard lock(mutex_);
  if (sequence >= file_->last()) return 0;
  const uint64_t index = sequence < file_->first ? 0 : sequence + 1 - file_->first;
  return file_->size - file_->offsets[index / kIndexStride];
}

Status Journal::WriteLine(const std::string& line) {
  std::string_view rest = line;
  uint64_t offset = file_->size;
  while (!rest.empty()) {
    const ssize_t n = pwrite(file_->fd.get(), rest.data(), rest.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write " + path_);
    offset += static_cast<uint64_t>(n);
    rest.remove_prefix(static_cast<size_t>(n));
  }
  return OkStatus();
}

Status Journal::AppendLine(const std::string& line, Durability durability) {
  Status status = WriteLine(line);
  if (status.ok() && durability == Durability::kSynced && fdatasync(file_->fd.get()) != 0) {
    status = ErrnoStatus(errno, "sync " + path_);
  }
  if (status.ok()) {
    file_->AddLine(line.size());
  } else if (ftruncate(file_->fd.get(), static_cast<off_t>(file_->size)) != 0) {
    // Bytes beyond the size are overwritten by the next line; they were to go in case there is
    // none.
    return Status(status.code(), status.message() + " (and it could not be cut back)");
  }
  return status;
}

void Journal::StampEvent(Event* event, uint64_t sequence) const {
  event->set_id(stamp_.ids->New("evt"));
  event->set_session_id(session_id_);
  event->set_created_at(agent::FormatTime(stamp_.clock->Now()));
  event->set_sequence(sequence);
}

Result<uint64_t> Journal::Append(Event event, Durability durability) {
  message::SanitizeStrings(&event);  // texts of other programs are among them
  std::vector<std::function<void()>> waiters;
  Status status;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return FailedPrecondition("append to " + path_ + ": the session was removed");
    StampEvent(&event, file_->last() + 1);
    status = AppendLine(message::EncodeEvent(event) + "\n", durability);
    if (status.ok() && followers_ > 0) {
      AddToTail(std::make_shared<const std::string>(event.SerializeAsString()));
    }
    failure_ = status;
    waiters = TakeWaiters();
  }
  for (const auto& ready : waiters) ready();
  ODY_RETURN_IF_ERROR(status);
  if (stamp_.on_append) stamp_.on_append(event);
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
  if (sequence >= file_->last()) return std::vector<Encoded>();
  const uint64_t before_tail = file_->last() - tail_.size();
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
  return file_->last();
}

Status Journal::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void Journal::ForgetFailure() {
  std::lock_guard lock(mutex_);
  failure_ = OkStatus();
}

Journal::FilePtr Journal::CurrentFile() const {
  std::lock_guard lock(mutex_);
  return file_;
}

Result<std::vector<Event>> Journal::ReadAfter(uint64_t sequence, size_t max_events) {
  Result<std::vector<Event>> events = ReadFrom(*CurrentFile(), sequence, max_events);
  if (events.status().code() != Code::kDataLoss) return events;
  ODY_RETURN_IF_ERROR(Repair());
  return ReadFrom(*CurrentFile(), sequence, max_events);
}

Result<std::vector<Event>> Journal::ReadFrom(const JournalFile& file, uint64_t sequence,
                                             size_t max_events) const {
  uint64_t offset, end, next, wanted;
  {
    std::lock_guard lock(mutex_);
    if (sequence >= file.last()) return std::vector<Event>();
    wanted = std::max(sequence + 1, file.first);
    const uint64_t index = (wanted - file.first) / kIndexStride;
    offset = file.offsets[index];
    next = file.first + index * kIndexStride;  // the event at `offset`
    end = file.size;
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
      ODY_RETURN_IF_ERROR(ReadSome(file.fd.get(), path_, offset, end, &buffer));
      offset += buffer.size() - before;
      continue;
    }
    if (next >= wanted) {
      Result<Event> event =
          message::DecodeEvent(std::string_view(buffer).substr(begin, newline - begin));
      if (!event.ok() || event->sequence() != next) {
        if (!out.empty()) break;  // first what can be read
        return Status(Code::kDataLoss,
                      "read " + path_ + ": event " + std::to_string(next) + " cannot be read");
      }
      out.push_back(*std::move(event));
    }
    ++next;
    begin = newline + 1;
  }
  return out;
}

std::vector<std::function<void()>> Journal::TakeWaiters() { return std::exchange(waiters_, {}); }

bool Journal::NotifyAfter(uint64_t sequence, std::function<void()> ready) {
  std::lock_guard lock(mutex_);
  if (closed_ || !failure_.ok() || sequence < file_->last()) return false;
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
  if (next) {
    file_.reset();
    position_ += next->size();
    return *std::move(next);
  }
  if (!file_) file_ = journal_->CurrentFile();
  Result<std::vector<Event>> events = journal_->ReadFrom(*file_, position_, max_events);
  if (!events.ok() || events->empty()) {
    file_.reset();
    events = journal_->ReadAfter(position_, max_events);
    ODY_RETURN_IF_ERROR(events.status());
  }
  next.emplace();
  for (const Event& event : *events) {
    next->push_back(std::make_shared<const std::string>(event.SerializeAsString()));
    position_ = event.sequence();
  }
  return *std::move(next);
}

}  // namespace odyssey::event
