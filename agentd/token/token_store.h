#ifndef ODYSSEY_AGENTD_TOKEN_TOKEN_STORE_H_
#define ODYSSEY_AGENTD_TOKEN_TOKEN_STORE_H_

// Tokens of users, by the digest of their secrets, in one file that is written anew with each
// change; and links, in memory, each of which makes one token. A shared registry; thread-safe.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentd/base/clock.h"
#include "agentd/base/ids.h"
#include "common/base/status.h"

namespace odyssey::token {

using Time = std::chrono::system_clock::time_point;

inline constexpr std::chrono::hours kDefaultLifetime{30 * 24};
inline constexpr std::chrono::hours kLongestLifetime{366 * 24};
inline constexpr std::chrono::hours kLinkTokenLifetime{12};
inline constexpr std::chrono::seconds kLinkLifetime{60};
inline constexpr size_t kMostOfOwner = 64;
inline constexpr size_t kMostLinksOfOwner = 16;
inline constexpr size_t kMaxNameBytes = 64;

struct Token {
  std::string id;
  std::string name;
  uid_t owner = 0;
  Time created, expires;
  bool of_link = false;
};

// The secret is here alone.
struct NewToken {
  Token token;
  std::string secret;
};
struct NewLink {
  std::string secret;
  Time expires;
};

class TokenStore final {
 public:
  // Both are borrowed and outlive the store.
  TokenStore(std::string path, const agent::Clock* clock, agent::IdSource* ids);

  // To be called once, before anything else. DATA_LOSS: the file is damaged.
  Status Load();

  // INVALID_ARGUMENT, RESOURCE_EXHAUSTED, or that the file cannot be written: then there is none.
  Result<NewToken> Create(uid_t owner, const std::string& name, std::chrono::milliseconds lifetime);
  // Oldest first; of one owner, or of all.
  std::vector<Token> List(std::optional<uid_t> owner) const;
  // UNAUTHENTICATED, the same words of every cause: unknown, revoked or expired.
  Result<Token> Verify(std::string_view secret) const;
  // NOT_FOUND: `owner`, if there is one, has none of this id.
  Result<Token> Revoke(const std::string& id, std::optional<uid_t> owner);

  Result<NewLink> CreateLink(uid_t owner);
  // Uses the link up, whatever comes of it.
  Result<NewToken> Exchange(std::string_view secret);

  // `ended` is called once, when the token is revoked or EndExpired finds it expired, unless the
  // handle is gone by then. At once if it has ended already. From any thread, without our lock.
  using Watch = std::shared_ptr<void>;
  Watch WatchEnd(const std::string& id, std::function<void()> ended);
  // To be called now and then.
  void EndExpired();

 private:
  struct Link {
    uid_t owner;
    Time expires;
  };
  using Ended = std::function<void()>;

  Result<NewToken> Add(uid_t owner, const std::string& name, std::chrono::milliseconds lifetime,
                       bool of_link);
  Status Write(const std::map<std::string, Token>& tokens) const;
  // Their watchers, to be called without the lock.
  std::vector<Ended> TakeWatchers(const std::vector<std::string>& ids);

  const std::string path_;
  const agent::Clock* const clock_;
  agent::IdSource* const ids_;
  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  std::map<std::string, Token> tokens_;  // by the digest of the secret
  std::map<std::string, Link> links_;    // the same
  std::map<std::string, std::vector<std::weak_ptr<Ended>>> watchers_;  // by the token's id
};

}  // namespace odyssey::token

#endif  // ODYSSEY_AGENTD_TOKEN_TOKEN_STORE_H_
