#include "agentd/session/session_store.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/base/refusal.h"
#include "common/os/atomic_file.h"
#include "common/os/file.h"

namespace odyssey::session {
namespace {

constexpr size_t kMaxSessionBytes = size_t{256} * 1024 * 1024;
constexpr char kSuffix[] = ".json";

bool HasSuffix(const std::string& name) {
  const std::string suffix = kSuffix;
  return name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

}  // namespace

std::string SessionStore::PathOf(const std::string& id) const {
  return directory_ + "/" + id + kSuffix;
}

Status SessionStore::Load(agent::IdSource* ids, std::vector<std::string>* warnings) {
  std::error_code error;
  std::filesystem::directory_iterator names(directory_, error);
  if (error) return ErrnoStatus(error.value(), "read directory " + directory_);
  for (const auto& entry : names) {
    const std::string name = entry.path().filename().string();
    if (HasSuffix(name)) ODY_RETURN_IF_ERROR(LoadFile(name, ids, warnings));
  }
  return OkStatus();
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
  if (record.ok()) {
    const auto entry = std::make_shared<Entry>();
    entry->record = std::make_shared<const SessionRecord>(*std::move(record));
    std::lock_guard lock(mutex_);
    entries_[id] = entry;
    return OkStatus();
  }
  const std::string aside = path + "." + ids->New("corrupt");
  warnings->push_back("session file " + path + " is corrupt (" + record.status().message() +
                      "); kept as " + aside);
  if (rename(path.c_str(), aside.c_str()) != 0) return ErrnoStatus(errno, "rename " + path);
  return OkStatus();
}

Status SessionStore::Create(SessionRecord record) {
  ODY_RETURN_IF_ERROR(WriteFileAtomically(PathOf(record.id), EncodeSession(record), 0600));
  const auto entry = std::make_shared<Entry>();
  const std::string id = record.id;
  entry->record = std::make_shared<const SessionRecord>(std::move(record));
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
                            const std::function<Status(SessionRecord&)>& change) {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(id));
  std::lock_guard writing(entry->write);
  if (entry->removed) return NoSuchSession(id);
  SessionRecord copy = *entry->record;  // only a holder of `write` replaces it
  ODY_RETURN_IF_ERROR(change(copy));
  ODY_RETURN_IF_ERROR(WriteFileAtomically(PathOf(id), EncodeSession(copy), 0600));
  auto changed = std::make_shared<const SessionRecord>(std::move(copy));
  std::lock_guard lock(mutex_);
  entry->record.swap(changed);
  return OkStatus();
}

void SessionStore::UpdateInMemory(const std::string& id,
                                  const std::function<void(SessionRecord&)>& change) {
  const Result<std::shared_ptr<Entry>> entry = Find(id);
  if (!entry.ok()) return;
  std::lock_guard writing((*entry)->write);
  SessionRecord copy = *(*entry)->record;
  change(copy);
  auto changed = std::make_shared<const SessionRecord>(std::move(copy));
  std::lock_guard lock(mutex_);
  (*entry)->record.swap(changed);
}

Status SessionStore::Remove(const std::string& id) {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(id));
  std::lock_guard writing(entry->write);
  const std::string path = PathOf(id);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "remove " + path);
  entry->removed = true;
  std::lock_guard lock(mutex_);
  entries_.erase(id);
  return OkStatus();
}

Result<SessionPtr> SessionStore::Get(const std::string& id) const {
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

size_t SessionStore::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace odyssey::session
