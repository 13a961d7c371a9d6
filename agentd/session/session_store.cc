#include "agentd/session/session_store.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "agentd/base/quarantine.h"
#include "agentd/session/turn_log.h"
#include "agentd/session_file/session_file.h"
#include "common/base/refusal.h"
#include "common/os/atomic_file.h"
#include "common/os/file.h"

namespace odyssey::session {
namespace {

constexpr size_t kMaxSessionBytes = size_t{256} * 1024 * 1024;
constexpr char kSuffix[] = ".json";
constexpr char kTurnsSuffix[] = ".turns";
constexpr char kCorruptSuffix[] = ".corrupt-";

void SetSums(const TurnSummary& summary, SessionRecord* record) {
  record->message_count = summary.messages;
  record->used = summary.used;
}

bool HasSuffix(const std::string& name) {
  const std::string suffix = kSuffix;
  return name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

}  // namespace

std::string SessionStore::PathOf(const std::string& id) const {
  return directory_ + "/" + id + kSuffix;
}

std::string SessionStore::TurnsPathOf(const std::string& id) const {
  return directory_ + "/" + id + kTurnsSuffix;
}

Status SessionStore::Load(agent::IdSource* ids, std::vector<std::string>* warnings) {
  std::error_code error;
  std::filesystem::directory_iterator names(directory_, error);
  if (error) return ErrnoStatus(error.value(), "read directory " + directory_);
  for (const auto& entry : names) {
    const std::string name = entry.path().filename().string();
    if (name.find(kTemporaryInfix) != std::string::npos) {
      unlink(entry.path().c_str());
    } else if (HasSuffix(name) && !session_file::IsSessionFileName(name)) {
      ODY_RETURN_IF_ERROR(LoadFile(name, ids, warnings));
    }
  }
  return OkStatus();
}

// A file of version 1 holds the turns: they move before the record without them is written, so that
// a crash between the two repeats the move.
Status SessionStore::AddLoaded(SessionRecord record, const std::string& text) {
  const auto entry = std::make_shared<Entry>();
  const std::string id = record.id;
  if (!record.turns.empty()) {
    ODY_RETURN_IF_ERROR(
        WriteFileAtomically(TurnsPathOf(id), EncodeTurnChanges({}, record.turns), 0600));
  }
  const std::string current = EncodeSession(record);
  if (current != text) ODY_RETURN_IF_ERROR(WriteFileAtomically(PathOf(id), current, 0600));
  record.turns.clear();
  entry->loaded = false;
  const Result<TurnSummary> summary = ReadTurnSummary(TurnsPathOf(id));
  if (summary.ok()) SetSums(*summary, &record);
  // Of a torn file too: reading it tells.
  if (!summary.ok() || summary->unfinished > 0) unfinished_.push_back(id);
  entry->record = std::make_shared<const SessionRecord>(std::move(record));
  entry->written = entry->record;
  std::lock_guard lock(mutex_);
  entries_[id] = entry;
  return OkStatus();
}

std::vector<std::string> SessionStore::unfinished() const { return unfinished_; }

// Caller holds entry.write. Lines that cannot be read are left out of the file; the whole file is
// kept aside then.
Status SessionStore::LoadTurns(const std::string& id, Entry& entry) const {
  if (entry.loaded) return OkStatus();
  const std::string path = TurnsPathOf(id);
  Result<std::string> text = ReadFile(path, kMaxSessionBytes);
  if (!text.ok() && text.status().code() != Code::kNotFound) return text.status();
  DecodedTurns decoded = DecodeTurns(text.ok() ? *text : "");
  if (decoded.bad_lines > 0) {
    // The name is the same at each try, so that one damage leaves one file.
    const std::string aside = path + kCorruptSuffix + std::to_string(text->size());
    ODY_RETURN_IF_ERROR(WriteFileAtomically(aside, *text, 0600));
    ODY_RETURN_IF_ERROR(WriteFileAtomically(path, EncodeTurnChanges({}, decoded.turns), 0600));
  }
  SessionRecord whole = *entry.record;
  SetSums(Summarize(decoded.turns), &whole);
  whole.turns = std::move(decoded.turns);
  entry.loaded = true;
  entry.written = std::make_shared<const SessionRecord>(std::move(whole));
  Replace(entry, entry.written);
  return OkStatus();
}

void SessionStore::Replace(Entry& entry, SessionPtr record) const {
  std::lock_guard lock(mutex_);
  entry.record.swap(record);
}

// The record before the turns: a line is written last, so that it stands for the whole change.
Status SessionStore::Write(const SessionRecord& before, const SessionRecord& after,
                           event::Durability durability) const {
  const std::string record = EncodeSession(after);
  if (record != EncodeSession(before)) {
    ODY_RETURN_IF_ERROR(WriteFileAtomically(PathOf(after.id), record, 0600));
  }
  const std::string lines = EncodeTurnChanges(before.turns, after.turns);
  return lines.empty() ? OkStatus() : AppendTurnLines(TurnsPathOf(after.id), lines, durability);
}

Status SessionStore::LoadFile(const std::string& name, agent::IdSource* ids,
                              std::vector<std::string>* warnings) {
  const std::string path = directory_ + "/" + name;
  const std::string id = name.substr(0, name.size() - (sizeof(kSuffix) - 1));
  Result<std::string> text = ReadFile(path, kMaxSessionBytes);
  Result<SessionRecord> record = text.ok() ? DecodeSession(*text) : text.status();
  if (record.ok() && (record->id != id || !agent::IsId("ses", id))) {
    record = Status(Code::kDataLoss, "the file's name is not its session's id");
  }
  if (record.ok()) return AddLoaded(*std::move(record), *text);
  const std::string aside = path + "." + ids->New("corrupt");
  warnings->push_back("session file " + path + " is corrupt (" + record.status().message() +
                      "); kept as " + aside);
  if (rename(path.c_str(), aside.c_str()) != 0) return ErrnoStatus(errno, "rename " + path);
  return OkStatus();
}

// The turns before the record, whose write syncs the directory for both.
Status SessionStore::Create(SessionRecord record) {
  const std::string id = record.id;
  SetSums(Summarize(record.turns), &record);
  Status written = AppendTurnLines(TurnsPathOf(id), EncodeTurnChanges({}, record.turns),
                                   event::Durability::kSynced);
  if (written.ok()) written = WriteFileAtomically(PathOf(id), EncodeSession(record), 0600);
  if (!written.ok()) {
    unlink(PathOf(id).c_str());
    unlink(TurnsPathOf(id).c_str());
    return written;
  }
  const auto entry = std::make_shared<Entry>();
  entry->record = std::make_shared<const SessionRecord>(std::move(record));
  entry->written = entry->record;
  std::lock_guard lock(mutex_);
  entries_[id] = entry;
  return OkStatus();
}

Status NoSuchSession(const std::string& id) {
  return AboutField("session_id", NotFound("session_id \"" + id + "\": no such session"));
}

Result<std::shared_ptr<SessionStore::Entry>> SessionStore::Find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto it = entries_.find(id);
  if (it == entries_.end()) return NoSuchSession(id);
  return it->second;
}

Status SessionStore::Update(const std::string& id,
                            const std::function<Status(SessionRecord&)>& change,
                            event::Durability durability) {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(id));
  std::lock_guard writing(entry->write);
  if (entry->removed) return NoSuchSession(id);
  ODY_RETURN_IF_ERROR(LoadTurns(id, *entry));
  SessionRecord copy = *entry->record;  // only a holder of `write` replaces it
  ODY_RETURN_IF_ERROR(change(copy));
  SetSums(Summarize(copy.turns), &copy);
  ODY_RETURN_IF_ERROR(Write(*entry->written, copy, durability));
  entry->written = std::make_shared<const SessionRecord>(std::move(copy));
  Replace(*entry, entry->written);
  return OkStatus();
}

