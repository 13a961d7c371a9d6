#include "policy/dialect/openshell_credentials.h"

#include "policy/dialect/openshell_endpoint.h"
#include "policy/egress/names.h"

namespace odyssey::dialect::openshell {
namespace {

bool ReadFlag(MapReader* map, std::string_view name) { return map->Bool(name).value_or(false); }

void ReadSigning(MapReader* map, egress::Credentials* out) {
  out->signing = map->Enum<egress::Signing>("credential_signing", egress::SigningNames(),
                                            egress::Signing::kNone);
  if (const auto text = map->String("signing_service")) out->signing_service = text->value;
  if (const auto text = map->String("signing_region")) out->signing_region = text->value;

  const Source& source = map->source();
  if (out->signing == egress::Signing::kNone) {
    if (out->signing_service.empty() && out->signing_region.empty()) return;
    source.Invalid(map->line(), map->key(),
                   "signing_service and signing_region need credential_signing");
    return;
  }
  if (out->signing_service.empty()) {
    source.Invalid(map->line(), map->KeyOf("credential_signing"),
                   "needs a signing_service, such as `s3`");
  }
  if (out->rewrite_body) {
    source.Invalid(map->line(), map->KeyOf("credential_signing"),
                   "and request_body_credential_rewrite exclude each other: a changed body would "
                   "not match its signature");
  }
}

// A credential is put only into requests that are inspected.
void CheckInspected(const MapReader& map, const egress::Endpoint& endpoint) {
  const egress::Credentials& credentials = endpoint.credentials;
  const bool credentialed =
      !credentials.provider.empty() || credentials.signing != egress::Signing::kNone;
  if (!credentialed || credentials.allow_uninspected) return;
  const auto refuse = [&](const std::string& how) {
    map.source().Invalid(map.line(), map.key(),
                         "a credentialed endpoint is " + how +
                             ": no proxy would see where the credential goes; give it an inspected "
                             "protocol, or set allow_uninspected_credentials");
  };
  if (!egress::IsInspected(endpoint.protocol)) refuse("L4-only");
  if (endpoint.tls == egress::Tls::kSkip) refuse("`tls: skip`");
}

}  // namespace

void ReadCredentials(MapReader* map, egress::Endpoint* endpoint) {
  egress::Credentials& out = endpoint->credentials;
  out.rewrite_websocket = ReadFlag(map, "websocket_credential_rewrite");
  out.rewrite_body = ReadFlag(map, "request_body_credential_rewrite");
  out.allow_uninspected = ReadFlag(map, "allow_uninspected_credentials");
  ReadSigning(map, &out);
  MapReader binding = map->Map("credential_binding");
  if (binding.present()) {
    const auto provider = binding.String("provider", Need::kRequired);
    if (provider && provider->value.empty()) {
      map->source().Invalid(provider->line, provider->key, "cannot be empty");
    }
    if (provider) out.provider = provider->value;
  }
  binding.Finish();

  const egress::Protocol protocol = endpoint->protocol;
  if (out.rewrite_websocket && protocol != egress::Protocol::kWebSocket &&
      protocol != egress::Protocol::kRest) {
    map->source().Invalid(map->line(), map->KeyOf("websocket_credential_rewrite"),
                          "goes with protocol websocket or rest");
  }
  if (out.rewrite_body && protocol != egress::Protocol::kRest) {
    map->source().Invalid(map->line(), map->KeyOf("request_body_credential_rewrite"),
                          "goes with protocol rest");
  }
  CheckInspected(*map, *endpoint);
}

}  // namespace odyssey::dialect::openshell
