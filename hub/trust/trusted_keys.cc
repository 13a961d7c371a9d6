#include "hub/trust/trusted_keys.h"

#include <errno.h>

#include <sstream>

#include "common/os/file.h"
#include "hub/artifact/artifact.h"
#include "hub/trust/signature.h"

namespace odyssey::trust {
namespace {

constexpr char kAnyNamespace[] = "*";

}  // namespace

Result<std::vector<TrustedKey>> ParseTrustedKeys(const std::string& text) {
  std::vector<TrustedKey> out;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); number++) {
    std::istringstream words(line.substr(0, line.find('#')));
    TrustedKey entry;
    std::string more;
    if (!(words >> entry.ns)) continue;
    const bool shape = static_cast<bool>(words >> entry.key) && !(words >> more);
    const bool named = entry.ns == kAnyNamespace || artifact::IsName(entry.ns);
    if (!shape || !named || !CheckPublicKey(entry.key).ok()) {
      return InvalidArgument("line " + std::to_string(number) +
                             ": expected NAMESPACE and the base64 of an Ed25519 public key");
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Result<std::vector<TrustedKey>> ReadTrustedKeys(const std::vector<std::string>& paths) {
  std::vector<TrustedKey> out;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadFile(path, kMaxTrustBytes);
    if (!text.ok() && text.status().detail().error == ENOENT) continue;
    ODY_RETURN_IF_ERROR(text.status());
    const Result<std::vector<TrustedKey>> keys = ParseTrustedKeys(*text);
    if (!keys.ok()) return InvalidArgument(path + ": " + keys.status().message());
    out.insert(out.end(), keys->begin(), keys->end());
  }
  return out;
}

std::vector<std::string> KeysOf(const std::vector<TrustedKey>& keys, const std::string& ns) {
  std::vector<std::string> out;
  for (const TrustedKey& entry : keys) {
    if (entry.ns == ns || entry.ns == kAnyNamespace) out.push_back(entry.key);
  }
  return out;
}

}  // namespace odyssey::trust
