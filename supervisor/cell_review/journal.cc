#include "supervisor/cell_review/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/codec.h"
#include "common/base/sha256.h"
#include "common/os/file.h"
#include "supervisor/cell_review/state_codec.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {
namespace {

constexpr char kCommits[] = "commits";
constexpr char kRecord[] = "record";
constexpr char kPacked[] = "copies";
constexpr uint64_t kMaxRecord = uint64_t{256} << 20;
constexpr uint8_t kVersion = 1;
constexpr const char* kStages[] = {"prepared", "applying", "done", "undoing"};
constexpr char kUnused[] = "commits/new";  // a commit that is being prepared, or removed

std::string PathOf(const Entry& entry) {
  return std::string(kCommits) + "/" + std::to_string(entry.number) + "." +
         kStages[static_cast<size_t>(entry.stage)];
}

// Nothing for a name that is none of ours.
bool ParseEntry(const std::string& name, Entry* entry) {
  char* end = nullptr;
  entry->number = strtoull(name.c_str(), &end, 10);
  if (end == name.c_str() || *end != '.') return false;
  for (size_t i = 0; i < std::size(kStages); ++i) {
    if (std::string(end + 1) != kStages[i]) continue;
    entry->stage = static_cast<Stage>(i);
    return true;
  }
  return false;
}

void PutTime(const timespec& time, Writer* out) {
  out->U64(static_cast<uint64_t>(time.tv_sec));
  out->U64(static_cast<uint64_t>(time.tv_nsec));
}

timespec GetTime(Reader* in) {
  const auto seconds = static_cast<time_t>(in->U64());
  return {seconds, static_cast<long>(in->U64())};
}

std::string EncodeRecord(const Record& record) {
  Writer out;
  out.U8(kVersion);
  out.U64(record.number);
  out.U64(static_cast<uint64_t>(record.time));
  out.U64(record.bytes);
  out.U32(static_cast<uint32_t>(record.operations.size()));
  for (const Operation& operation : record.operations) {
    out.String(operation.path);
    PutState(operation.was, &out);
    PutState(operation.is, &out);
    PutTime(operation.was_modified, &out);
    PutTime(operation.is_modified, &out);
    out.U64(operation.copy);
  }
  return out.Take();
}

Result<Record> DecodeRecord(std::string_view bytes) {
  Reader in(bytes);
  Record record;
  const bool ours = in.U8() == kVersion;
  record.number = in.U64();
  record.time = static_cast<int64_t>(in.U64());
  record.bytes = in.U64();
  for (uint32_t left = in.U32(); left > 0 && !in.failed(); --left) {
    Operation operation;
    operation.path = in.String(review::kMaxPath);
    operation.was = GetState(&in);
    operation.is = GetState(&in);
    operation.was_modified = GetTime(&in);
    operation.is_modified = GetTime(&in);
    operation.copy = in.U64();
    record.operations.push_back(std::move(operation));
  }
  if (ours && in.Done()) return record;
  return Status(Code::kDataLoss, "the record of a commit cannot be read");
}

Status RemoveDirectory(Layer* store, const std::string& path) {
  const auto names = store->Names(path);
  if (names.status().code() == Code::kNotFound) return OkStatus();
  ODY_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const std::string file = path + "/" + name;
    if (unlinkat(store->fd(), file.c_str(), 0) != 0) return ErrnoStatus(errno, "remove " + file);
  }
  store->Forget();
  const int removed = unlinkat(store->fd(), path.c_str(), AT_REMOVEDIR);
  return removed == 0 ? OkStatus() : ErrnoStatus(errno, "remove " + path);
}

Result<UniqueFd> CreateIn(Layer* store, const std::string& path) {
  UniqueFd file(openat(store->fd(), path.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, "create " + path + " in the store");
  return file;
}

}  // namespace

std::string TemporaryName(uint64_t number, size_t operation) {
  return ".odyssey-commit-" + std::to_string(number) + "-" + std::to_string(operation);
}

Result<Journal> Journal::Open(Layer* store) {
  Journal journal(store);
  if (mkdirat(store->fd(), kCommits, 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create the journal of commits");
  }
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, store->Names(kCommits));
  for (const std::string& name : names) {
    Entry entry;
    if (ParseEntry(name, &entry)) journal.entries_.push_back(entry);
  }
  std::sort(journal.entries_.begin(), journal.entries_.end(),
            [](const Entry& a, const Entry& b) { return a.number < b.number; });
  return journal;
}

Result<Record> Journal::Load(const Entry& entry) {
  const auto bytes = store_->Read(PathOf(entry) + "/" + kRecord, kMaxRecord);
  return bytes.ok() ? DecodeRecord(*bytes) : bytes.status();
}

