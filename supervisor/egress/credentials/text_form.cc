#include "supervisor/egress/credentials/text_form.h"

#include <openssl/evp.h>

#include <algorithm>

#include "supervisor/egress/http/field.h"

namespace odyssey::egress::credentials {
namespace {

constexpr size_t kBase64Group = 4;

bool IsUnreserved(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || http::IsDigit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

unsigned char* Bytes(std::string* text) { return reinterpret_cast<unsigned char*>(text->data()); }

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string PercentEncode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = http::HexValue(text[i + 1]), low = http::HexValue(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::optional<std::string> FormDecode(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return PercentDecode(spaced);
}

std::string JsonEscape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string Base64Encode(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * kBase64Group + 1, '\0');
  const int size = EVP_EncodeBlock(Bytes(&out), Bytes(bytes), static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  std::string padded(text.substr(0, text.find_last_not_of('=') + 1));
  const size_t rest = padded.size() % kBase64Group;
  const size_t padding = rest == 0 ? 0 : kBase64Group - rest;
  padded.append(padding, '=');
  std::string out(padded.size() / kBase64Group * 3, '\0');
  const int size = EVP_DecodeBlock(Bytes(&out), Bytes(padded), static_cast<int>(padded.size()));
  if (padding > 2 || size < 0) return std::nullopt;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

std::vector<std::string> FormsOf(std::string_view text) {
  std::vector<std::string> out = {std::string(text)};
  for (std::string& form : std::vector<std::string>{JsonEscape(text), PercentEncode(text)}) {
    if (std::find(out.begin(), out.end(), form) == out.end()) out.push_back(std::move(form));
  }
  return out;
}

}  // namespace odyssey::egress::credentials
