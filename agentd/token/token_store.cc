#include "agentd/token/token_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/sha256.h"
#include "common/base/utf8.h"
#include "common/os/atomic_file.h"
#include "common/os/file.h"

namespace odyssey::token {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxFileBytes = 16 * 1024 * 1024;
constexpr mode_t kMode = 0600;

Status Unauthenticated(std::string message) { return {Code::kUnauthenticated, std::move(message)}; }

int64_t Millis(Time time) { return agent::UnixMillis(time); }
Time FromMillis(int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

// 256 bits: two ids' digits.
std::string NewSecret(std::string_view prefix, agent::IdSource* ids) {
  return ids->New(prefix) + ids->New("").substr(1);
}

Status CheckName(const std::string& name) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
  });
  if (name.size() <= kMaxNameBytes && printable && SanitizeUtf8(name) == name) return OkStatus();
  return AboutField("name",
                    InvalidArgument("name \"" + SanitizeUtf8(name) + "\": at most " +
                                    std::to_string(kMaxNameBytes) + " bytes of printable UTF-8"));
}

Status CheckLifetime(std::chrono::milliseconds lifetime) {
  if (lifetime.count() > 0 && lifetime <= kLongestLifetime) return OkStatus();
  return AboutField(
      "lifetime_ms",
      InvalidArgument("lifetime_ms " + std::to_string(lifetime.count()) + ": from 1 to " +
                      std::to_string(std::chrono::milliseconds(kLongestLifetime).count()) +
                      ", which is 366 days"));
}

Json ToJson(const std::string& digest, const Token& token) {
  return {{"id", token.id},
          {"name", token.name},
          {"owner_uid", token.owner},
          {"created_ms", Millis(token.created)},
          {"expires_ms", Millis(token.expires)},
          {"of_link", token.of_link},
          {"sha256", digest}};
}

}  // namespace

TokenStore::TokenStore(std::string path, const agent::Clock* clock, agent::IdSource* ids)
    : path_(std::move(path)), clock_(clock), ids_(ids) {}

Status TokenStore::Load() {
  const std::lock_guard lock(mutex_);
  Result<std::string> text = ReadFile(path_, kMaxFileBytes);
  if (!text.ok() && text.status().code() == Code::kNotFound) return OkStatus();
  if (!text.ok()) return text.status();
  try {
    const Json file = Json::parse(*text);
    for (const Json& each : file.at("tokens")) {
      tokens_[each.at("sha256").get<std::string>()] = {
          each.at("id").get<std::string>(),
          each.at("name").get<std::string>(),
          each.at("owner_uid").get<uid_t>(),
          FromMillis(each.at("created_ms").get<int64_t>()),
          FromMillis(each.at("expires_ms").get<int64_t>()),
          each.at("of_link").get<bool>()};
    }
  } catch (const nlohmann::json::exception&) {
    tokens_.clear();
    return {Code::kDataLoss, path_ + ": no file of tokens; move it away, and make new tokens"};
  }
  return OkStatus();
}

Status TokenStore::Write(const std::map<std::string, Token>& tokens) const {
  Json list = Json::array();
  for (const auto& [digest, token] : tokens) list.push_back(ToJson(digest, token));
  return WriteFileAtomically(path_, Json{{"tokens", std::move(list)}}.dump(1) + "\n", kMode);
}

Result<NewToken> TokenStore::Add(uid_t owner, const std::string& name,
                                 std::chrono::milliseconds lifetime, bool of_link) {
  const Time now = clock_->Now();
  std::map<std::string, Token> next;
  size_t of_owner = 0;
  for (const auto& [digest, token] : tokens_) {
    if (token.expires <= now) continue;
    next.emplace(digest, token);
    of_owner += token.owner == owner;
  }
  if (of_owner >= kMostOfOwner) {
    return ResourceExhausted("uid " + std::to_string(owner) + " has " + std::to_string(of_owner) +
                             " tokens, the most there can be; remove "
                             "some with odyssey-ctl token rm");
  }
  NewToken out = {{ids_->New("tok"), name, owner, now, now + lifetime, of_link},
                  NewSecret("odt", ids_)};
  next.emplace(Sha256Hex(out.secret), out.token);
  ODY_RETURN_IF_ERROR(Write(next));
  tokens_ = std::move(next);
  return out;
}

Result<NewToken> TokenStore::Create(uid_t owner, const std::string& name,
                                    std::chrono::milliseconds lifetime) {
  ODY_RETURN_IF_ERROR(CheckName(name));
  ODY_RETURN_IF_ERROR(CheckLifetime(lifetime));
  const std::lock_guard lock(mutex_);
  return Add(owner, name, lifetime, false);
}

