#include "agentd/session/turn_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "agentd/session/turn_json.h"
#include "common/os/unique_fd.h"

namespace odyssey::session {
namespace {

using Json = nlohmann::json;

constexpr off_t kTailBytes = 64 * 1024;

std::string Line(Json json, const TurnSummary& summary) {
  json["summary"] = {{"unfinished", summary.unfinished},
                     {"messages", summary.messages},
                     {"used", BudgetToJson(summary.used)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The bytes from `begin` to `end`.
Result<std::string> ReadRange(int fd, const std::string& path, off_t begin, off_t end) {
  std::string out(static_cast<size_t>(end - begin), '\0');
  for (size_t done = 0; done < out.size();) {
    const ssize_t n =
        pread(fd, out.data() + done, out.size() - done, begin + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    if (n == 0) return Status(Code::kDataLoss, "read " + path + ": shorter than it was written");
    done += static_cast<size_t>(n);
  }
  return out;
}

Result<off_t> SizeOf(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "stat " + path);
  return info.st_size;
}

// The last line, with its newline if it is complete.
Result<std::string> ReadLastLine(int fd, const std::string& path, off_t size) {
  for (off_t wanted = kTailBytes;; wanted *= 2) {
    const off_t begin = std::max<off_t>(0, size - wanted);
    ODY_ASSIGN_OR_RETURN(std::string tail, ReadRange(fd, path, begin, size));
    const size_t search = tail.size() < 2 ? 0 : tail.size() - 2;
    const size_t newline = tail.rfind('\n', search);
    if (newline != std::string::npos && newline + 1 < tail.size()) return tail.substr(newline + 1);
    if (begin == 0) return tail;
  }
}

// Where the last complete line ends.
Result<off_t> CompleteSize(int fd, const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const off_t size, SizeOf(fd, path));
  if (size == 0) return size;
  ODY_ASSIGN_OR_RETURN(const std::string last, ReadLastLine(fd, path, size));
  return last.back() == '\n' ? size : size - static_cast<off_t>(last.size());
}

Status WriteAt(int fd, const std::string& path, off_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write " + path);
    offset += n;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return OkStatus();
}

// False: the line is malformed.
bool ApplyLine(std::string_view line, std::vector<TurnRecord>* turns,
               std::map<std::string, size_t>* places) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  if (const auto removed = json.find("removed"); removed != json.end()) {
    if (!removed->is_string()) return false;
    const std::string id = removed->get<std::string>();
    std::erase_if(*turns, [&](const TurnRecord& turn) { return turn.id == id; });
    places->clear();
    for (size_t i = 0; i < turns->size(); ++i) (*places)[(*turns)[i].id] = i;
    return true;
  }
  Result<TurnRecord> turn = TurnFromJson(json.value("turn", Json()));
  if (!turn.ok()) return false;
  const auto [place, added] = places->try_emplace(turn->id, turns->size());
  if (added) {
    turns->push_back(*std::move(turn));
  } else {
    (*turns)[place->second] = *std::move(turn);
  }
  return true;
}

}  // namespace

TurnSummary Summarize(const std::vector<TurnRecord>& turns) {
  TurnSummary out;
  for (const TurnRecord& turn : turns) {
    out.unfinished += IsOpen(turn.status) || !turn.announced;
    out.messages += turn.history.size();
    out.used = out.used + turn.used;
  }
  return out;
}

std::string EncodeTurnChanges(const std::vector<TurnRecord>& before,
                              const std::vector<TurnRecord>& after) {
  std::map<std::string, const TurnRecord*> known;
  for (const TurnRecord& turn : before) known[turn.id] = &turn;
  const TurnSummary summary = Summarize(after);
  std::string changed;
  for (const TurnRecord& turn : after) {
    const auto it = known.find(turn.id);
    const bool equal = it != known.end() && *it->second == turn;
    if (it != known.end()) known.erase(it);
    if (!equal) changed += Line({{"turn", TurnToJson(turn)}}, summary);
  }
  std::string out;
  for (const auto& [id, turn] : known) out += Line({{"removed", id}}, summary);
  return out + changed;
}

DecodedTurns DecodeTurns(const std::string& text) {
  DecodedTurns out;
  std::map<std::string, size_t> places;
  std::string_view rest = text;
  for (size_t newline; (newline = rest.find('\n')) != std::string_view::npos;) {
    out.bad_lines += !ApplyLine(rest.substr(0, newline), &out.turns, &places);
    rest.remove_prefix(newline + 1);
  }
  return out;
}

Status AppendTurnLines(const std::string& path, const std::string& lines,
                       event::Durability durability) {
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  ODY_ASSIGN_OR_RETURN(const off_t end, CompleteSize(fd.get(), path));
  if (ftruncate(fd.get(), end) != 0) return ErrnoStatus(errno, "truncate " + path);
  Status status = WriteAt(fd.get(), path, end, lines);
  const bool synced = durability == event::Durability::kSynced;
  if (status.ok() && synced && fdatasync(fd.get()) != 0)
    status = ErrnoStatus(errno, "sync " + path);
  // What stays behind a failed truncation is either a torn line, or what the caller wanted.
  if (!status.ok()) (void)!ftruncate(fd.get(), end);
  return status;
}

Result<TurnSummary> ReadTurnSummary(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return TurnSummary();
  if (!fd) return ErrnoStatus(errno, "open " + path);
  ODY_ASSIGN_OR_RETURN(const off_t size, SizeOf(fd.get(), path));
  if (size == 0) return TurnSummary();
  ODY_ASSIGN_OR_RETURN(const std::string line, ReadLastLine(fd.get(), path, size));
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto number = [&json](const char* key) -> const Json* {
    if (!json.is_object() || !json.contains("summary") || !json["summary"].is_object())
      return nullptr;
    const auto it = json["summary"].find(key);
    return it != json["summary"].end() && it->is_number_unsigned() ? &*it : nullptr;
  };
  const Json* const unfinished = number("unfinished");
  const Json* const messages = number("messages");
  if (line.back() != '\n' || unfinished == nullptr || messages == nullptr) {
    return Status(Code::kDataLoss, "read " + path + ": the last line is torn or malformed");
  }
  TurnSummary out{unfinished->get<uint64_t>(), messages->get<uint64_t>(), {}};
  // Older files do not have it.
  const auto used = json["summary"].find("used");
  if (used == json["summary"].end()) return out;
  try {
    out.used = BudgetFromJson(*used);
  } catch (const Json::exception& error) {
    return Status(Code::kDataLoss, "read " + path + ": the last line: " + error.what());
  }
  return out;
}

}  // namespace odyssey::session
