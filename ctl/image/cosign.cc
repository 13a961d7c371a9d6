#include "ctl/image/cosign.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace odyssey::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPayloadType[] = "application/vnd.dev.cosign.simplesigning.v1+json";
constexpr char kSignature[] = "dev.cosignproject.cosign/signature";

}  // namespace

std::string SignatureTag(const std::string& digest) {
  std::string out = digest + ".sig";
  out.replace(out.find(':'), 1, "-");
  return out;
}

Result<std::vector<StoredSignature>> ReadSignatures(std::string_view manifest) {
  const Json json = Json::parse(manifest, nullptr, /*allow_exceptions=*/false);
  const auto layers = json.is_object() ? json.find("layers") : json.end();
  if (!json.is_object() || layers == json.end() || !layers->is_array()) {
    return InvalidArgument("the manifest of its signatures is none");
  }
  std::vector<StoredSignature> out;
  for (const Json& layer : *layers) {
    if (!layer.is_object() || layer.value("mediaType", Json()) != kPayloadType) continue;
    const Json annotations = layer.value("annotations", Json::object());
    const Json signature = annotations.is_object() ? annotations.value(kSignature, Json()) : Json();
    const Json digest = layer.value("digest", Json()), size = layer.value("size", Json());
    if (!signature.is_string() || !digest.is_string() || !size.is_number_unsigned()) continue;
    const image::Blob payload{digest.get<std::string>(), size.get<uint64_t>()};
    if (!image::IsDigest(payload.digest) || payload.size > kMaxSignaturePayload) continue;
    if (out.size() == kMaxSignatures) break;
    out.push_back({payload, signature.get<std::string>()});
  }
  return out;
}

}  // namespace odyssey::ctl
