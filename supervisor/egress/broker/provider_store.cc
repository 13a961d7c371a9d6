#include "supervisor/egress/broker/provider_store.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/os/atomic_file.h"
#include "common/os/file.h"
#include "policy/model/provider_name.h"
#include "supervisor/egress/broker/provider_file.h"
#include "supervisor/egress/credentials/digest.h"
#include "supervisor/egress/credentials/provider_type.h"

namespace odyssey::egress {
namespace {

using credentials::Secret;
using credentials::Wipe;

constexpr unsigned kFileMode = 0600, kDirectoryMode = 0700;
constexpr size_t kKeyBytes = 32;
constexpr size_t kMaxFileBytes = 1024 * 1024;  // the secrets, their shapes and the rest

provider_wire::Provider InfoOf(const Provider& provider) {
  provider_wire::Provider out{.name = provider.name,
                              .type = provider.type,
                              .endpoints = provider.endpoints,
                              .created = provider.created,
                              .rotated = provider.rotated,
                              .by_operator = provider.by_operator};
  for (const ProviderKey& one : provider.keys) out.keys.push_back(one.key);
  return out;
}

Status NoSuch(const std::string& name) {
  return NotFound("provider " + name + ": there is none of this name");
}

// What a Put makes of the provider that was there, or of a new one.
Status Apply(const provider_wire::Put& put, uint64_t now, Provider* provider) {
  const std::string type_name =
      !put.type.empty() ? put.type : (put.create ? "generic" : provider->type);
  const credentials::ProviderType* type = credentials::FindProviderType(type_name);
  if (type == nullptr) return InvalidArgument("type " + type_name + ": there is none of this name");
  if (!put.create && type_name != provider->type) {
    return InvalidArgument("provider " + put.name + ": it has type " + provider->type +
                           ", which does not change; remove it first");
  }
  if (put.create && put.secrets.empty()) {
    return InvalidArgument("provider " + put.name + ": a new one needs a credential");
  }
  for (const provider_wire::Secret& secret : put.secrets) {
    ODY_RETURN_IF_ERROR(SetSecret(secret.key, secret.value, provider));
  }
  if (!put.endpoints.empty()) ODY_RETURN_IF_ERROR(SetEndpoints(put.endpoints, provider));
  if (put.create && put.endpoints.empty()) provider->endpoints = type->endpoints;
  if (put.create) provider->created = now;
  if (!put.secrets.empty()) provider->rotated = now;
  provider->name = put.name;
  provider->type = type_name;
  return OkStatus();
}

}  // namespace

Result<ProviderStore> ProviderStore::Open(std::string state, const std::string& credentials) {
  ProviderStore out;
  out.state_ = std::move(state);
  if (!out.state_.empty()) {
    ODY_RETURN_IF_ERROR(MakeDirectories(out.state_ + "/providers", kDirectoryMode));
  }
  ODY_RETURN_IF_ERROR(out.ReadKey());
  if (!credentials.empty()) {
    ODY_ASSIGN_OR_RETURN(out.operators_, ReadOperatorProviders(credentials));
  }
  return out;
}

Status ProviderStore::ReadKey() {
  const std::string path = state_ + "/placeholder.key";
  if (!state_.empty() && access(path.c_str(), F_OK) == 0) {
    ODY_ASSIGN_OR_RETURN(std::string key, ReadFile(path, kKeyBytes));
    if (key.size() != kKeyBytes) return Status(Code::kDataLoss, path + ": not 32 bytes");
    key_ = Secret(std::move(key));
    return OkStatus();
  }
  std::string key(kKeyBytes, '\0');
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return ErrnoStatus(errno, "getrandom");
  }
  if (!state_.empty()) ODY_RETURN_IF_ERROR(WriteFileAtomically(path, key, kFileMode));
  key_ = Secret(std::move(key));
  return OkStatus();
}

std::string ProviderStore::KeyOfCell(const std::string& cell_id) const {
  return credentials::HmacSha256(key_.text(), cell_id);
}