std::vector<Token> TokenStore::List(std::optional<uid_t> owner) const {
  const std::lock_guard lock(mutex_);
  const Time now = clock_->Now();
  std::vector<Token> out;
  for (const auto& [digest, token] : tokens_) {
    if (token.expires > now && (!owner || token.owner == *owner)) out.push_back(token);
  }
  std::sort(out.begin(), out.end(), [](const Token& a, const Token& b) {
    return std::tie(a.created, a.id) < std::tie(b.created, b.id);
  });
  return out;
}

Result<Token> TokenStore::Verify(std::string_view secret) const {
  const std::string digest = Sha256Hex(secret);
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find(digest);
  if (found != tokens_.end() && found->second.expires > clock_->Now()) return found->second;
  return Unauthenticated(
      "token: it is unknown, revoked or expired; make one with odyssey-ctl token create");
}

Result<Token> TokenStore::Revoke(const std::string& id, std::optional<uid_t> owner) {
  std::vector<Ended> ended;
  Token token;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(tokens_.begin(), tokens_.end(), [&](const auto& each) {
      return each.second.id == id && (!owner || each.second.owner == *owner);
    });
    if (found == tokens_.end()) {
      return AboutField("token_id",
                        NotFound("token_id \"" + SanitizeUtf8(id) +
                                 "\": no token of yours; odyssey-ctl token list has them"));
    }
    token = found->second;
    std::map<std::string, Token> next = tokens_;
    next.erase(found->first);
    ODY_RETURN_IF_ERROR(Write(next));
    tokens_ = std::move(next);
    ended = TakeWatchers({id});
  }
  for (const Ended& each : ended) each();
  return token;
}

Result<NewLink> TokenStore::CreateLink(uid_t owner) {
  const std::lock_guard lock(mutex_);
  const Time now = clock_->Now();
  size_t of_owner = 0;
  for (auto link = links_.begin(); link != links_.end();) {
    link = link->second.expires <= now ? links_.erase(link) : std::next(link);
  }
  for (const auto& [digest, link] : links_) of_owner += link.owner == owner;
  if (of_owner >= kMostLinksOfOwner) {
    return ResourceExhausted("uid " + std::to_string(owner) + " has " + std::to_string(of_owner) +
                             " links that are open; each ends after " +
                             std::to_string(kLinkLifetime.count()) + " s");
  }
  const NewLink out = {NewSecret("odl", ids_), now + kLinkLifetime};
  links_[Sha256Hex(out.secret)] = {owner, out.expires};
  return out;
}

Result<NewToken> TokenStore::Exchange(std::string_view secret) {
  const std::string digest = Sha256Hex(secret);
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(digest);
  if (found == links_.end() || found->second.expires <= clock_->Now()) {
    return Unauthenticated(
        "link: it is unknown, over or used; make another one with odyssey-ctl web");
  }
  const uid_t owner = found->second.owner;
  links_.erase(found);
  return Add(owner, "browser", kLinkTokenLifetime, true);
}

TokenStore::Watch TokenStore::WatchEnd(const std::string& id, std::function<void()> ended) {
  auto watch = std::make_shared<Ended>(std::move(ended));
  {
    const std::lock_guard lock(mutex_);
    const bool lives = std::any_of(tokens_.begin(), tokens_.end(),
                                   [&](const auto& each) { return each.second.id == id; });
    if (lives) {
      std::vector<std::weak_ptr<Ended>>& watchers = watchers_[id];
      watchers.erase(std::remove_if(watchers.begin(), watchers.end(),
                                    [](const auto& each) { return each.expired(); }),
                     watchers.end());
      watchers.push_back(watch);
      return watch;
    }
  }
  (*watch)();
  return watch;
}

std::vector<TokenStore::Ended> TokenStore::TakeWatchers(const std::vector<std::string>& ids) {
  std::vector<Ended> out;
  for (const std::string& id : ids) {
    const auto found = watchers_.find(id);
    if (found == watchers_.end()) continue;
    for (const std::weak_ptr<Ended>& each : found->second) {
      if (const std::shared_ptr<Ended> watch = each.lock()) out.push_back(*watch);
    }
    watchers_.erase(found);
  }
  return out;
}

void TokenStore::EndExpired() {
  std::vector<Ended> ended;
  {
    const std::lock_guard lock(mutex_);
    const Time now = clock_->Now();
    std::vector<std::string> expired;
    for (auto token = tokens_.begin(); token != tokens_.end();) {
      const bool over = token->second.expires <= now;
      if (over) expired.push_back(token->second.id);
      token = over ? tokens_.erase(token) : std::next(token);
    }
    ended = TakeWatchers(expired);
  }
  for (const Ended& each : ended) each();
}

}  // namespace odyssey::token
