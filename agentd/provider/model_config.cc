#include "agentd/provider/model_config.h"

#include <nlohmann/json.hpp>

#include "common/base/refusal.h"

namespace odyssey::provider {
namespace {

using nlohmann::json;

std::string SnakeCase(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) out += '_';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// The protocols that an agent of the provider can choose.
uint8_t ProtocolsOf(const Provider& provider) {
  return provider.responses ? provider.protocol | kResponses : provider.protocol;
}

bool IsKeyOf(const ConfigKey& key, const Provider& provider, uint8_t protocols) {
  if (key.name == "api") return provider.responses;
  if (key.name == "api_version" || key.name == "deployment_id") return provider.azure;
  return (key.protocols & protocols) != 0;
}

std::string KeysOf(const Provider& provider, uint8_t protocols) {
  std::string out;
  for (const ConfigKey& key : kConfigKeys) {
    if (IsKeyOf(key, provider, protocols)) {
      out += (out.empty() ? "" : ", ") + std::string(key.name);
    }
  }
  return out.empty() ? "none" : out;
}

// A word of a list that is separated by ", ".
bool IsWordOf(const std::string& word, std::string_view words) {
  return word.find(',') == std::string::npos &&
         (", " + std::string(words) + ",").find(", " + word + ",") != std::string::npos;
}

// "": the value is allowed; else what is.
std::string Allowed(const ConfigKey& key, const json& value) {
  const auto range = [&key](const char* what) {
    return std::string(what) + " from " + json(static_cast<int64_t>(key.low)).dump() + " to " +
           json(static_cast<int64_t>(key.high)).dump();
  };
  const auto in_range = [&] { return value.get<double>() >= key.low && value <= json(key.high); };
  switch (key.kind) {
    case KeyKind::kInteger:
      return value.is_number_integer() && in_range() ? "" : range("an integer");
    case KeyKind::kNumber:
      return value.is_number() && in_range() ? "" : range("a number");
    case KeyKind::kBool:
      return value.is_boolean() ? "" : "true, false";
    case KeyKind::kWord:
      return value.is_string() && IsWordOf(value.get<std::string>(), key.words)
                 ? ""
                 : std::string(key.words);
    case KeyKind::kText: {
      constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
      const std::string text = value.is_string() ? value.get<std::string>() : "";
      const bool plain = !text.empty() && text.size() <= 128 &&
                         text.find_first_not_of(kPlain) == std::string::npos;
      return plain ? "" : "1 to 128 of letters, digits, - _ .";
    }
    case KeyKind::kObject:
      return value.is_object() ? "" : "a mapping";
  }
  return "";
}

Status SetKey(const Provider& provider, uint8_t protocols, const std::string& written,
              const json& value, ModelConfig* out) {
  const std::string name = SnakeCase(written);
  if (name == "api_key" || name == "base_url") {
    return Refused(Code::kInvalidArgument, "model.config." + written, "",
                   "not a bundle's to set; the operator gives odyssey-agentd --model-key-file and "
                   "--model-base-url");
  }
  for (const ConfigKey& key : kConfigKeys) {
    if (key.name != name || !IsKeyOf(key, provider, protocols)) continue;
    const std::string allowed = Allowed(key, value);
    if (!allowed.empty()) {
      return Refused(
          Code::kInvalidArgument, "model.config." + written, "",
          value.dump(-1, ' ', false, json::error_handler_t::replace) + "; allowed: " + allowed,
          allowed);
    }
    if (!out->values.emplace(name, value.dump()).second) {
      return Refused(Code::kInvalidArgument, "model.config." + written, "", "is set twice");
    }
    return OkStatus();
  }
  const std::string allowed = KeysOf(provider, protocols);
  return Refused(Code::kInvalidArgument, "model.config", "",
                 "unknown key \"" + written + "\" of provider " + std::string(provider.name) +
                     "; allowed: " + allowed,
                 allowed);
}

// Fields that agentd itself writes: extra_body cannot replace them.
Status CheckExtraBody(const ModelConfig& config) {
  const json extra = json::parse(config.Json("extra_body"));
  if (extra.is_null()) return OkStatus();
  for (const char* own : {"model", "stream", "messages", "input", "contents", "tools", "system",
                          "instructions", "systemInstruction", "store"}) {
    if (!extra.contains(own)) continue;
    return Refused(Code::kInvalidArgument, "model.config.extra_body", own,
                   "odyssey-agentd writes this field");
  }
  return OkStatus();
}

}  // namespace

std::string ModelConfig::Json(std::string_view key) const {
  const auto it = values.find(key);
  return it == values.end() ? "null" : it->second;
}

long ModelConfig::Integer(std::string_view key, long otherwise) const {
  const json value = json::parse(Json(key));
  return value.is_null() ? otherwise : value.get<long>();
}

std::string ModelConfig::Text(std::string_view key) const {
  const json value = json::parse(Json(key));
  return value.is_null() ? "" : value.get<std::string>();
}

Result<const Provider*> FindProvider(std::string_view name) {
  std::string names;
  for (const Provider& provider : kProviders) {
    if (provider.name == name || (!provider.alias.empty() && provider.alias == name)) {
      return &provider;
    }
    names += (names.empty() ? "" : ", ") + std::string(provider.name);
    if (!provider.alias.empty()) names += ", " + std::string(provider.alias);
  }
  return Refused(Code::kInvalidArgument, "model.provider", std::string(name),
                 "allowed are " + names, names);
}

Protocol ProtocolOf(const Provider& provider, const ModelConfig& config) {
  return config.Text("api") == "responses" ? kResponses : provider.protocol;
}

Result<ModelConfig> ParseModelConfig(const Provider& provider, const std::string& config_json) {
  ModelConfig out;
  const json config = json::parse(config_json, nullptr, false);
  if (config.is_null()) return out;
  if (!config.is_object()) {
    return Refused(Code::kInvalidArgument, "model.config", "",
                   config_json + "; allowed: a mapping");
  }
  if (!HasServer(provider) && !config.empty()) {
    return Refused(Code::kInvalidArgument, "model.config", "",
                   "provider " + std::string(provider.name) + " has no options");
  }
  for (const auto& [key, value] : config.items()) {
    ODY_RETURN_IF_ERROR(SetKey(provider, ProtocolsOf(provider), key, value, &out));
  }
  ODY_RETURN_IF_ERROR(CheckExtraBody(out));
  return out;
}

}  // namespace odyssey::provider
