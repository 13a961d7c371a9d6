#include "common/audit/log_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/audit/chain.h"
#include "common/base/sha256.h"
#include "common/os/file.h"

namespace odyssey::audit {
namespace {

constexpr char kNewHeadName[] = "head.new";
constexpr std::chrono::seconds kMaxFileAge = std::chrono::hours(24);

Result<std::string> ReadFrom(int fd, const std::string& name, uint64_t begin, uint64_t end) {
  std::string out(static_cast<size_t>(end - begin), '\0');
  size_t got = 0;
  while (got < out.size()) {
    const ssize_t n = pread(fd, &out[got], out.size() - got, static_cast<off_t>(begin + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + name);
    if (n == 0) return Status(Code::kDataLoss, "read " + name + ": it became shorter");
    got += static_cast<size_t>(n);
  }
  return out;
}

// Where the last record of `text` ends; 0 if there is none. `record` is that record.
size_t EndOfLastRecord(std::string_view text, Position* record) {
  size_t end = text.rfind('\n');
  while (end != std::string_view::npos) {
    const size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = text.substr(begin, end - begin);
    const Result<Line> parsed = ParseLine(line);
    if (parsed.ok() && HashMatches(line)) {
      *record = {parsed->seq, std::string(parsed->hash)};
      return end + 1;
    }
    end = before;
  }
  return 0;
}

Result<std::string> FirstLine(int directory, const std::string& name) {
  ODY_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(directory, name));
  ODY_ASSIGN_OR_RETURN(std::optional<std::string> line, reader.Next());
  if (!line) return Status(Code::kDataLoss, name + " is empty");
  return *std::move(line);
}

Record TornRecord(std::string_view garbage) {
  std::string whole(garbage);
  if (whole.back() != '\n') whole += '\n';
  return Record(kTornType)
      .Number("lines", std::count(whole.begin(), whole.end(), '\n'))
      .Number("bytes", static_cast<int64_t>(garbage.size()))
      .Text("sha256", Sha256Hex(whole))
      .Text("text", garbage);
}

}  // namespace

// The end of one file.
struct LogStore::Tail {
  uint64_t size = 0;
  std::string garbage;  // after its last record
  std::optional<Position> record;
};

Retention KeepAbout(uint64_t keep_bytes, std::chrono::seconds keep_age) {
  Retention out = {.keep_bytes = keep_bytes, .keep_age = keep_age};
  if (keep_bytes != 0) out.file_bytes = std::min(kDefaultFileBytes, keep_bytes / 4);
  if (keep_age.count() != 0) {
    out.file_age = std::clamp(keep_age / 4, std::chrono::seconds(1), kMaxFileAge);
  }
  return out;
}

Result<LogStore> LogStore::Open(UniqueFd directory, Retention retention) {
  // The writer before us may still be recording its own end.
  while (flock(directory.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "lock the directory of the audit log");
  }
  LogStore store(std::move(directory), retention);
  ODY_RETURN_IF_ERROR(store.Recover());
  return store;
}

std::vector<Record> LogStore::TakeFindings() { return std::exchange(findings_, {}); }

Result<LogStore::Tail> LogStore::ReadTail(const LogFile& file) {
  const UniqueFd fd(openat(directory_.get(), file.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + file.name);
  const off_t size = lseek(fd.get(), 0, SEEK_END);
  if (size < 0) return ErrnoStatus(errno, "seek " + file.name);
  Tail tail{.size = static_cast<uint64_t>(size)};
  const uint64_t begin = tail.size - std::min<uint64_t>(tail.size, 2 * kMaxLine);
  ODY_ASSIGN_OR_RETURN(const std::string text, ReadFrom(fd.get(), file.name, begin, tail.size));
  Position record;
  const size_t end = EndOfLastRecord(text, &record);
  if (end == 0 && begin > 0) {
    return Status(Code::kDataLoss, file.name + ": its last " + std::to_string(text.size()) +
                                       " bytes are no records of an audit log: move the log away");
  }
  if (end > 0) tail.record = record;
  tail.garbage = text.substr(end);
  return tail;
}

Status LogStore::Recover() {
  ODY_ASSIGN_OR_RETURN(std::vector<LogFile> files, ListLogFiles(directory_.get()));
  if (files.empty()) return CompareWithHead(/*fresh=*/true);
  const LogFile newest = files.back();
  ODY_ASSIGN_OR_RETURN(const Tail tail, ReadTail(newest));
  if (tail.record) {
    last_ = *tail.record;
  } else if (files.size() > 1) {  // it was begun and got no record: go on from the one before
    ODY_ASSIGN_OR_RETURN(const Tail before, ReadTail(files[files.size() - 2]));
    if (before.record && before.garbage.empty()) last_ = *before.record;
  }
  if (!tail.record && newest.first_seq != last_.seq + 1) {
    return {Code::kDataLoss, newest.name + ": it does not go on from record " +
                                 std::to_string(last_.seq) + ": move the log away"};
  }
  ODY_RETURN_IF_ERROR(OpenForAppend(newest.name));
  size_ = tail.size;
  if (const auto text = FirstLine(directory_.get(), newest.name); text.ok()) {
    if (const Result<Line> first = ParseLine(*text); first.ok()) begun_ = first->time;
  }
  line_is_open_ = !tail.garbage.empty() && tail.garbage.back() != '\n';
  if (!tail.garbage.empty()) findings_.push_back(TornRecord(tail.garbage));
  return CompareWithHead(/*fresh=*/false);
}

// Whether the log is what it was when its head was written last, as far as its end tells.
Status LogStore::CompareWithHead(bool fresh) {
  const Result<Position> head = ReadHead(directory_.get());
  if (!head.ok() && fresh && head.status().code() == Code::kNotFound) {
    (void)SaveHead();  // on a full disk the first record fails too, and that one is told
    return OkStatus();
  }
  Record missing(kMissingType);
  missing.Number("last_seq", static_cast<int64_t>(last_.seq));
  if (!head.ok()) {
    findings_.push_back(missing.Text("error", head.status().message()));
  } else if (head->seq > last_.seq || (head->seq == last_.seq && head->hash != last_.hash)) {
    missing.Number("head_seq", static_cast<int64_t>(head->seq)).Text("head_hash", head->hash);
    findings_.push_back(missing);
  }
  return OkStatus();
}

Status LogStore::OpenForAppend(const std::string& name) {
  constexpr mode_t kOwnerOnly = 0600;
  UniqueFd fd(openat(directory_.get(), name.c_str(),
                     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!fd) return ErrnoStatus(errno, "open " + name);
  file_ = std::move(fd);
  file_name_ = name;
  begun_.clear();
  size_ = 0;
  return OkStatus();
}

// Texts of FormatTime are in the order of their times.
bool LogStore::IsFull(Time now) const {
  return size_ >= retention_.file_bytes || (retention_.file_age.count() != 0 && !begun_.empty() &&
                                            begun_ <= FormatTime(now - retention_.file_age));
}

Status LogStore::Append(const std::vector<TimedRecord>& records) {
  if (records.empty()) return OkStatus();
  const Time now = records.back().time;
  if (!file_ || IsFull(now)) {
    // What is in the old file must be durable before the head speaks of the new one.
    if (file_ && fdatasync(file_.get()) != 0) return ErrnoStatus(errno, "sync " + file_name_);
    ODY_RETURN_IF_ERROR(OpenForAppend(LogFileName(last_.seq + 1)));
    look_for_excess_ = true;
  }
  Position position = last_;
  std::string lines = line_is_open_ ? "\n" : "";
  for (const TimedRecord& record : records) {
    lines += EncodeLine(record.record, record.time, &position) + "\n";
  }
  Excess excess;
  if (look_for_excess_) {
    // A log whose oldest files cannot be read stays as it is: `verify` says what is wrong with it.
    if (Result<Excess> found = FindExcess(now); found.ok()) excess = *std::move(found);
    // After the others: `torn` must follow what it vouches for.
    if (!excess.files.empty()) {
      lines += EncodeLine(RotatedRecord(excess.last), now, &position) + "\n";
    }
  }
  ODY_RETURN_IF_ERROR(WriteLines(lines));
  line_is_open_ = false;
  last_ = position;
  if (begun_.empty()) begun_ = FormatTime(records.front().time);
  if (!excess.files.empty()) Remove(excess);
  look_for_excess_ = false;
  return OkStatus();
}

Result<LogStore::Excess> LogStore::FindExcess(Time now) const {
  Excess excess;
  const bool by_age = retention_.keep_age.count() != 0;
  if (retention_.keep_bytes == 0 && !by_age) return excess;
  const std::string oldest = by_age ? FormatTime(now - retention_.keep_age) : "";
  ODY_ASSIGN_OR_RETURN(std::vector<LogFile> files, ListLogFiles(directory_.get()));
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (const LogFile& file : files) {
    struct stat info;
    if (fstatat(directory_.get(), file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, "stat " + file.name);
    }
    sizes.push_back(static_cast<uint64_t>(info.st_size));
    total += sizes.back();
  }
  size_t gone = 0;
  // The newest two stay: the one that is being written, and the one before it.
  while (gone + 2 < files.size()) {
    ODY_ASSIGN_OR_RETURN(const std::string text, FirstLine(directory_.get(), files[gone + 1].name));
    ODY_ASSIGN_OR_RETURN(const Line next, ParseLine(text));
    const bool too_many = retention_.keep_bytes != 0 && total > retention_.keep_bytes;
    if (!too_many && next.time >= oldest) break;
    excess.last = {next.seq - 1, std::string(next.prev)};
    total -= sizes[gone++];
  }
  files.resize(gone);
  excess.files = std::move(files);
  return excess;
}

// What cannot be removed now is in excess again when the next file begins.
void LogStore::Remove(const Excess& excess) {
  if (!SaveHead().ok()) return;
  for (const LogFile& file : excess.files) {
    if (unlinkat(directory_.get(), file.name.c_str(), 0) != 0) return;
  }
}

Status LogStore::WriteLines(const std::string& lines) {
  if (cut_ && ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
    return ErrnoStatus(errno, "truncate " + file_name_);
  }
  cut_ = false;
  const Status status = WriteAll(file_.get(), lines);
  if (!status.ok()) {
    cut_ = ftruncate(file_.get(), static_cast<off_t>(size_)) != 0;
    return {status.code(), status.message() + " to " + file_name_};
  }
  size_ += lines.size();
  return OkStatus();
}

Status LogStore::SaveHead() {
  if (file_ && fdatasync(file_.get()) != 0) return ErrnoStatus(errno, "sync " + file_name_);
  const UniqueFd fd(openat(directory_.get(), kNewHeadName,
                           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return ErrnoStatus(errno, std::string("create ") + kNewHeadName);
  ODY_RETURN_IF_ERROR(WriteAll(fd.get(), EncodeHead(last_)));
  if (fdatasync(fd.get()) != 0) return ErrnoStatus(errno, std::string("sync ") + kNewHeadName);
  if (renameat(directory_.get(), kNewHeadName, directory_.get(), kHeadName) != 0) {
    return ErrnoStatus(errno, std::string("replace ") + kHeadName);
  }
  head_ = last_;
  return OkStatus();
}

}  // namespace odyssey::audit
