#include "policy/compile/environment.h"

#include <algorithm>

#include "common/base/refusal.h"
#include "policy/model/own_variables.h"

namespace odyssey::compile {
namespace {

// Where odyssey-egress listens in a cell: kProxyPort of supervisor/wire.
constexpr char kProxy[] = "http://127.0.0.1:3128";
constexpr char kSocksProxy[] = "socks5h://127.0.0.1:3128";

bool IsName(const std::string& name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto good = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), good);
}

}  // namespace

Status CheckEnvironment(const std::map<std::string, std::string>& env) {
  if (env.size() > kMaxEnvNames) {
    return Refused(Code::kInvalidArgument, "env", "",
                   std::to_string(env.size()) + " names: at most " + std::to_string(kMaxEnvNames) +
                       " are allowed");
  }
  size_t total = 0;
  for (const auto& [name, value] : env) {
    if (!IsName(name)) {
      return Refused(Code::kInvalidArgument, "env", "",
                     "name '" + name + "': [A-Za-z_][A-Za-z0-9_]* is allowed");
    }
    if (policy::IsOwnVariable(name)) {
      return Refused(Code::kInvalidArgument, "env", name, policy::kOwnVariableRule);
    }
    if (value.find('\0') != std::string::npos) {
      return Refused(Code::kInvalidArgument, "env", name, "a NUL byte in its value is not allowed");
    }
    total += name.size() + value.size() + 2;
  }
  if (total <= kMaxEnvBytes) return OkStatus();
  return Refused(
      Code::kInvalidArgument, "env", "",
      std::to_string(total) + " bytes: at most " + std::to_string(kMaxEnvBytes) + " are allowed");
}

std::vector<std::string> OwnNames(const std::map<std::string, std::string>& env) {
  std::vector<std::string> names;
  for (const auto& [name, value] : env) {
    if (!policy::IsInheritedVariable(name)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> BaseEnvironment(policy::Network network) {
  std::vector<std::string> env = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "HOME=/cell/data/home",
      "TMPDIR=/cell/tmp",
      "XDG_DATA_HOME=/cell/data",
      "XDG_CACHE_HOME=/cell/cache",
      "LANG=C.UTF-8",
      "SHELL=/bin/sh",
      "USER=agent",
      "LOGNAME=agent",
      "ODYSSEY_SANDBOX=1",
  };
  if (network == policy::Network::kEgress) {
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"}) {
      env.push_back(std::string(name) + "=" + kProxy);
    }
    for (const char* name : {"all_proxy", "ALL_PROXY"}) {
      env.push_back(std::string(name) + "=" + kSocksProxy);
    }
    for (const char* name : {"no_proxy", "NO_PROXY"}) {
      env.push_back(std::string(name) + "=localhost,127.0.0.1,::1");
    }
    env.emplace_back("NODE_USE_ENV_PROXY=1");
    for (const char* name : {"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
                             "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "DENO_CERT", "PIP_CERT"}) {
      env.push_back(std::string(name) + "=" + kCertificates);
    }
  }
  // npm takes no answer of a resolver as final: it waits 70 s and asks three times.
  if (network == policy::Network::kNone) env.emplace_back("npm_config_fetch_retries=0");
  return env;
}

}  // namespace odyssey::compile
