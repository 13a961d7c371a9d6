// A request whose parts a command chose, with placeholders among them, and the response of a server
// that says back whatever it was sent. No secret goes to a server that it is not for, none comes
// back, and nothing depends on how the bytes arrive.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "supervisor/egress/credentials/substitution.h"

namespace {

namespace credentials = odyssey::egress::credentials;
using credentials::Credential;
using credentials::Keyring;
using credentials::Replacement;
using credentials::Replacer;
using odyssey::egress::http::Fields;

constexpr std::string_view kSecret = "ghp_Secret/\"&secret", kOtherSecret = "sk-0therSecretOf1234";
constexpr std::string_view kHeld = "ghp_Held00/\"&held00", kOtherHeld = "sk-0therHeld000f1234";

Credential Make(std::string_view key, std::string_view held, std::string_view secret,
                std::string_view endpoint) {
  Credential out{.provider = "p", .key = std::string(key), .placeholder = std::string(held)};
  out.secret = credentials::Secret(std::string(secret));
  out.endpoints.push_back(*credentials::ParseEndpointPattern(endpoint));
  return out;
}

Keyring MakeKeyring() {
  std::vector<Credential> all;
  all.push_back(Make("A", kHeld, kSecret, "a.example.com:443"));
  all.push_back(Make("B", kOtherHeld, kOtherSecret, "b.example.com:443"));
  return Keyring(std::move(all));
}

bool Has(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

// `allowed`: the secret that may be there.
void CheckParts(const std::vector<std::string>& parts, bool allowed) {
  for (const std::string& part : parts) {
    ODY_CHECK(!Has(part, kOtherSecret));
    ODY_CHECK(allowed || !Has(part, kSecret));
  }
}

void CheckResponse(const std::string& bytes, const std::vector<Replacement>& secrets, size_t step) {
  Replacer whole(secrets), pieces(secrets);
  const std::string at_once = whole.Feed(bytes) + whole.End();
  std::string in_pieces;
  for (size_t at = 0; at < bytes.size(); at += step) {
    in_pieces += pieces.Feed(std::string_view(bytes).substr(at, step));
  }
  in_pieces += pieces.End();
  ODY_CHECK(at_once.size() == bytes.size());
  ODY_CHECK(in_pieces == at_once);
  ODY_CHECK(secrets.empty() || !Has(at_once, kSecret));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 2, size - 2);
  // What a cell does not have it cannot send.
  if (Has(input, kSecret) || Has(input, kOtherSecret)) return 0;
  const Keyring keyring = MakeKeyring();
  const credentials::Place place{.host = (data[0] & 1) != 0 ? "a.example.com" : "c.example.com",
                                 .port = 443,
                                 .secure = (data[0] & 2) != 0};
  const bool bound = !keyring.At(place).empty();
  const auto form = static_cast<credentials::BodyForm>(data[0] % 3);

  credentials::Substitution into(&keyring, place);
  Fields fields = {{"Authorization", input}, {"X", input}};
  std::string path = input, query = input, body = input;
  if (into.InFields(&fields)) CheckParts({fields[0].value, fields[1].value}, bound);
  if (into.InPath(&path)) CheckParts({path}, bound);
  if (into.InQuery(&query)) CheckParts({query}, bound);
  if (into.InBody(form, &body)) CheckParts({body}, bound);

  std::vector<Replacement> secrets = credentials::SecretsOf(keyring.At(place));
  secrets.insert(secrets.end(), into.sent().begin(), into.sent().end());
  const size_t step = static_cast<size_t>(data[1]) + 1;
  CheckResponse(fields[0].value + body + input, secrets, step);
  return 0;
}
