#include "supervisor/egress/credentials/sigv4.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "supervisor/egress/credentials/digest.h"
#include "supervisor/egress/credentials/secret.h"
#include "supervisor/egress/credentials/text_form.h"

namespace odyssey::egress::credentials {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";
constexpr char kEnd[] = "aws4_request";
constexpr std::string_view kScopeName = "Credential=";
constexpr std::string_view kStripped[] = {"authorization", "x-amz-date", "x-amz-security-token",
                                          "x-amz-content-sha256"};
constexpr size_t kDateBytes = 8;  // of "20150830T123600Z"

std::string TimeText(int64_t seconds) {
  const time_t time = static_cast<time_t>(seconds);
  tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  return {text, strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts)};
}

// Each segment encoded once, as S3 reads it; other services encode what they receive once more.
std::string CanonicalPath(const Signable& request, const std::string& service) {
  std::string out;
  for (size_t at = 0; at <= request.wire.size();) {
    const size_t end = std::min(request.wire.find('/', at), request.wire.size());
    const std::string segment = request.wire.substr(at, end - at);
    const std::string once = PercentEncode(PercentDecode(segment).value_or(segment));
    out += service == "s3" ? once : PercentEncode(once);
    if (end < request.wire.size()) out += '/';
    at = end + 1;
  }
  return out;
}

std::string CanonicalQuery(const std::string& query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t at = 0; at < query.size();) {
    const size_t end = std::min(query.find('&', at), query.size());
    const std::string pair = query.substr(at, end - at);
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = pair.substr(0, equals);
    const std::string value = equals < pair.size() ? pair.substr(equals + 1) : "";
    if (!pair.empty()) {
      pairs.emplace_back(PercentEncode(FormDecode(name).value_or(name)),
                         PercentEncode(FormDecode(value).value_or(value)));
    }
    at = end + 1;
  }
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& [name, value] : pairs) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

// Inner white space is one space.
std::string CanonicalValue(std::string_view value) {
  std::string out;
  for (const char c : http::Trim(value)) {
    const bool space = c == ' ' || c == '\t';
    if (!space || out.back() != ' ') out += space ? ' ' : c;
  }
  return out;
}

// By name in lower case.
std::map<std::string, std::string> SignedFields(const Signable& request,
                                                const http::Fields& fields) {
  std::map<std::string, std::string> out = {{"host", request.host}};
  for (const http::Field& field : fields) {
    const std::string name = http::LowerCase(field.name);
    if (name != "content-type" && name.rfind("x-amz-", 0) != 0) continue;
    std::string& value = out[name];
    value += (value.empty() ? "" : ",") + CanonicalValue(field.value);
  }
  return out;
}

std::string KeyFor(const SigningKey& key, const SigningScope& scope, std::string_view date) {
  std::string text = "AWS4" + std::string(key.secret);
  for (const std::string_view part : {date, std::string_view(scope.region),
                                      std::string_view(scope.service), std::string_view(kEnd)}) {
    std::string next = HmacSha256(text, part);
    Wipe(&text);
    text.swap(next);
  }
  return text;
}

}  // namespace

ClientSignature StripSignature(http::Fields* fields) {
  ClientSignature out;
  if (const http::Field* field = http::FindField(*fields, "x-amz-content-sha256")) {
    out.payload = field->value;
  }
  if (const http::Field* field = http::FindField(*fields, "authorization")) {
    // Credential=ID/DATE/REGION/SERVICE/aws4_request
    const std::string& value = field->value;
    const size_t begin = value.find(kScopeName);
    const size_t id = begin == std::string::npos ? begin : value.find('/', begin);
    const size_t date = id == std::string::npos ? id : value.find('/', id + 1);
    const size_t region = date == std::string::npos ? date : value.find('/', date + 1);
    if (region != std::string::npos) out.region = value.substr(date + 1, region - date - 1);
  }
  std::erase_if(*fields, [](const http::Field& field) {
    return std::any_of(std::begin(kStripped), std::end(kStripped),
                       [&](std::string_view name) { return http::SameText(name, field.name); });
  });
  return out;
}

void SignRequest(const Signable& request, const SigningKey& key, const SigningScope& scope,
                 http::Fields* fields) {
  const std::string time = TimeText(scope.time);
  const std::string date = time.substr(0, kDateBytes);
  fields->push_back({"X-Amz-Date", time});
  const bool says_payload = scope.service == "s3" || request.payload == kUnsignedPayload;
  if (says_payload) fields->push_back({"X-Amz-Content-Sha256", request.payload});
  if (!key.session_token.empty()) {
    fields->push_back({"X-Amz-Security-Token", std::string(key.session_token)});
  }

  std::string lines, names;
  for (const auto& [name, value] : SignedFields(request, *fields)) {
    lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = request.method + "\n" + CanonicalPath(request, scope.service) +
                                "\n" + CanonicalQuery(request.query) + "\n" + lines + "\n" + names +
                                "\n" + request.payload;
  const std::string within = date + "/" + scope.region + "/" + scope.service + "/" + kEnd;
  const std::string to_sign =
      std::string(kAlgorithm) + "\n" + time + "\n" + within + "\n" + HexOf(Sha256(canonical));
  std::string signing_key = KeyFor(key, scope, date);
  const std::string signature = HexOf(HmacSha256(signing_key, to_sign));
  Wipe(&signing_key);
  fields->push_back({"Authorization", std::string(kAlgorithm) +
                                          " Credential=" + std::string(key.id) + "/" + within +
                                          ", SignedHeaders=" + names + ", Signature=" + signature});
}

}  // namespace odyssey::egress::credentials
