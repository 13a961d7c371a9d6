#include "supervisor/egress/credentials/substitution.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "supervisor/egress/credentials/text_form.h"

namespace odyssey::egress::credentials {
namespace {

constexpr std::string_view kResolve = "openshell:resolve:env:";
constexpr std::string_view kAlias = "provider-OPENSHELL-RESOLVE-ENV-";
constexpr size_t kHandleDigits = 64;
constexpr std::string_view kBasic = "basic ";

bool IsKeyCharacter(char c) {
  return http::IsDigit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Without a revision or a handle.
std::string KeyOf(std::string_view text) {
  const size_t end = text.find('_');
  if (end == std::string_view::npos || end < 2) return std::string(text);
  const std::string_view digits = text.substr(1, end - 1);
  const bool revision = text[0] == 'v' && std::all_of(digits.begin(), digits.end(), http::IsDigit);
  const bool handle =
      text[0] == 's' && digits.size() == kHandleDigits &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return http::HexValue(c) >= 0; });
  return std::string(revision || handle ? text.substr(end + 1) : text);
}

std::string InForm(BodyForm form, const std::string& text) {
  return form == BodyForm::kJson ? JsonEscape(text) : text;
}

}  // namespace

BodyForm BodyFormOf(const http::Fields& fields) {
  const http::Field* const field = http::FindField(fields, "content-type");
  if (field == nullptr) return BodyForm::kPlain;
  const std::string type = http::LowerCase(field->value.substr(0, field->value.find(';')));
  if (http::Trim(type) == "application/x-www-form-urlencoded") return BodyForm::kForm;
  return type.find("json") == std::string::npos ? BodyForm::kPlain : BodyForm::kJson;
}

Substitution::Substitution(const Keyring* keyring, Place place)
    : keyring_(keyring), place_(std::move(place)), bound_(keyring_->At(place_)) {}

bool Substitution::InFields(http::Fields* fields) {
  for (http::Field& field : *fields) {
    const bool basic = http::SameText(field.name, "authorization") &&
                       http::BeginsWithText(field.value, kBasic) &&
                       field.value.size() > kBasic.size();
    bool changed = false;
    if (!Replace(BodyForm::kPlain, &field.value, &changed)) return false;
    if (basic && !InBasic(&field.value)) return false;
  }
  return true;
}

bool Substitution::InBasic(std::string* value) {
  const std::string scheme = value->substr(0, kBasic.size());
  const std::string given(http::Trim(std::string_view(*value).substr(kBasic.size())));
  std::optional<std::string> pair = Base64Decode(given);
  bool changed = false;
  if (!pair) return true;
  if (!Replace(BodyForm::kPlain, &*pair, &changed)) return false;
  if (!changed) return true;
  std::string encoded = Base64Encode(*pair);
  Wipe(&*pair);
  sent_.push_back({.from = encoded, .to = given});
  *value = scheme + encoded;
  return true;
}

bool Substitution::InPath(std::string* wire) {
  std::string out;
  for (size_t at = 0; at <= wire->size();) {
    const size_t end = std::min(wire->find('/', at), wire->size());
    const std::string segment = wire->substr(at, end - at);
    std::optional<std::string> decoded = PercentDecode(segment);
    bool changed = false;
    if (decoded && !Replace(BodyForm::kPlain, &*decoded, &changed)) return false;
    out += changed ? PercentEncode(*decoded) : segment;
    if (end < wire->size()) out += '/';
    at = end + 1;
  }
  *wire = std::move(out);
  return true;
}

bool Substitution::InQuery(std::string* query) { return InPairs(query); }

bool Substitution::InBody(BodyForm form, std::string* body) {
  if (form == BodyForm::kForm) return InPairs(body);
  bool changed = false;
  return Replace(form, body, &changed);
}

// NAME=VALUE, separated by `&`.
bool Substitution::InPairs(std::string* text) {
  std::string out;
  for (size_t at = 0; at <= text->size();) {
    const size_t end = std::min(text->find_first_of("&=", at), text->size());
    const std::string part = text->substr(at, end - at);
    std::optional<std::string> decoded = FormDecode(part);
    bool changed = false;
    if (decoded && !Replace(BodyForm::kPlain, &*decoded, &changed)) return false;
    out += changed ? PercentEncode(*decoded) : part;
    if (end < text->size()) out += (*text)[end];
    at = end + 1;
  }
  *text = std::move(out);
  return true;
}

bool Substitution::Replace(BodyForm form, std::string* text, bool* changed) {
  std::string out;
  size_t at = 0;
  for (;;) {
    const Found found = Next(*text, at, form);
    if (found.begin == std::string::npos) break;
    const Credential* const credential = Resolve(found);
    if (credential == nullptr) return false;
    if (std::find(used_.begin(), used_.end(), credential) == used_.end()) {
      used_.push_back(credential);
    }
    out.append(*text, at, found.begin - at).append(InForm(form, credential->secret.text()));
    at = found.end;
    *changed = true;
  }
  if (*changed) *text = out.append(*text, at);
  return true;
}

// The first placeholder from `at` on; of two, the one of a credential.
Substitution::Found Substitution::Next(std::string_view text, size_t at, BodyForm form) const {
  Found out;
  for (const Credential& credential : keyring_->all()) {
    const std::string placeholder = InForm(form, credential.placeholder);
    const size_t begin = text.find(placeholder, at);
    if (placeholder.empty() || begin >= out.begin) continue;
    out = {begin, begin + placeholder.size(), &credential, ""};
  }
  for (const std::string_view known : {kResolve, kAlias}) {
    const size_t begin = text.find(known, at);
    if (begin >= out.begin) continue;
    size_t end = begin + known.size();
    while (end < text.size() && IsKeyCharacter(text[end])) ++end;
    out = {begin, end, nullptr,
           KeyOf(text.substr(begin + known.size(), end - begin - known.size()))};
  }
  return out;
}

const Credential* Substitution::Resolve(const Found& found) {
  for (const Credential* credential : bound_) {
    if (credential == found.credential) return credential;
    if (found.credential == nullptr && credential->key == found.key) return credential;
  }
  for (const Credential& credential : keyring_->all()) {
    const bool meant =
        found.credential == nullptr ? credential.key == found.key : &credential == found.credential;
    if (!meant) continue;
    refusal_ = {"credential_endpoint_mismatch", NameOf(credential) + " is not for " + place_.host +
                                                    ":" + std::to_string(place_.port) +
                                                    (place_.secure ? "" : " without TLS")};
    return nullptr;
  }
  refusal_ = {"credential_unknown", "the sandbox has no credential of this name"};
  return nullptr;
}

std::vector<Replacement> PlaceholdersOf(const Keyring& keyring) {
  std::vector<Replacement> out;
  if (keyring.empty()) return out;
  std::vector<std::string> texts = {std::string(kResolve), std::string(kAlias)};
  for (const Credential& credential : keyring.all()) texts.push_back(credential.placeholder);
  for (const std::string& text : texts) {
    for (std::string& form : FormsOf(text)) out.push_back({form, form});
  }
  return out;
}

Refusal InBodyRefusal() {
  return {"credential_in_body",
          "the body has a placeholder of a credential, and the endpoint has no "
          "request_body_credential_rewrite, or the body is longer than 256 KiB"};
}

std::vector<Replacement> SecretsOf(const std::vector<const Credential*>& credentials) {
  std::vector<Replacement> out;
  for (const Credential* credential : credentials) {
    for (std::string& form : FormsOf(credential->secret.text())) {
      out.push_back({std::move(form), credential->placeholder});
    }
  }
  return out;
}

}  // namespace odyssey::egress::credentials
