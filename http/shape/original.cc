#include "http/shape/original.h"

#include <algorithm>
#include <utility>

#include "agentd/session_file/session_file.h"
#include "common/base/refusal.h"
#include "http/shape/public_id.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/bundle.pb.h"

namespace odyssey::shape {
namespace {

namespace pb = agent::v1;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename Type>
const Type& As(const Message& message) {
  return dynamic_cast<const Type&>(message);
}

Status Wrong(std::string field, const Json& value, std::string_view why) {
  const bool is_null = value.is_null();
  return Refused(Code::kInvalidArgument, std::move(field), is_null ? "" : Dump(value), why);
}

// Takes the string of `key` out of the object. Required: an error without it.
Result<std::string> TakeText(const std::string& prefix, const std::string& key, bool required,
                             Json* object) {
  const auto found = object->find(key);
  const Json value = found == object->end() ? Json() : *found;
  if (found != object->end()) object->erase(found);
  if (value.is_null() && !required) return std::string();
  if (!value.is_string()) return Wrong(prefix + key, value, "must be a string");
  return value.get<std::string>();
}

// What the original has and this does not do: null or missing alone.
Status DropUnsupported(const std::string& prefix, const std::string& key, std::string_view why,
                       Json* object) {
  const auto found = object->find(key);
  if (found == object->end()) return OkStatus();
  const Json value = *found;
  object->erase(found);
  return value.is_null() ? OkStatus() : Wrong(prefix + key, value, why);
}

Status RefuseRest(const std::string& prefix, const Json& object) {
  if (object.empty()) return OkStatus();
  return Wrong(prefix + object.begin().key(), object.begin().value(), "there is no such field");
}

// Takes an object out; none: an empty one.
Result<Json> TakeObject(const std::string& key, Json* object) {
  const auto found = object->find(key);
  if (found == object->end()) return Json::object();
  Json value = *found;
  object->erase(found);
  if (value.is_null()) return Json::object();
  if (!value.is_object()) return Wrong(key, value, "must be an object");
  return value;
}

// The Task of a run: its prompt and the key of its submission.
Status ReadTask(Json task, pb::SubmitTurnRequest* out) {
  ODY_ASSIGN_OR_RETURN(const std::string prompt, TakeText("input.", "prompt", true, &task));
  ODY_ASSIGN_OR_RETURN(const std::string submission,
                       TakeText("input.", "submission_id", false, &task));
  if (!submission.empty() && !session_file::IsUuid(submission)) {
    return Wrong("input.submission_id", submission, "must be a UUID");
  }
  ODY_RETURN_IF_ERROR(DropUnsupported("input.", "image", "images are not taken", &task));
  ODY_RETURN_IF_ERROR(
      DropUnsupported("input.", "system_prompt", "the agent's prompt is its bundle's", &task));
  // The client's own record of it.
  task.erase("completed");
  task.erase("result");
  ODY_RETURN_IF_ERROR(RefuseRest("input.", task));
  out->set_prompt(prompt);
  out->set_idempotency_key(submission);
  return OkStatus();
}

Json SummaryOf(const pb::Session& session) {
  return {{"id", PublicId(session.id())},
          {"agent_id", session.agent_id()},
          {"message_count", session.message_count()},
          {"created_at", session.created_at()}};
}

Json AgentSpecOf(const pb::Bundle& bundle) {
  const auto& agents = bundle.agents();
  const auto found = std::find_if(agents.begin(), agents.end(),
                                  [](const pb::BundleAgent& agent) { return agent.is_default(); });
  if (found == agents.end()) return nullptr;
  return {{"id", found->id()},
          {"description", found->description()},
          {"model", {{"provider", found->model_provider()}, {"name", found->model_id()}}}};
}

}  // namespace

Status ReadCreateSession(const Json& body, Message* message) {
  Json rest = body;
  const bool own_name = rest.contains("bundle") && !rest.contains("bundle_ref");
  ODY_ASSIGN_OR_RETURN(const std::string reference,
                       TakeText("", own_name ? "bundle" : "bundle_ref", true, &rest));
  ODY_RETURN_IF_ERROR(DropUnsupported("", "model", "the model is the bundle's", &rest));
  ODY_RETURN_IF_ERROR(DropUnsupported("", "sandbox", "the sandbox is the bundle's", &rest));
  if (const auto agent = rest.find("agent_id"); agent != rest.end() && agent->is_null()) {
    rest.erase(agent);
  }
  rest["bundle"] = reference;
  return ReadMessage(rest, message);
}

Status ReadBuildBundle(const Json& body, Message* message) {
  Json rest = body;
  ODY_ASSIGN_OR_RETURN(const std::string path, TakeText("", "project_path", true, &rest));
  rest["directory"] = path;
  return ReadMessage(rest, message);
}

Status ReadRun(const Json& body, Message* message) {
  auto& out = dynamic_cast<pb::SubmitTurnRequest&>(*message);
  Json rest = body;
  if (!rest.contains("input")) return Wrong("input", nullptr, "is required");
  ODY_ASSIGN_OR_RETURN(Json task, TakeObject("input", &rest));
  ODY_ASSIGN_OR_RETURN(Json context, TakeObject("turn_context", &rest));
  ODY_RETURN_IF_ERROR(DropUnsupported("turn_context.", "cwd",
                                      "it is the session's, from POST /sessions", &context));
  ODY_RETURN_IF_ERROR(
      DropUnsupported("turn_context.", "model", "the model is the bundle's", &context));
  ODY_RETURN_IF_ERROR(RefuseRest("turn_context.", context));
  ODY_RETURN_IF_ERROR(ReadMessage(rest, &out));
  return ReadTask(std::move(task), &out);
}

Status ReadApproval(const Json& body, Message* message) {
  constexpr std::string_view kDecisions[] = {"allow_once", "allow_always", "deny"};
  constexpr std::string_view kScopes[] = {"call", "session"};
  Json rest = body;
  ODY_ASSIGN_OR_RETURN(const std::string decision, TakeText("", "decision", true, &rest));
  if (std::find(std::begin(kDecisions), std::end(kDecisions), decision) == std::end(kDecisions)) {
    return Wrong("decision", decision, "must be allow_once, allow_always or deny");
  }
  ODY_ASSIGN_OR_RETURN(const std::string scope, TakeText("", "grant_scope", false, &rest));
  if (!scope.empty() &&
      std::find(std::begin(kScopes), std::end(kScopes), scope) == std::end(kScopes)) {
    return Wrong("grant_scope", scope, "must be call or session");
  }
  rest["decision"] = "decision_" + decision;
  if (!scope.empty()) rest["grant_scope"] = "grant_scope_" + scope;
  return ReadMessage(rest, message);
}

Status ReadExportBundle(const Json& body, Message* message) {
  Json rest = body;
  ODY_RETURN_IF_ERROR(DropUnsupported(
      "", "output_path",
      "no file of this host is written for a client; leave it out, and the archive is the answer's "
      "body",
      &rest));
  return ReadMessage(rest, message);
}

std::string WriteBundles(const Message& message) {
  Json out = Json::array();
  for (const pb::Bundle& bundle : As<pb::ListBundlesResponse>(message).bundles()) {
    out.push_back({{"namespace", bundle.namespace_()},
                   {"id", bundle.id()},
                   {"version", bundle.version()},
                   {"path", bundle.path()}});
  }
  return Dump(out);
}

std::string WriteBuiltBundle(const Message& message) {
  const pb::Bundle& bundle = As<pb::BuildBundleResponse>(message).bundle();
  return Dump({{"id", bundle.id()},
               {"version", bundle.version()},
               {"digest", bundle.digest()},
               {"path", bundle.path()}});
}

std::string WriteImportedBundle(const Message& message) {
  const pb::Bundle& bundle = As<pb::ImportBundleResponse>(message).bundle();
  return Dump({{"status", "ok"},
               {"namespace", bundle.namespace_()},
               {"id", bundle.id()},
               {"version", bundle.version()},
               {"digest", bundle.digest()},
               {"path", bundle.path()}});
}

std::string WriteBundleMetadata(const Message& message) {
  const pb::Bundle& bundle = As<pb::InspectBundleResponse>(message).bundle();
  Json manifest = Json::parse(bundle.manifest(), nullptr, /*allow_exceptions=*/false);
  if (manifest.is_discarded()) manifest = bundle.manifest();
  return Dump({{"namespace", bundle.namespace_()},
               {"id", bundle.id()},
               {"version", bundle.version()},
               {"digest", bundle.digest()},
               {"readme", bundle.readme()},
               {"bundle_manifest", std::move(manifest)},
               {"agent_spec", AgentSpecOf(bundle)}});
}

std::string WriteSessions(const Message& message) {
  Json out = Json::array();
  for (const pb::Session& session : As<pb::ListSessionsResponse>(message).sessions()) {
    out.push_back(SummaryOf(session));
  }
  return Dump(out);
}

std::string WriteSession(const Message& message) {
  return Dump(SummaryOf(As<pb::CreateSessionResponse>(message).session()));
}

std::string WriteSessionDetail(const pb::Session& session,
                               const std::vector<pb::ChatMessage>& messages) {
  Json out = {{"id", PublicId(session.id())},       {"agent_id", session.agent_id()},
              {"bundle_ref", session.bundle_ref()}, {"model_id", session.model_id()},
              {"created_at", session.created_at()}, {"messages", Json::array()}};
  for (const pb::ChatMessage& each : messages) {
    out["messages"].push_back({{"role", each.role()}, {"content", each.content()}});
  }
  return Dump(out);
}

std::string WriteSubmitted(const pb::SubmitTurnResponse& submitted, const std::string& session_id) {
  return Dump({{"session_id", PublicId(session_id)},
               {"turn_id", PublicId(submitted.turn_id())},
               {"after_sequence", submitted.after_sequence()}});
}

std::string WriteRunResult(const std::string& session_id, const std::string& turn_id,
                           const std::string& response) {
  return Dump({{"session_id", PublicId(session_id)},
               {"turn_id", PublicId(turn_id)},
               {"response", response}});
}

}  // namespace odyssey::shape