void SessionStore::UpdateInMemory(const std::string& id,
                                  const std::function<void(SessionRecord&)>& change) {
  const Result<std::shared_ptr<Entry>> entry = Find(id);
  if (!entry.ok()) return;
  std::lock_guard writing((*entry)->write);
  if (!LoadTurns(id, **entry).ok()) return;
  SessionRecord copy = *(*entry)->record;
  change(copy);
  SetSums(Summarize(copy.turns), &copy);
  Replace(**entry, std::make_shared<const SessionRecord>(std::move(copy)));
}

Result<uint64_t> SessionStore::CompactTurns(const std::string& id, Compaction when) {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(id));
  std::lock_guard writing(entry->write);
  if (entry->removed) return NoSuchSession(id);
  const std::string path = TurnsPathOf(id);
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return 0;
    return ErrnoStatus(errno, "stat " + path);
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  const bool always = when == Compaction::kAlways;
  // Turns that were not read since the start have not changed since.
  if (!always && (!entry->loaded || size < entry->compact_at)) return 0;
  ODY_RETURN_IF_ERROR(LoadTurns(id, *entry));
  const std::string lines = EncodeTurnChanges({}, entry->written->turns);
  entry->compact_at = std::max<uint64_t>(kMinCompactBytes, 2 * lines.size());
  if (!always && size < 2 * lines.size()) return 0;
  ODY_RETURN_IF_ERROR(WriteFileAtomically(path, lines, 0600));
  return size - std::min<uint64_t>(size, lines.size());
}

Status SessionStore::Remove(const std::string& id) {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(id));
  std::lock_guard writing(entry->write);
  for (const std::string& path : {TurnsPathOf(id), PathOf(id)}) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "remove " + path);
  }
  entry->removed = true;
  std::lock_guard lock(mutex_);
  entries_.erase(id);
  return OkStatus();
}

Result<SessionPtr> SessionStore::Get(const std::string& id) const {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(id));
  std::lock_guard writing(entry->write);
  if (!entry->removed) ODY_RETURN_IF_ERROR(LoadTurns(id, *entry));
  return entry->record;
}

Result<SessionPtr> SessionStore::GetWithoutTurns(const std::string& id) const {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(id));
  std::lock_guard lock(mutex_);
  return entry->record;
}

std::vector<SessionPtr> SessionStore::List() const {
  std::vector<SessionPtr> out;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : entries_) out.push_back(entry->record);
  }
  std::sort(out.begin(), out.end(), [](const SessionPtr& a, const SessionPtr& b) {
    return std::tie(a->created_at, a->id) > std::tie(b->created_at, b->id);
  });
  return out;
}

std::vector<std::string> SessionStore::quarantined() const {
  std::vector<std::string> out = agent::QuarantinedIn(directory_);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (session_file::IsSessionFileName(name)) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

uint64_t SessionStore::BytesOf(const std::string& id) const {
  uint64_t out = 0;
  for (const std::string& path : {PathOf(id), TurnsPathOf(id)}) {
    struct stat info;
    if (stat(path.c_str(), &info) == 0) out += static_cast<uint64_t>(info.st_size);
  }
  return out;
}

size_t SessionStore::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace odyssey::session
