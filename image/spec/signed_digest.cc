#include "image/spec/signed_digest.h"

#include <nlohmann/json.hpp>

namespace odyssey::image {
namespace {

constexpr size_t kMaxPayload = 64 * 1024;

}  // namespace

Result<std::string> SignedDigest(std::string_view payload) {
  if (payload.size() > kMaxPayload) {
    return InvalidArgument("it has more than " + std::to_string(kMaxPayload) + " bytes");
  }
  const auto json = nlohmann::json::parse(payload, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json* at = &json;
  std::string key;
  for (const char* const name : {"critical", "image", "docker-manifest-digest"}) {
    key += (key.empty() ? "" : ".") + std::string(name);
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (!at->is_object() || found == at->end()) return InvalidArgument(key + ": is missing");
    at = &*found;
  }
  if (!at->is_string()) return InvalidArgument(key + ": expected a string");
  return at->get<std::string>();
}

}  // namespace odyssey::image