std::string ProviderStore::DirectoryOf(uid_t owner) const {
  return state_ + "/providers/" + std::to_string(owner);
}

Status ProviderStore::Put(uid_t owner, const provider_wire::Put& put, uint64_t now) {
  if (state_.empty()) return FailedPrecondition("odyssey-egress has no --state to keep it in");
  if (!policy::IsProviderName(put.name)) {
    return InvalidArgument("provider " + put.name + ": " + policy::kProviderNameRule +
                           " is allowed");
  }
  Result<Provider> before = Read(owner, put.name);
  if (!before.ok() && before.status().code() != Code::kNotFound) return before.status();
  if (before.ok() && put.create) {
    return AlreadyExists("provider " + put.name + ": it is there; update it");
  }
  if (!before.ok() && !put.create) return NoSuch(put.name);
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(owner));
  if (put.create && names.size() >= provider_wire::kMaxProviders) {
    return ResourceExhausted("a user has at most 64 providers");
  }
  Provider after = before.ok() ? std::move(*before) : Provider();
  ODY_RETURN_IF_ERROR(Apply(put, now, &after));
  ODY_RETURN_IF_ERROR(MakeDirectories(DirectoryOf(owner), kDirectoryMode));
  std::string bytes = EncodeProvider(after);
  const Status written = WriteFileAtomically(DirectoryOf(owner) + "/" + put.name, bytes, kFileMode);
  Wipe(&bytes);
  return written;
}

Status ProviderStore::Remove(uid_t owner, const std::string& name) {
  if (state_.empty() || !policy::IsProviderName(name)) return NoSuch(name);
  const std::string path = DirectoryOf(owner) + "/" + name;
  if (unlink(path.c_str()) == 0) return SyncDirectoryOf(path);
  return errno == ENOENT ? NoSuch(name) : ErrnoStatus(errno, "remove " + path);
}

Result<std::vector<provider_wire::Provider>> ProviderStore::List(uid_t owner) const {
  std::vector<provider_wire::Provider> out;
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(owner));
  for (const std::string& name : names) {
    ODY_ASSIGN_OR_RETURN(const Provider provider, Read(owner, name));
    out.push_back(InfoOf(provider));
  }
  for (const Provider& provider : operators_) out.push_back(InfoOf(provider));
  return out;
}

Result<Provider> ProviderStore::Find(uid_t owner, const std::string& name) const {
  Result<Provider> own = Read(owner, name);
  if (own.ok() || own.status().code() != Code::kNotFound) return own;
  for (const Provider& provider : operators_) {
    if (provider.name != name) continue;
    Provider copy{
        .name = name, .type = provider.type, .endpoints = provider.endpoints, .by_operator = true};
    for (const ProviderKey& one : provider.keys) {
      copy.keys.push_back({one.key, Secret(one.secret.text()), one.shape});
    }
    return copy;
  }
  return own;
}

Result<Provider> ProviderStore::Read(uid_t owner, const std::string& name) const {
  const std::string path = DirectoryOf(owner) + "/" + name;
  if (state_.empty() || !policy::IsProviderName(name) || access(path.c_str(), F_OK) != 0) {
    return NoSuch(name);
  }
  ODY_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, kMaxFileBytes));
  Result<Provider> out = DecodeProvider(bytes);
  Wipe(&bytes);
  return out;
}

// What a crash left is none.
Result<std::vector<std::string>> ProviderStore::Names(uid_t owner) const {
  std::vector<std::string> out;
  std::error_code error;
  if (state_.empty()) return out;
  for (const auto& entry : std::filesystem::directory_iterator(DirectoryOf(owner), error)) {
    if (policy::IsProviderName(entry.path().filename().string())) {
      out.push_back(entry.path().filename());
    }
  }
  if (error && error.value() != ENOENT) return ErrnoStatus(error.value(), "read providers");
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace odyssey::egress
