#include "supervisor/egress/worker/credential_use.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "policy/egress/pattern.h"
#include "supervisor/egress/credentials/digest.h"
#include "supervisor/egress/credentials/sigv4.h"

namespace odyssey::egress {
namespace {

using credentials::BodyForm;
using credentials::Credential;
using credentials::Substitution;
using http::FramingKind;
using http::RequestHead;

constexpr uint64_t kMaxSignedBytes = 10 * 1024 * 1024;
constexpr uint16_t kHttpsPort = 443;
constexpr int kForbidden = 403, kTooLarge = 413, kUnsupported = 415, kBadGateway = 502;
constexpr char kChunkSignatures[] = "STREAMING-";
constexpr char kIdKey[] = "AWS_ACCESS_KEY_ID", kSecretKey[] = "AWS_SECRET_ACCESS_KEY",
               kTokenKey[] = "AWS_SESSION_TOKEN";
constexpr char kDefaultRegion[] = "us-east-1";
constexpr size_t kDigestDigits = 64;

// What any of them says.
Credentials RulesOf(const Decision& decision) {
  Credentials out;
  for (const Pair& pair : decision.pairs) {
    const Credentials& one = pair.endpoint->credentials;
    out.rewrite_body = out.rewrite_body || one.rewrite_body;
    out.rewrite_websocket = out.rewrite_websocket || one.rewrite_websocket;
    if (out.provider.empty()) out.provider = one.provider;
    if (out.signing != Signing::kNone || one.signing == Signing::kNone) continue;
    out.signing = one.signing;
    out.signing_service = one.signing_service;
    out.signing_region = one.signing_region;
    if (!one.provider.empty()) out.provider = one.provider;
  }
  return out;
}

bool IsDigest(std::string_view text) {
  return text.size() == kDigestDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return http::HexValue(c) >= 0; });
}

// X-Amz-Content-Sha256 of the client, where it stands for the body; "" if it does not.
std::string PayloadOf(std::string_view said) {
  return said == credentials::kUnsignedPayload || IsDigest(said) ? std::string(said) : "";
}

bool HasBody(const RequestHead& head) {
  return head.framing.kind == FramingKind::kChunked || head.framing.length > 0;
}

// A response is looked through as it is. gRPC compresses each message in fields of its own.
void RefuseEncodings(http::Fields* fields) {
  const bool grpc = std::erase_if(*fields, [](const http::Field& field) {
                      return http::SameText(field.name, "grpc-accept-encoding");
                    }) != 0;
  std::erase_if(*fields, [](const http::Field& field) {
    return http::SameText(field.name, "accept-encoding");
  });
  fields->push_back({"Accept-Encoding", "identity"});
  if (grpc) fields->push_back({"Grpc-Accept-Encoding", "identity"});
}

}  // namespace

CredentialUse::CredentialUse(std::shared_ptr<const credentials::Keyring> keyring,
                             const Passage& passage, bool secure)
    : keyring_(std::move(keyring)),
      place_{.host = passage.to.host, .port = passage.to.port, .secure = secure},
      bound_(keyring_->At(place_)),
      rules_(RulesOf(passage.decision)) {}

bool CredentialUse::HashesBody(const RequestHead& head) const {
  if (rules_.signing == Signing::kSigV4Body) return true;
  if (rules_.signing != Signing::kSigV4) return false;
  const http::Field* const said = http::FindField(head.fields, "x-amz-content-sha256");
  return said == nullptr || PayloadOf(said->value).empty();
}

// A body of a stated length comes in any case; another one may wait for the response.
uint64_t CredentialUse::BodyBytes(const RequestHead& head) const {
  if (!HasBody(head)) return 0;
  if (HashesBody(head)) return kMaxSignedBytes;
  if (keyring_->empty() && !rules_.rewrite_body) return 0;
  const bool chunked = head.framing.kind == FramingKind::kChunked;
  const bool fits = !chunked && head.framing.length <= credentials::kMaxBodyBytes;
  return fits || (chunked && rules_.rewrite_body) ? credentials::kMaxBodyBytes : 0;
}

bool CredentialUse::Refuse(int status, credentials::Refusal refusal) {
  status_ = status;
  refusal_ = std::move(refusal);
  return false;
}

bool CredentialUse::PutIn(RequestHead* head, http::CanonicalPath* path,
                          std::optional<std::string>* body) {
  const uint64_t limit = BodyBytes(*head);
  if (limit != 0 && *body && (*body)->size() > limit) {
    return Refuse(kTooLarge, {"body_too_large", "a body that a credential is for has at most " +
                                                    std::to_string(limit / 1024) + " KiB"});
  }
  credentials::ClientSignature client;
  if (rules_.signing != Signing::kNone) client = credentials::StripSignature(&head->fields);
  if (client.payload.rfind(kChunkSignatures, 0) == 0) {
    return Refuse(kUnsupported, {"unsupported_encoding",
                                 "a body that the client signs in chunks cannot be signed anew; "
                                 "have it send one that is not"});
  }
  Substitution into(keyring_.get(), place_);
  if (!into.InFields(&head->fields) || !into.InPath(&path->wire) || !into.InQuery(&path->query)) {
    return Refuse(kForbidden, into.refusal());
  }
  for (const Credential* credential : into.used()) Remember(credential);
  sent_ = into.sent();
  if (!PutInBody(*head, body)) return false;
  if (!bound_.empty()) RefuseEncodings(&head->fields);
  if (rules_.signing == Signing::kNone) return true;
  if (rules_.signing_region.empty()) rules_.signing_region = client.region;
  return Sign(PayloadFor(client.payload, *body), head, *path);
}

