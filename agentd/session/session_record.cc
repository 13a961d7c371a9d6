#include "agentd/session/session_record.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "agentd/session/turn_json.h"
#include "policy/model/own_variables.h"

namespace odyssey::session {
namespace {

using Json = nlohmann::json;
using model::Message;

constexpr int kSchemaVersion = 2;

// Thrown by the decoders, with nlohmann's own exceptions, and caught in DecodeSession.
struct Malformed {
  std::string what;
};

Json EncodeParent(const Parent& parent) {
  return {
      {"session_id", parent.session_id}, {"turn_id", parent.turn_id}, {"callers", parent.callers}};
}

Parent DecodeParent(const Json& json) {
  return {json.at("session_id").get<std::string>(), json.at("turn_id").get<std::string>(),
          json.at("callers").get<std::vector<std::string>>()};
}

Json EncodeJob(const job::BegunJob& job) {
  return {{"id", job.id}, {"turn_id", job.turn_id}, {"exec_id", job.exec_id}};
}

job::BegunJob DecodeJob(const Json& json) {
  return {json.at("id").get<std::string>(), json.at("turn_id").get<std::string>(),
          json.at("exec_id").get<std::string>()};
}

// A source may have any name, an inherited variable's too: then its value is a secret all the same.
std::map<std::string, std::string> InheritedOf(const SessionRecord& record) {
  std::map<std::string, std::string> out = record.env;
  std::erase_if(out, [&](const auto& item) {
    return record.env_sources.count(item.first) != 0 || !policy::IsInheritedVariable(item.first);
  });
  return out;
}

SessionRecord Decode(const Json& json) {
  if (const int version = json.at("schema_version").get<int>();
      version < 1 || version > kSchemaVersion) {
    throw Malformed{"schema_version " + std::to_string(version) + "; this version reads 1 to " +
                    std::to_string(kSchemaVersion)};
  }
  SessionRecord out;
  out.id = json.at("id").get<std::string>();
  const Json& bundle = json.at("bundle");
  out.bundle = {bundle.at("id").get<std::string>(), bundle.at("version").get<std::string>(),
                bundle.at("digest").get<std::string>(),
                bundle.value("namespace", package::kLocalNamespace)};
  out.agent_id = json.at("agent_id").get<std::string>();
  out.model_provider = json.at("model_provider").get<std::string>();
  out.model_id = json.at("model_id").get<std::string>();
  out.created_at = json.at("created_at").get<std::string>();
  out.cwd = json.at("cwd").get<std::string>();
  out.owner_uid = json.value("owner_uid", kNobody);
  out.allow_danger = json.value("allow_danger", false);
  out.review = json.value("review", false);
  out.reviews = json.value("reviews", out.review);
  out.approval_timeout_ms = json.value("approval_timeout_ms", uint64_t{0});
  out.forked_from = json.value("forked_from", "");
  if (json.contains("parent")) {
    out.parent = DecodeParent(json.at("parent"));
    // Of a file older than `budget`.
    out.budget.tool_calls =
        json.at("parent").value(std::string(policy::kToolCalls.name), uint64_t{0});
  }
  if (json.contains("budget")) out.budget = BudgetFromJson(json.at("budget"));
  out.env = json.at("env").get<std::map<std::string, std::string>>();
  // Of a file older than env_sources.
  for (const auto& [source, value] : out.env) out.env_sources.insert(source);
  out.env_sources = json.value("env_sources", out.env_sources);
  out.cell_used = json.at("cell_used").get<bool>();
  out.staged = json.at("staged").get<bool>();
  out.jobs_begun = json.value("jobs_begun", uint64_t{0});
  for (const Json& job : json.value("running_jobs", Json::array())) {
    out.running_jobs.push_back(DecodeJob(job));
  }
  // Of a file of version 1, which held the turns too.
  for (const Json& turn : json.value("turns", Json::array())) {
    Result<TurnRecord> decoded = TurnFromJson(turn);
    if (!decoded.ok()) throw Malformed{decoded.status().message()};
    out.turns.push_back(*std::move(decoded));
  }
  return out;
}

}  // namespace

bool IsOpen(TurnStatus status) {
  return status == TurnStatus::kQueued || status == TurnStatus::kRunning;
}

const TurnRecord* FindTurn(const SessionRecord& record, const std::string& turn_id) {
  for (const TurnRecord& turn : record.turns) {
    if (turn.id == turn_id) return &turn;
  }
  return nullptr;
}

TurnRecord* FindTurn(SessionRecord& record, const std::string& turn_id) {
  return const_cast<TurnRecord*>(FindTurn(std::as_const(record), turn_id));
}

std::vector<Message> HistoryOf(const SessionRecord& record) {
  std::vector<Message> out;
  for (const TurnRecord& turn : record.turns) {
    out.insert(out.end(), turn.history.begin(), turn.history.end());
  }
  return out;
}

std::map<std::string, std::string> SecretsOf(const SessionRecord& record) {
  std::map<std::string, std::string> out = record.env;
  std::erase_if(out, [&](const auto& item) { return record.env_sources.count(item.first) == 0; });
  return out;
}

std::string EncodeSession(const SessionRecord& record) {
  Json out = {{"schema_version", kSchemaVersion},
              {"id", record.id},
              {"bundle_ref", bundle::RefOf(record.bundle)},
              {"bundle",
               {{"namespace", record.bundle.ns},
                {"id", record.bundle.id},
                {"version", record.bundle.version},
                {"digest", record.bundle.digest}}},
              {"agent_id", record.agent_id},
              {"model_provider", record.model_provider},
              {"model_id", record.model_id},
              {"created_at", record.created_at},
              {"cwd", record.cwd},
              {"owner_uid", record.owner_uid},
              {"allow_danger", record.allow_danger},
              {"review", record.review},
              {"reviews", record.reviews},
              {"approval_timeout_ms", record.approval_timeout_ms},
              {"forked_from", record.forked_from},
              {"env_sources", record.env_sources},
              {"env", InheritedOf(record)},
              {"cell_used", record.cell_used},
              {"staged", record.staged}};
  if (record.jobs_begun != 0) out["jobs_begun"] = record.jobs_begun;
  for (const job::BegunJob& job : record.running_jobs)
    out["running_jobs"].push_back(EncodeJob(job));
  if (!record.parent.session_id.empty()) out["parent"] = EncodeParent(record.parent);
  if (record.budget != policy::Budget()) out["budget"] = BudgetToJson(record.budget);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SessionRecord> DecodeSession(std::string_view text) {
  try {
    return Decode(Json::parse(text));
  } catch (const Json::exception& error) {
    return Status(Code::kDataLoss, error.what());
  } catch (const Malformed& error) {
    return Status(Code::kDataLoss, error.what);
  }
}

}  // namespace odyssey::session
