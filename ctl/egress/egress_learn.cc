#include "ctl/egress/egress_learn.h"

#include <algorithm>

#include "ctl/egress/egress_view.h"
#include "policy/egress/pattern.h"
#include "policy/egress/reach.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxPrograms = 256;  // as a policy file may have rules

// 0: there is none.
uint16_t PortOf(const Json& record) {
  const auto it = record.find("port");
  if (it == record.end() || !it->is_number_unsigned()) return 0;
  const uint64_t port = it->get<uint64_t>();
  return port > UINT16_MAX ? 0 : static_cast<uint16_t>(port);
}

// "usr_bin_curl"; with a number behind it if `known` has that. Added to it.
std::string KeyOf(const std::string& program, std::set<std::string>* known) {
  std::string key = program.substr(1);
  for (char& c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain) c = '_';
  }
  std::string out = key;
  for (int number = 2; !known->insert(out).second; ++number) {
    out = key + "_" + std::to_string(number);
  }
  return out;
}

}  // namespace

void LearnedPolicy::Add(const Json& record) {
  const std::string program = TextOf(record, "program");
  const std::string host = TextOf(record, "host");
  const uint16_t port = PortOf(record);
  // A name alone says nothing of a port, and what is connected to then does.
  if (TextOf(record, "way") == "dns") return;
  const std::string place = egress::BeforePort(host) + ":" + std::to_string(port);
  const auto to = egress::ParseReachable(place);
  const bool known = !program.empty() && program[0] == '/' && egress::IsLiteralPath(program);
  const bool full = seen_.size() == kMaxPrograms && seen_.count(program) == 0;
  if (!to.ok() || !known || full) {
    ++left_out_;
    return;
  }
  Seen& seen = seen_[program][{to->host, port}];
  const std::string method = TextOf(record, "method"), path = TextOf(record, "path");
  if (requests_ && !method.empty() && egress::IsLiteralPath(path)) {
    seen.requests.emplace(method, path);
  } else {
    seen.bytes = seen.bytes || TextOf(record, "way") != "connect" || !requests_;
  }
}

egress::NetworkPolicy LearnedPolicy::Policy() const {
  egress::NetworkPolicy out;
  std::set<std::string> keys;
  for (const auto& [program, places] : seen_) {
    egress::Rule rule{
        .key = KeyOf(program, &keys), .name = program, .binaries = {{.path = program}}};
    for (const auto& [place, seen] : places) {
      egress::Endpoint endpoint;
      endpoint.host = place.first;
      endpoint.ports = {place.second};
      if (!seen.bytes && !seen.requests.empty()) {
        endpoint.protocol = egress::Protocol::kRest;
        for (const auto& [method, path] : seen.requests) {
          endpoint.allow.push_back({.method = method, .path = path});
        }
      }
      rule.endpoints.push_back(std::move(endpoint));
    }
    out.rules.push_back(std::move(rule));
  }
  return out;
}

}  // namespace odyssey::ctl
