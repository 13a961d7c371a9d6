#include "supervisor/egress/limits/limits.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace odyssey::egress {
namespace {

constexpr uint32_t kMax = 1'000'000;

struct Named {
  std::string_view name;
  uint32_t Limits::*limit;
};

constexpr Named kLimits[] = {
    {"head", &Limits::head},
    {"handshake", &Limits::handshake},
    {"request-stall", &Limits::request_stall},
    {"response-stall", &Limits::response_stall},
    {"tunnel-idle", &Limits::tunnel_idle},
    {"clients", &Limits::clients},
    {"per-host", &Limits::per_host},
    {"cell-dials", &Limits::cell_dials},
    {"dials", &Limits::dials},
    {"workers", &Limits::workers},
    {"worker-mib", &Limits::worker_mib},
};

}  // namespace

Status SetLimit(std::string_view text, Limits* limits) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const auto* const found = std::find_if(std::begin(kLimits), std::end(kLimits),
                                         [&](const Named& named) { return named.name == name; });
  if (found == std::end(kLimits)) {
    std::string all;
    for (const Named& named : kLimits) all.append(all.empty() ? "" : ", ").append(named.name);
    return InvalidArgument("limit " + std::string(name) + ": unknown; there are " + all);
  }
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number == 0 || number > kMax) {
    return InvalidArgument("limit " + std::string(text) + ": 1 to 1000000 is allowed");
  }
  limits->*found->limit = number;
  return OkStatus();
}

std::vector<std::string> ToText(const Limits& limits) {
  std::vector<std::string> out;
  for (const Named& named : kLimits) {
    out.push_back(std::string(named.name) + "=" + std::to_string(limits.*named.limit));
  }
  return out;
}

}  // namespace odyssey::egress