Status Journal::CopyAll(Reviewed* reviewed, const std::string& place, Record* record) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd packed, CreateIn(store_, place + "/" + kPacked));
  uint64_t end = 0;
  std::string buffer;
  for (size_t i = 0; i < record->operations.size(); ++i) {
    Operation& operation = record->operations[i];
    if (operation.was.kind != Kind::kFile) continue;
    std::string print = operation.was.print;
    if (operation.was.size > kMaxPacked) {
      ODY_ASSIGN_OR_RETURN(const UniqueFd from, reviewed->host.OpenFile(operation.path));
      ODY_ASSIGN_OR_RETURN(const UniqueFd to, CreateIn(store_, place + "/" + std::to_string(i)));
      ODY_RETURN_IF_ERROR(CopyContent(from.get(), to.get(), operation.was.size, &print));
    } else {
      ODY_ASSIGN_OR_RETURN(const std::string text,
                           reviewed->host.Read(operation.path, operation.was.size));
      print = Sha256Hex(text);
      operation.copy = end;
      end += text.size();
      buffer += text;
    }
    if (print != operation.was.print) {
      return Status(Code::kAborted, Shown(operation.path) + ": the host changed it just now");
    }
    record->bytes += operation.was.size;
    if (buffer.size() < kMaxPacked) continue;
    ODY_RETURN_IF_ERROR(WriteAll(packed.get(), buffer));
    buffer.clear();
  }
  return WriteAll(packed.get(), buffer);
}

Result<Entry> Journal::Prepare(Reviewed* reviewed, Record record) {
  const std::string place = kUnused;
  ODY_RETURN_IF_ERROR(RemoveDirectory(store_, place));
  if (mkdirat(store_->fd(), place.c_str(), 0700) != 0) return ErrnoStatus(errno, "create " + place);
  store_->Forget();
  ODY_RETURN_IF_ERROR(CopyAll(reviewed, place, &record));
  ODY_ASSIGN_OR_RETURN(const UniqueFd file, CreateIn(store_, place + "/" + kRecord));
  ODY_RETURN_IF_ERROR(WriteAll(file.get(), EncodeRecord(record)));
  Entry entry = {record.number, Stage::kPrepared};
  if (syncfs(store_->fd()) != 0) return ErrnoStatus(errno, "sync the store");
  if (renameat(store_->fd(), place.c_str(), store_->fd(), PathOf(entry).c_str()) != 0) {
    return ErrnoStatus(errno, "record the commit");
  }
  store_->Forget();
  entries_.push_back(entry);
  return entry;
}

Status Journal::Move(Entry* entry, Stage stage) {
  Entry next = {entry->number, stage};
  if (renameat(store_->fd(), PathOf(*entry).c_str(), store_->fd(), PathOf(next).c_str()) != 0) {
    return ErrnoStatus(errno, "record the commit's stage");
  }
  store_->Forget();
  for (Entry& known : entries_) {
    if (known.number == entry->number) known = next;
  }
  *entry = next;
  return OkStatus();
}

Status Journal::Remove(const Entry& entry) {
  // In one step: with half of its files it could neither be finished nor taken back.
  ODY_RETURN_IF_ERROR(RemoveDirectory(store_, kUnused));
  if (renameat(store_->fd(), PathOf(entry).c_str(), store_->fd(), kUnused) != 0) {
    return ErrnoStatus(errno, "remove commit " + std::to_string(entry.number));
  }
  store_->Forget();
  ODY_RETURN_IF_ERROR(RemoveDirectory(store_, kUnused));
  std::erase_if(entries_, [&](const Entry& known) { return known.number == entry.number; });
  return OkStatus();
}

Status Journal::Trim() {
  uint64_t bytes = 0;
  size_t kept = 0;
  const std::vector<Entry> entries = entries_;
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    if (it->stage != Stage::kDone) continue;
    const auto record = Load(*it);
    if (record.ok()) bytes += record->bytes;
    ++kept;
    // The newest one stays, however large it is.
    if (kept == 1 || (kept <= kMaxKept && bytes <= kMaxKeptBytes && record.ok())) continue;
    ODY_RETURN_IF_ERROR(Remove(*it));
  }
  return OkStatus();
}

Result<Source> Journal::OpenCopy(const Entry& entry, const Operation& operation, size_t index) {
  Source source;
  const std::string place = PathOf(entry) + "/";
  if (operation.was.size > kMaxPacked) {
    ODY_ASSIGN_OR_RETURN(source.file, store_->OpenFile(place + std::to_string(index)));
    return source;
  }
  if (!packed_ || packed_of_ != entry.number) {
    ODY_ASSIGN_OR_RETURN(packed_, store_->OpenFile(place + kPacked));
    packed_of_ = entry.number;
  }
  std::string text(operation.was.size, '\0');
  const ssize_t n = TEMP_FAILURE_RETRY(
      pread(packed_.get(), text.data(), text.size(), static_cast<off_t>(operation.copy)));
  if (n != static_cast<ssize_t>(text.size())) {
    return Status(Code::kDataLoss, Shown(operation.path) + ": its copy in the store is cut off");
  }
  source.text = std::move(text);
  return source;
}

}  // namespace odyssey::cell_review
