#include "supervisor/egress/broker/cell_credentials.h"

#include <algorithm>
#include <set>
#include <utility>

#include "supervisor/egress/credentials/endpoint_pattern.h"

namespace odyssey::egress {
namespace {

using credentials::EndpointPattern;

constexpr size_t kMaxBytesOfMessage = 128 * 1024;

// Of the policy, whose requests are seen, and which it binds to a provider.
struct Target {
  EndpointPattern pattern;
  std::string provider;
};

std::vector<Target> TargetsOf(const NetworkPolicy& policy) {
  std::vector<Target> out;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& endpoint : rule.endpoints) {
      if (!IsOpenToRequests(endpoint) || endpoint.host.empty()) continue;
      for (const uint16_t port : endpoint.ports) {
        out.push_back({{.host = endpoint.host, .port = port}, endpoint.credentials.provider});
      }
    }
  }
  return out;
}

// Those that servers of both may be reached by.
std::vector<std::string> BoundTo(const Provider& provider, const std::vector<Target>& targets) {
  std::set<std::string> out;
  for (const std::string& text : provider.endpoints) {
    const Result<EndpointPattern> own = credentials::ParseEndpointPattern(text);
    const bool named =
        own.ok() && std::any_of(targets.begin(), targets.end(), [&](const Target& t) {
          return own->Overlaps(t.pattern.host, t.pattern.port);
        });
    if (named) out.insert(text);
  }
  if (provider.endpoints.empty() && !provider.by_operator) {
    for (const Target& target : targets) {
      if (target.provider == provider.name) out.insert(target.pattern.Text());
    }
  }
  if (out.size() > egress_wire::kMaxBindings) return {};
  return {out.begin(), out.end()};
}

class Collector final {
 public:
  Collector(const egress_wire::SetPolicy& policy, const ProviderStore& store)
      : policy_(policy), store_(store), cell_key_(store.KeyOfCell(policy.cell_id)) {
    out_.placeholders.revision = policy.revision;
  }

  CellCredentials Collect() {
    const std::vector<Target> targets = TargetsOf(policy_.policy);
    const std::set<std::string> names(policy_.providers.begin(), policy_.providers.end());
    for (const std::string& name : names) {
      const Result<Provider> provider = store_.Find(policy_.owner_uid, name);
      if (!provider.ok()) {
        Fail(provider.status().message());
        continue;
      }
      Add(*provider, BoundTo(*provider, targets));
    }
    for (const Target& target : targets) {
      if (target.provider.empty() || names.count(target.provider) != 0) continue;
      Fail("provider " + target.provider + ": the policy binds it to " + target.pattern.Text() +
           ", and it is not attached");
    }
    return std::move(out_);
  }

 private:
  void Fail(std::string error) {
    auto& errors = out_.placeholders.errors;
    if (errors.size() >= egress_wire::kMaxProviders) return;
    errors.push_back(error.substr(0, egress_wire::kMaxShortBytes));
  }

  void Add(const Provider& provider, const std::vector<std::string>& endpoints) {
    if (endpoints.empty()) {
      Fail("provider " + provider.name + ": the policy names no inspected endpoint of it");
    }
    for (const ProviderKey& one : provider.keys) {
      const std::string name = provider.name + "/" + one.key;
      egress_wire::Credential credential{
          .provider = provider.name,
          .key = one.key,
          .placeholder = credentials::MakePlaceholder(cell_key_, provider.name, one.key, one.shape),
          .endpoints = endpoints};
      bytes_ += credential.placeholder.size();
      if (bytes_ > egress_wire::kMaxPlaceholderBytes ||
          out_.credentials.size() >= egress_wire::kMaxCredentials) {
        return Fail("provider " + provider.name + ": the sandbox has too many credentials");
      }
      if (!endpoints.empty()) {
        credential.secret = one.secret.text();
        if (keys_.insert(one.key).second) {
          out_.placeholders.placeholders.push_back({one.key, credential.placeholder});
        } else {
          Fail("provider " + provider.name + ": another provider has " + one.key + " too");
        }
      }
      out_.credentials.push_back(std::move(credential));
    }
  }

  const egress_wire::SetPolicy& policy_;
  const ProviderStore& store_;
  const std::string cell_key_;
  std::set<std::string> keys_;
  size_t bytes_ = 0;
  CellCredentials out_;
};

size_t SizeOf(const egress_wire::Credential& credential) {
  size_t size = 64 + credential.provider.size() + credential.key.size() +
                credential.placeholder.size() + credential.secret.size();
  for (const std::string& endpoint : credential.endpoints) size += endpoint.size() + 4;
  return size;
}

}  // namespace

CellCredentials CredentialsOf(const egress_wire::SetPolicy& policy, const ProviderStore& store) {
  return Collector(policy, store).Collect();
}

std::vector<std::string> EncodeCredentials(std::vector<egress_wire::Credential> all) {
  std::vector<std::string> out;
  egress_wire::SetCredentials part;
  size_t size = 0;
  for (egress_wire::Credential& credential : all) {
    if (!part.credentials.empty() && size + SizeOf(credential) > kMaxBytesOfMessage) {
      part.more = true;
      out.push_back(egress_wire::Encode(part));
      for (auto& sent : part.credentials) credentials::Wipe(&sent.secret);
      part = {};
      size = 0;
    }
    size += SizeOf(credential);
    part.credentials.push_back(std::move(credential));
  }
  out.push_back(egress_wire::Encode(part));
  for (auto& sent : part.credentials) credentials::Wipe(&sent.secret);
  return out;
}

}  // namespace odyssey::egress
