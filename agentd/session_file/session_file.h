#ifndef ODYSSEY_AGENTD_SESSION_FILE_SESSION_FILE_H_
#define ODYSSEY_AGENTD_SESSION_FILE_SESSION_FILE_H_

// A session as the original Odyssey keeps it, in a file UUID.json. docs/SESSIONS.md has the format.
// Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agentd/model/chat.h"
#include "common/base/status.h"

namespace odyssey::session_file {

inline constexpr size_t kMaxFileBytes = size_t{64} * 1024 * 1024;
inline constexpr size_t kMaxValues = 2'000'000;  // of JSON: objects, arrays, keys, scalars
inline constexpr int kMaxDepth = 32;

struct FileTurn {
  std::string id;          // a UUID
  std::string created_at;  // RFC 3339, UTC, milliseconds
  std::vector<model::Message> history;
  friend bool operator==(const FileTurn&, const FileTurn&) = default;
};

struct SessionFile {
  std::string id;          // a UUID
  std::string bundle_ref;  // as written
  std::string agent_id;
  std::string model_provider, model_id;
  std::string created_at;  // as FileTurn's
  std::vector<FileTurn> turns;
  friend bool operator==(const SessionFile&, const SessionFile&) = default;
};

// INVALID_ARGUMENT names the member, its value and what is allowed. What `prompt` and `response`
// say is in the history; calls without a result, and results without a call, are not.
Result<SessionFile> DecodeSessionFile(std::string_view text);
// Pretty-printed, with every member that the original writes.
std::string EncodeSessionFile(const SessionFile& file);

// "0f8fad5b-d9cb-469f-a165-70867728950e", of either case.
bool IsUuid(std::string_view text);
// UUID.json.
bool IsSessionFileName(std::string_view name);

// Identifiers of ours (agentd/base/ids.h) ↔ UUIDs: the same 32 hex digits.
std::string UuidOf(std::string_view id);
std::string IdOf(std::string_view prefix, std::string_view uuid);

}  // namespace odyssey::session_file

#endif  // ODYSSEY_AGENTD_SESSION_FILE_SESSION_FILE_H_