bool CredentialUse::PutInBody(const RequestHead& head, std::optional<std::string>* body) {
  if (!*body) return true;
  const bool rewrite = rules_.rewrite_body && (*body)->size() <= credentials::kMaxBodyBytes;
  return rewrite ? PutInText(credentials::BodyFormOf(head.fields), &**body) : HasNone(**body);
}

bool CredentialUse::PutInMessage(std::string* text) {
  const bool json = !text->empty() && (text->front() == '{' || text->front() == '[');
  return rules_.rewrite_websocket ? PutInText(json ? BodyForm::kJson : BodyForm::kPlain, text)
                                  : HasNone(*text);
}

bool CredentialUse::PutInText(BodyForm form, std::string* text) {
  Substitution into(keyring_.get(), place_);
  if (!into.InBody(form, text)) return Refuse(kForbidden, into.refusal());
  for (const Credential* credential : into.used()) Remember(credential);
  return true;
}

bool CredentialUse::HasNone(std::string_view text) {
  credentials::Replacer guard = BodyGuard();
  (void)guard.Feed(text);
  if (guard.found()) RefuseBody();
  return !guard.found();
}

void CredentialUse::RefuseBody() { Refuse(kForbidden, credentials::InBodyRefusal()); }

std::string CredentialUse::PayloadFor(std::string_view said,
                                      const std::optional<std::string>& body) const {
  if (rules_.signing == Signing::kSigV4NoBody) return std::string(credentials::kUnsignedPayload);
  const std::string by_client = rules_.signing == Signing::kSigV4 ? PayloadOf(said) : "";
  return by_client.empty() ? credentials::HexOf(credentials::Sha256(body.value_or(""))) : by_client;
}

bool CredentialUse::Sign(std::string payload, RequestHead* head, const http::CanonicalPath& path) {
  const Credential* const id = Find(rules_.provider, kIdKey);
  const std::string provider = id == nullptr ? rules_.provider : id->provider;
  const Credential* const secret = Find(provider, kSecretKey);
  if (id == nullptr || secret == nullptr) {
    return Refuse(kForbidden, {"credential_unknown",
                               "the endpoint signs requests, and no provider that is attached and "
                               "is for it has AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"});
  }
  const Credential* const token = Find(provider, kTokenKey);
  for (const Credential* credential : {id, secret, token}) {
    if (credential != nullptr) Remember(credential);
  }
  const std::string port = place_.port == kHttpsPort ? "" : ":" + std::to_string(place_.port);
  credentials::SignRequest(
      {.method = head->method,
       .wire = path.wire,
       .query = path.query,
       .host = BeforePort(place_.host) + port,
       .payload = std::move(payload)},
      {.id = id->secret.text(),
       .secret = secret->secret.text(),
       .session_token = token == nullptr ? std::string_view() : token->secret.text()},
      {.region = rules_.signing_region.empty() ? kDefaultRegion : rules_.signing_region,
       .service = rules_.signing_service,
       .time = static_cast<int64_t>(time(nullptr))},
      &head->fields);
  return true;
}

// Of the provider, of any one for "".
const Credential* CredentialUse::Find(const std::string& provider, std::string_view key) const {
  for (const Credential* credential : bound_) {
    if (credential->key == key && (provider.empty() || credential->provider == provider)) {
      return credential;
    }
  }
  return nullptr;
}

void CredentialUse::Remember(const Credential* credential) {
  const std::string name = credentials::NameOf(*credential);
  if (("," + names_ + ",").find("," + name + ",") != std::string::npos) return;
  if (names_.size() + name.size() >= egress_wire::kMaxLongBytes) return;
  names_ += (names_.empty() ? "" : ",") + name;
}

credentials::Replacer CredentialUse::BodyGuard() const {
  return credentials::Replacer(credentials::PlaceholdersOf(*keyring_));
}

credentials::Replacer CredentialUse::Redactor() const {
  std::vector<credentials::Replacement> all = credentials::SecretsOf(bound_);
  all.insert(all.end(), sent_.begin(), sent_.end());
  return credentials::Replacer(std::move(all));
}

bool CredentialUse::TakeOut(http::ResponseHead* response) {
  if (!IsReadable(*response)) {
    return Refuse(kBadGateway, {"response_encoded",
                                "the response to a request with a credential is compressed, and "
                                "cannot be looked through"});
  }
  TakeOut(&response->fields);
  const credentials::Replacer redactor = Redactor();
  response->reason = redactor.Whole(response->reason);
  return true;
}

void CredentialUse::TakeOut(http::Fields* fields) const {
  const credentials::Replacer redactor = Redactor();
  for (http::Field& field : *fields) field.value = redactor.Whole(field.value);
}

bool CredentialUse::IsReadable(const http::ResponseHead& response) const {
  if (names_.empty() || response.framing.kind == FramingKind::kNone) return true;
  std::vector<std::string> encodings = http::ListMembers(response.fields, "content-encoding");
  for (std::string& encoding : http::ListMembers(response.fields, "grpc-encoding")) {
    encodings.push_back(std::move(encoding));
  }
  return std::all_of(encodings.begin(), encodings.end(), [](const std::string& encoding) {
    return http::SameText(encoding, "identity");
  });
}

}  // namespace odyssey::egress
