#include "supervisor/egress/broker/provider_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "common/base/control.h"
#include "common/base/field_codec.h"
#include "common/os/file.h"
#include "policy/model/provider_name.h"
#include "supervisor/egress/credentials/endpoint_pattern.h"
#include "supervisor/egress/credentials/provider_type.h"

namespace odyssey::egress {
namespace {

using credentials::Secret;
using credentials::Wipe;

constexpr uint8_t kVersion = 1;
constexpr std::string_view kFilePrefix = "provider.";
constexpr std::string_view kEndpointsFile = "endpoints";

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// One file of the operator's.
Status ReadInto(const std::string& path, const std::string& key, Provider* provider) {
  ODY_ASSIGN_OR_RETURN(std::string text, ReadFile(path, provider_wire::kMaxSecretBytes + 1));
  if (key == kEndpointsFile) return SetEndpoints(Lines(text), provider);
  StripLineEnd(&text);
  const Status status = SetSecret(key, text, provider);
  Wipe(&text);
  return status;
}

}  // namespace

bool IsProviderKey(std::string_view key) {
  const auto good = [](char c) { return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_'; };
  return !key.empty() && key.size() <= provider_wire::kMaxKeyBytes && !IsDigit(key[0]) &&
         key != kEndpointsFile && std::all_of(key.begin(), key.end(), good);
}

Status SetSecret(const std::string& key, const std::string& value, Provider* provider) {
  if (!IsProviderKey(key)) {
    return InvalidArgument("credential " + key +
                           ": a key is the name of a variable: letters, "
                           "digits and `_`");
  }
  Result<credentials::Shape> shape = credentials::ShapeOf(value);
  if (!shape.ok()) return InvalidArgument("credential " + key + ": " + shape.status().message());
  auto& keys = provider->keys;
  const auto known = std::find_if(keys.begin(), keys.end(),
                                  [&](const ProviderKey& one) { return one.key == key; });
  if (known != keys.end()) {
    known->secret = Secret(value);
  } else {
    keys.push_back({key, Secret(value), std::move(*shape)});
  }
  size_t bytes = 0;
  for (const ProviderKey& one : keys) bytes += one.secret.text().size();
  if (keys.size() <= provider_wire::kMaxKeys && bytes <= kMaxProviderBytes) return OkStatus();
  return ResourceExhausted("a provider has at most 32 credentials, of 256 KiB together");
}

Status SetEndpoints(const std::vector<std::string>& endpoints, Provider* provider) {
  if (endpoints.size() > provider_wire::kMaxEndpoints) {
    return ResourceExhausted("a provider has at most 64 endpoints");
  }
  provider->endpoints.clear();
  for (const std::string& text : endpoints) {
    ODY_ASSIGN_OR_RETURN(const auto endpoint, credentials::ParseEndpointPattern(text));
    provider->endpoints.push_back(endpoint.Text());
  }
  return OkStatus();
}

std::string EncodeProvider(const Provider& provider) {
  Writer out;
  out.U8(kVersion);
  out.String(provider.name);
  out.String(provider.type);
  out.Strings(provider.endpoints);
  out.U64(provider.created);
  out.U64(provider.rotated);
  out.U32(static_cast<uint32_t>(provider.keys.size()));
  for (const ProviderKey& one : provider.keys) {
    out.String(one.key);
    out.String(one.secret.text());
    out.String(one.shape.prefix);
    out.String(one.shape.classes);
  }
  return out.Take();
}

Result<Provider> DecodeProvider(std::string_view bytes) {
  Reader in(bytes);
  Provider out;
  const bool known = in.U8() == kVersion;
  out.name = in.String(provider_wire::kMaxNameBytes);
  out.type = in.String(provider_wire::kMaxNameBytes);
  out.endpoints = in.Strings(provider_wire::kMaxEndpoints, provider_wire::kMaxEndpointBytes);
  out.created = in.U64();
  out.rotated = in.U64();
  const uint32_t count = in.Count(provider_wire::kMaxKeys);
  for (uint32_t i = 0; i < count && !in.failed(); ++i) {
    ProviderKey& one = out.keys.emplace_back();
    one.key = in.String(provider_wire::kMaxKeyBytes);
    one.secret = credentials::Secret(in.String(provider_wire::kMaxSecretBytes));
    one.shape.prefix = in.String(provider_wire::kMaxSecretBytes);
    one.shape.classes = in.String(provider_wire::kMaxSecretBytes);
  }
  if (known && in.Done()) return out;
  return Status(Code::kDataLoss, "a provider's file is damaged");
}

Result<std::vector<Provider>> ReadOperatorProviders(const std::string& directory) {
  std::map<std::string, Provider> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string file = entry.path().filename();
    if (file.rfind(kFilePrefix, 0) != 0) continue;
    const size_t dot = file.find('.', kFilePrefix.size());
    const std::string name = file.substr(kFilePrefix.size(), dot - kFilePrefix.size());
    if (dot == std::string::npos || !policy::IsProviderName(name)) {
      return InvalidArgument(entry.path().string() + ": provider.NAME.KEY is what it is called");
    }
    Provider& provider = all[name];
    const Status read = ReadInto(entry.path(), file.substr(dot + 1), &provider);
    if (!read.ok()) return Status(read.code(), entry.path().string() + ": " + read.message());
  }
  if (error) return ErrnoStatus(error.value(), "read " + directory);
  std::vector<Provider> out;
  for (auto& [name, provider] : all) {
    const credentials::ProviderType* type = credentials::FindProviderType(name);
    provider.name = name;
    provider.type = type == nullptr ? "generic" : name;
    provider.by_operator = true;
    if (provider.endpoints.empty() && type != nullptr) provider.endpoints = type->endpoints;
    out.push_back(std::move(provider));
  }
  return out;
}

}  // namespace odyssey::egress
