#include "supervisor/egress/http/refusal.h"

#include <algorithm>
#include <iterator>

#include "common/base/utf8.h"
#include "supervisor/egress/http/field.h"

namespace odyssey::egress::http {
namespace {

struct StatusName {
  int status;
  std::string_view reason;  // of the first line
  std::string_view error;   // of a head that could not be read
};

constexpr StatusName kStatusNames[] = {
    {400, "Bad Request", "malformed_request"},
    {403, "Forbidden", "policy_denied"},
    {405, "Method Not Allowed", "method_not_allowed"},
    {408, "Request Timeout", "request_timeout"},
    {413, "Content Too Large", "body_too_large"},
    {414, "URI Too Long", "target_too_long"},
    {415, "Unsupported Media Type", "unsupported_media_type"},
    {417, "Expectation Failed", "expectation_failed"},
    {421, "Misdirected Request", "request_authority_mismatch"},
    {425, "Too Early", "early_data"},
    {429, "Too Many Requests", "budget_exceeded"},
    {431, "Request Header Fields Too Large", "head_too_large"},
    {500, "Internal Server Error", "internal"},
    {502, "Bad Gateway", "upstream_malformed"},
    {503, "Service Unavailable", "unavailable"},
    {504, "Gateway Timeout", "upstream_timeout"},
};
constexpr StatusName kOther = {0, "", "refused"};

const StatusName& NameOf(int status) {
  const auto* const found =
      std::find_if(std::begin(kStatusNames), std::end(kStatusNames),
                   [&](const StatusName& name) { return name.status == status; });
  return found == std::end(kStatusNames) ? kOther : *found;
}

std::string Quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : SanitizeUtf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class ObjectText final {
 public:
  void AddText(std::string_view key, std::string_view text) {
    if (!text.empty()) Add(key, Quoted(text));
  }
  void Add(std::string_view key, std::string_view json) {
    text_.append(text_.size() > 1 ? "," : "").append(Quoted(key)).append(":").append(json);
  }
  std::string Take() && { return std::move(text_) + "}"; }

 private:
  std::string text_ = "{";
};

std::string ListText(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "[" : ",") + Quoted(item);
  return out + "]";
}

}  // namespace

Refusal RefusalOf(const ParseError& error) {
  Refusal out = {.status = error.status, .error = std::string(NameOf(error.status).error)};
  out.detail = error.reason;
  return out;
}

std::string RefusalBody(const Refusal& refusal) {
  if (!refusal.body.empty()) return refusal.body;
  ObjectText object;
  object.AddText("error", refusal.error);
  object.AddText("policy", refusal.policy);
  object.AddText("rule", refusal.rule);
  object.AddText("detail", refusal.detail);
  object.AddText("layer", refusal.layer);
  object.AddText("protocol", refusal.protocol);
  object.AddText("method", refusal.method);
  object.AddText("path", refusal.path);
  object.AddText("host", refusal.host);
  if (refusal.port != 0) object.Add("port", std::to_string(refusal.port));
  object.AddText("binary", refusal.binary);
  object.AddText("reason", refusal.reason);
  if (!refusal.rule_missing.empty()) {
    ObjectText rule;
    for (const auto& [key, value] : refusal.rule_missing) rule.AddText(key, value);
    object.Add("rule_missing", std::move(rule).Take());
  }
  if (refusal.retry_after != 0) object.Add("retry_after", std::to_string(refusal.retry_after));
  if (!refusal.next_steps.empty()) object.Add("next_steps", ListText(refusal.next_steps));
  object.AddText("agent_guidance", refusal.agent_guidance);
  return std::move(object).Take() + "\n";
}

std::string RefusalResponse(const Refusal& refusal) {
  const std::string body = RefusalBody(refusal);
  std::string out = "HTTP/1.1 " + std::to_string(refusal.status) + " " +
                    std::string(NameOf(refusal.status).reason) + "\r\n";
  AppendField("Content-Type", "application/json", &out);
  AppendField("Content-Length", std::to_string(body.size()), &out);
  AppendField("Cache-Control", "no-store", &out);
  if (refusal.status == 405)
    AppendField("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", &out);
  if (refusal.retry_after != 0) {
    AppendField("Retry-After", std::to_string(refusal.retry_after), &out);
  }
  if (!refusal.policy.empty() && IsFieldValue(refusal.policy, ObsText::kRefuse)) {
    AppendField("X-OpenShell-Policy", refusal.policy, &out);
  }
  AppendField("Connection", "close", &out);
  out += "\r\n";
  return refusal.method == "HEAD" ? out : out + body;
}

}  // namespace odyssey::egress::http
