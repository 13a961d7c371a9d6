#include "ctl/image/registry_credentials.h"

#include <nlohmann/json.hpp>

namespace odyssey::ctl {
namespace {

using Json = nlohmann::ordered_json;

// "https://HOST/v1/", as old versions of docker write it, is HOST.
std::string WithoutScheme(const std::string& key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!key.starts_with(scheme)) continue;
    const size_t slash = key.find('/', scheme.size());
    return key.substr(scheme.size(), slash == key.npos ? slash : slash - scheme.size());
  }
  return key;
}

}  // namespace

Result<std::string> CredentialsOf(std::string_view text, const std::string& registry) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto auths = json.is_object() ? json.find("auths") : json.end();
  if (!json.is_object() || auths == json.end() || !auths->is_object()) {
    return InvalidArgument("expected JSON with \"auths\", as skopeo login --authfile writes it");
  }
  Json found = Json::object();
  for (const auto& [key, value] : auths->items()) {
    const std::string place = WithoutScheme(key);
    if (place != registry && !place.starts_with(registry + "/")) continue;
    // With a helper of the person's the entry is empty.
    if (value.is_object() && (value.contains("auth") || value.contains("identitytoken"))) {
      found[place] = value;
    }
  }
  if (!found.empty()) return Json({{"auths", found}}).dump();
  return NotFound("has no credentials for " + registry + "; skopeo login --authfile FILE " +
                  registry + " adds them");
}

}  // namespace odyssey::ctl
