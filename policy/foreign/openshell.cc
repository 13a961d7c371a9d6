#include "policy/egress/policy_text.h"
#include "policy/foreign/gaps.h"
#include "policy/foreign/writers.h"

namespace odyssey::foreign {
namespace {

constexpr std::string_view kNoBounds = "an OpenShell policy bounds no resources";

const Lacks& LacksOf() {
  static const Lacks lacks = {
      .programs = {Effect::kDifferent, "the programs are the image's, and all of them run"},
      .image = {Effect::kDifferent, "OpenShell is told of its image where the sandbox is made"},
      .no_exec = {Effect::kWeaker, "its paths are read and executed"},
      .places = {Effect::kDifferent, "its paths are the same inside: it is where the host has it"},
      .workspace = {Effect::kDifferent, "it is the image's working directory"},
      .files = {Effect::kWeaker, "it tells no files of a directory apart"},
      .review = {Effect::kStricter, "it has no writes on a copy: it is read-only"},
      .protect = {Effect::kWeaker, "a path in a writable one is not read-only"},
      .deny = {Effect::kWeaker, "it hides no names"},
      .full = {Effect::kStricter, "it has no host's network: none"},
      .providers = {Effect::kDifferent, "providers are set up at its gateway"},
      .variables = {Effect::kDifferent, "a policy has no variables"},
      .limits = NoLimits(kNoBounds, {Effect::kWeaker, kNoBounds})};
  return lacks;
}

std::string Paths(const policy::SandboxRequest& request) {
  std::vector<std::string> read = {"/usr", "/lib", "/etc", "/proc", "/dev/urandom"};
  std::vector<std::string> written = {"/tmp", "/dev/null"};
  for (const Place& place : PlacesOf(request)) {
    (place.writable ? written : read).push_back(place.source);
  }
  const bool own = request.workspace.empty() && request.mode != policy::Mode::kReadOnly;
  return "filesystem_policy:\n  include_workdir: " + std::string(own ? "true" : "false") +
         "\n  read_only: " + egress::Sequence(read) +
         "\n  read_write: " + egress::Sequence(written) + "\n";
}

// Our own keys, which OpenShell's reader would refuse.
std::vector<Gap> WithoutOurs(egress::NetworkPolicy* network) {
  std::vector<Gap> gaps;
  const auto drop = [&](egress::Budget* budget, const std::string& key) {
    for (const egress::BudgetKey& each : egress::kBudgetKeys) {
      if (budget->*each.member == 0) continue;
      gaps.push_back({Effect::kWeaker,
                      key + "." + each.name + " " + std::to_string(budget->*each.member),
                      "it bounds no traffic"});
    }
    *budget = {};
  };
  drop(&network->budget, "network_budget");
  for (egress::Rule& rule : network->rules) {
    for (egress::Endpoint& endpoint : rule.endpoints)
      drop(&endpoint.budget, endpoint.key + ".budget");
    for (egress::Binary& binary : rule.binaries) {
      if (!binary.sha256.empty() || binary.only_itself) {
        gaps.push_back({Effect::kWeaker, rule.key + " for " + egress::Describe(binary),
                        "a program there is a path, and counts for all that it starts"});
      }
      binary.sha256.clear();
      binary.only_itself = false;
    }
  }
  if (egress::IsPublic(*network)) {
    gaps.push_back(
        {Effect::kStricter, "every public host and port", "it has no wildcard for that"});
  }
  return gaps;
}

}  // namespace

Result<Written> WriteOpenShell(const policy::SandboxRequest& request) {
  egress::NetworkPolicy network =
      request.network == policy::Network::kEgress ? request.egress : egress::NetworkPolicy{};
  std::vector<Gap> ours = WithoutOurs(&network);
  std::string text = egress::PolicyText(network, egress::Defaults::kSaid);
  const size_t after_version = text.find('\n') + 1;
  const bool hard = request.landlock == policy::Landlock::kHardRequirement;
  const std::string user = request.user == 0 ? "sandbox" : std::to_string(request.user);
  text.insert(after_version,
              Paths(request) +
                  "landlock:\n  compatibility: " + (hard ? "hard_requirement" : "best_effort") +
                  "\nprocess:\n  run_as_user: " + user + "\n  run_as_group: " + user + "\n");
  Written out = {.text = std::move(text), .comment = "#", .gaps = GapsOf(request, LacksOf())};
  out.gaps.insert(out.gaps.end(), ours.begin(), ours.end());
  return out;
}

}  // namespace odyssey::foreign
