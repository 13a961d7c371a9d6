#include "agentd/base/redactor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace odyssey::agent {
namespace {

using Json = nlohmann::ordered_json;

// `prefix`, then at least `rest` letters, digits, "-" and "_".
struct Shape {
  std::string_view name, prefix;
  size_t rest;
};
constexpr Shape kShapes[] = {
    {"anthropic_key", "sk-ant-", 24},
    {"openai_key", "sk-proj-", 24},
    {"api_key", "sk-", 32},
    {"github_token", "ghp_", 36},
    {"github_token", "gho_", 36},
    {"github_token", "ghs_", 36},
    {"github_token", "github_pat_", 22},
    {"gitlab_token", "glpat-", 20},
    {"aws_key_id", "AKIA", 16},
    {"aws_key_id", "ASIA", 16},
    {"slack_token", "xoxb-", 20},
    {"slack_token", "xoxp-", 20},
    {"google_key", "AIza", 35},
    {"stripe_key", "sk_live_", 24},
    {"stripe_key", "rk_live_", 24},
};
// A key that is longer is not kept back whole.
constexpr size_t kMaxKept = 4096;

bool IsOfKey(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

bool Begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

size_t KeyLength(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsOfKey) - text.begin());
}

void RedactStrings(const Redactor& redactor, Json* json) {
  if (json->is_string()) {
    *json = redactor.Text(json->get_ref<const std::string&>());
  } else if (json->is_structured()) {
    for (Json& item : *json) RedactStrings(redactor, &item);
  }
}

}  // namespace

Redactor::Redactor(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    if (value.size() >= kMinSecretBytes) values_.push_back({name, value});
  }
  std::stable_sort(values_.begin(), values_.end(),
                   [](const Value& a, const Value& b) { return a.value.size() > b.value.size(); });
}

size_t Redactor::SecretAtFront(std::string_view text, std::string_view* name) const {
  for (const Value& known : values_) {
    if (!Begins(text, known.value)) continue;
    *name = known.name;
    return known.value.size();
  }
  for (const Shape& shape : kShapes) {
    if (!Begins(text, shape.prefix)) continue;
    const size_t rest = KeyLength(text.substr(shape.prefix.size()));
    if (rest < shape.rest) continue;
    *name = shape.name;
    return shape.prefix.size() + rest;
  }
  return 0;
}

std::string Redactor::Text(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    std::string_view name;
    const size_t length = SecretAtFront(text, &name);
    if (length == 0) {
      out += text.front();
    } else {
      out += "[REDACTED:" + std::string(name) + "]";
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string Redactor::JsonText(const std::string& json) const {
  Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_discarded()) return Text(json);
  const Json original = parsed;
  RedactStrings(*this, &parsed);
  if (parsed == original) return json;
  return parsed.dump(-1, ' ', false, Json::error_handler_t::replace);
}

size_t Redactor::UnfinishedAt(std::string_view text) const {
  for (size_t at = 0; at < text.size();) {
    const std::string_view end = text.substr(at);
    if (IsUnfinished(end)) return at;
    // What begins inside a whole secret does not divide it.
    std::string_view name;
    at += std::max<size_t>(SecretAtFront(end, &name), 1);
  }
  return text.size();
}

bool Redactor::IsUnfinished(std::string_view end) const {
  for (const Value& known : values_) {
    if (end.size() < known.value.size() && Begins(known.value, end)) return true;
  }
  if (end.size() > kMaxKept) return false;
  for (const Shape& shape : kShapes) {
    if (end.size() < shape.prefix.size() && Begins(shape.prefix, end)) return true;
    if (Begins(end, shape.prefix) && KeyLength(end) == end.size()) return true;
  }
  return false;
}

std::string StreamRedactor::Push(std::string_view piece) {
  kept_ += piece;
  const size_t end = redactor_->UnfinishedAt(kept_);
  std::string out = redactor_->Text(std::string_view(kept_).substr(0, end));
  kept_.erase(0, end);
  return out;
}

std::string StreamRedactor::Finish() { return redactor_->Text(std::exchange(kept_, {})); }

}  // namespace odyssey::agent
