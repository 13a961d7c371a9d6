// A policy file comes from a repository that somebody else wrote: whatever it says, no crash, a
// problem or a request, and no request beyond what a cell can be. The first byte chooses the name.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/dialect/policy_reader.h"
#include "policy/egress/pattern.h"

namespace {

namespace dialect = odyssey::dialect;

constexpr const char* kNames[] = {"/nonexistent/p.yaml", "/nonexistent/p.json5",
                                  "/nonexistent/odek.json", "/nonexistent/workers/policy"};

dialect::PolicyContext Host() {
  dialect::PolicyContext context;
  context.client_cwd = "/home/user/project";
  context.home = "/home/user";
  context.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name.size() % 2 == 0 || name.rfind("ODEK_", 0) == 0) return std::nullopt;
    return "value of " + name;
  };
  context.look = [](const std::string& path) -> dialect::PathFacts {
    return {.exists = path.size() % 3 != 0, .is_link = path.size() % 5 == 0, .resolved = path};
  };
  return context;
}

void CheckAbsolute(const std::string& path) {
  ODY_CHECK(!path.empty() && path[0] == '/');
  ODY_CHECK((path + "/").find("/../") == std::string::npos);
}

void CheckEndpoints(const odyssey::egress::NetworkPolicy& network) {
  for (const auto& rule : network.rules) {
    for (const auto& endpoint : rule.endpoints) {
      ODY_CHECK(!endpoint.ports.empty());
      ODY_CHECK(!endpoint.host.empty() || !endpoint.allowed_ips.empty());
      if (endpoint.host.empty() || odyssey::egress::IsPublic(endpoint)) continue;
      const auto again = odyssey::egress::NormalizeHost(endpoint.host);
      ODY_CHECK(again.ok() && *again == endpoint.host);
    }
  }
}

void CheckRequest(const dialect::Policy& policy) {
  for (const auto& mount : policy.request.mounts) {
    CheckAbsolute(mount.source);
    CheckAbsolute(mount.target);
    const bool writable = mount.access == odyssey::policy::Access::kReadWrite;
    ODY_CHECK(mount.source != "/" || !writable || policy.dialect == dialect::Dialect::kOdyssey ||
              policy.dialect == dialect::Dialect::kLlmDo);
  }
  for (const std::string& path : policy.create) CheckAbsolute(path);
  const bool danger = policy.request.mode == odyssey::policy::Mode::kDangerFullAccess;
  ODY_CHECK(!danger || policy.dialect == dialect::Dialect::kOdyssey);  // no other one can ask
  ODY_CHECK(policy.request.workspace.empty() || policy.request.workspace == "/home/user/project");
  CheckEndpoints(policy.request.egress);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string path = kNames[data[0] % std::size(kNames)];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  dialect::Problems problems;
  const auto policy = dialect::ReadPolicy(text, path, Host(), &problems);
  ODY_CHECK(policy.has_value() == problems.empty());
  for (const auto& problem : problems) {
    ODY_CHECK(!problem.message.empty() && !problem.file.empty());
  }
  if (!policy) return 0;

  CheckRequest(*policy);
  const auto again = dialect::ReadPolicy(text, path, Host(), &problems);
  ODY_CHECK(again && again->request == policy->request && again->warnings == policy->warnings &&
            again->elsewhere == policy->elsewhere);
  return 0;
}
