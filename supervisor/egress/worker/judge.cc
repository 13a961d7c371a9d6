#include "supervisor/egress/worker/judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "supervisor/egress/inference/decide.h"

namespace odyssey::egress {
namespace {

using http::RequestHead;

constexpr uint16_t kHttpPort = 80;
constexpr int kForbidden = 403, kMisdirected = 421;

std::string HostField(const Connection& to) { return to.host + ":" + std::to_string(to.port); }

Passage PassageOf(const Arrival& arrival, const RequestHead& head) {
  Passage passage{.way = arrival.way};
  passage.to.program = arrival.program;
  passage.to.host = arrival.server ? arrival.server->host : head.authority.host;
  passage.to.port = arrival.server ? arrival.server->port : head.authority.port.value_or(kHttpPort);
  return passage;
}

bool NamesAnother(const Server& server, const http::Authority& authority) {
  return !authority.host.empty() &&
         (authority.host != server.host || authority.port.value_or(server.port) != server.port);
}

Request RequestOf(const RequestHead& head, const http::CanonicalPath& path) {
  Request out{.method = head.method, .path = path.path};
  for (const http::QueryPair& pair : path.pairs) out.query.push_back({pair.name, pair.value});
  for (const http::Field& field : head.fields) {
    out.headers.push_back({http::LowerCase(field.name), field.value});
  }
  return out;
}

Judgement Refuse(Passage passage, int status, std::string code, std::string reason) {
  return {.passage = Refused(std::move(passage), std::move(code), std::move(reason)),
          .status = status};
}

// `passage` with what was decided on it.
Judgement Refuse(Passage passage, Decision decision) {
  const int status = HttpStatusOf(decision.refusal);
  passage.code = CodeOf(decision.refusal);
  passage.reason = decision.reason;
  passage.decision = std::move(decision);
  return {.passage = std::move(passage), .status = status};
}

// It goes on, though the rules refuse it.
void Audit(Worker* worker, Passage passage, const Decision& decision, const Request& request) {
  passage.decision = decision;
  passage.code = CodeOf(decision.refusal);
  passage.reason = decision.reason;
  egress_wire::Record record = RecordOf(passage);
  record.verdict = egress_wire::Verdict::kAudited;
  record.method = request.method;
  record.path = request.path;
  worker->Report(std::move(record));
}

}  // namespace

asio::awaitable<std::optional<Judgement>> JudgeRequest(Worker* worker, const Arrival& arrival,
                                                       const RequestHead& head,
                                                       const TakeBody& take_body) {
  Passage passage = PassageOf(arrival, head);
  if (arrival.server && NamesAnother(*arrival.server, head.authority)) {
    co_return Refuse(std::move(passage), kMisdirected, "request_authority_mismatch",
                     "the request names another host than the connection");
  }
  if (!head.authority.never.empty()) {
    co_return Refuse(std::move(passage), kForbidden, "ssrf_denied", head.authority.never);
  }
  Decide(worker, &passage);
  if (!passage.decision.allowed) {
    Decision refused = passage.decision;
    co_return Refuse(std::move(passage), std::move(refused));
  }
  const std::vector<Pair> pairs = passage.decision.pairs;
  const bool slash = std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.endpoint->allow_encoded_slash;
  });
  // Its requests are looked into by the routes.
  const bool inference = passage.to.host == inference::kHost;
  const bool credentialed = std::any_of(
      pairs.begin(), pairs.end(), [](const Pair& pair) { return IsCredentialed(*pair.endpoint); });
  const bool is_read = passage.decision.inspected || inference || credentialed;
  auto canonical = http::CanonicalizePath(
      head.path, head.query,
      {.spelling = is_read ? http::Spelling::kRefuse : http::Spelling::kAsWritten,
       .allow_encoded_slash = slash});
  if (const auto* error = std::get_if<http::ParseError>(&canonical)) {
    co_return Refuse(std::move(passage), error->status, http::RefusalOf(*error).error,
                     error->reason);
  }
  Judgement out{.path = std::move(std::get<http::CanonicalPath>(canonical))};
  if (passage.decision.inspected && !inference) {
    Request request = RequestOf(head, out.path);
    if (const uint64_t limit = BodyLimit(pairs, request); limit != 0) {
      out.body = co_await take_body(passage, limit);
      if (!out.body) co_return std::nullopt;
      request.body = *out.body;
    }
    Decision decision = DecideRequest(passage.to, pairs, request);
    if (!decision.allowed) co_return Refuse(std::move(passage), std::move(decision));
    if (decision.audited) Audit(worker, passage, decision, request);
    passage.decision = std::move(decision);
    out.request = std::move(request);
  }
  out.passage = std::move(passage);
  const auto excess =
      worker->meter()->AddRequest(out.passage.decision.pairs, std::chrono::steady_clock::now());
  if (excess) {
    out.passage = Refused(std::move(out.passage), *excess);
    out.status = HttpStatusOf(out.passage);
  }
  co_return out;
}

http::Refusal RefusalOf(const Passage& passage, int status, const RequestHead* head) {
  const Decision& decision = passage.decision;
  http::Refusal out;
  out.status = status;
  out.error = passage.code;
  out.rule = KeyOf(decision);
  out.detail = HostField(passage.to) + " is not permitted by the policy";
  out.layer = decision.pairs.empty() ? "l4" : "l7";
  out.host = passage.to.host;
  out.port = passage.to.port;
  out.binary = passage.to.program.path;
  out.reason = passage.reason;
  if (head != nullptr) out.method = head->method;
  if (head != nullptr) out.path = head->path;
  if (passage.code == kUnreachable) {
    out.detail = HostField(passage.to) + " could not be reached";
    return out;
  }
  out.retry_after = static_cast<uint32_t>(passage.retry_after.count());
  for (const std::string_view code : {kBudgetExceeded, kOverloaded, kRequestTimeout}) {
    if (passage.code != code) continue;
    out.detail = HostField(passage.to) + " is permitted by the policy, but not now";
  }
  if (out.retry_after != 0) {
    out.next_steps = {"try again in " + std::to_string(out.retry_after) + " s"};
  }
  if (!decision.rule_missing.empty()) {
    out.rule_missing = {{"network_policies", decision.rule_missing}};
    out.next_steps = {"ask for the rule in rule_missing"};
  }
  out.agent_guidance =
      "every way out of this sandbox is decided alike: do not look for another one";
  return out;
}

}  // namespace odyssey::egress
