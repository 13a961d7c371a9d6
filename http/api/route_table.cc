#include "http/api/route_table.h"

#include <algorithm>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "http/shape/original.h"
#include "http/shape/public_id.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/bundle.pb.h"
#include "odyssey/agent/v1/session.pb.h"
#include "odyssey/agent/v1/token.pb.h"
#include "odyssey/ops/v1/metrics.pb.h"
#include "odyssey/supervisor/v1/changes.pb.h"

namespace odyssey::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

constexpr int kSlowMs = 30 * 60'000;  // waits for a cell, a turn to end, or disks

// ── bodies of the original Odyssey's routes ──

constexpr std::string_view kBundleItems =
    R"({"type":"array","items":{"type":"object","required":["namespace","id","version","path"],
"properties":{"namespace":{"type":"string"},"id":{"type":"string"},"version":{"type":"string"},
"path":{"type":"string"}}}})";
constexpr std::string_view kBuild =
    R"({"type":"object","required":["project_path"],"properties":{"project_path":{"type":"string",
"description":"absolute path of a bundle directory that odyssey-agentd can read"},
"force":{"type":"boolean"}}})";
constexpr std::string_view kBuilt =
    R"({"type":"object","required":["id","version","digest","path"],"properties":{
"id":{"type":"string"},"version":{"type":"string"},"digest":{"type":"string"},
"path":{"type":"string"}}})";
constexpr std::string_view kMetadata =
    R"({"type":"object","required":["namespace","id","version","digest","readme","bundle_manifest",
"agent_spec"],"properties":{"namespace":{"type":"string"},"id":{"type":"string"},
"version":{"type":"string"},"digest":{"type":"string"},"readme":{"type":"string"},
"bundle_manifest":{"type":["object","string"]},"agent_spec":{"type":["object","null"]}}})";
constexpr std::string_view kExport =
    R"({"type":"object","required":["reference"],"properties":{"reference":{"type":"string"}}})";
constexpr std::string_view kImported =
    R"({"type":"object","required":["status","namespace","id","version","digest","path"],
"properties":{"status":{"const":"ok"},"namespace":{"type":"string"},"id":{"type":"string"},
"version":{"type":"string"},"digest":{"type":"string"},"path":{"type":"string"}}})";
constexpr std::string_view kSummary =
    R"({"type":"object","required":["id","agent_id","message_count","created_at"],"properties":{
"id":{"type":"string"},"agent_id":{"type":"string"},"message_count":{"type":"integer"},
"created_at":{"type":"string"}}})";
constexpr std::string_view kSummaries =
    R"({"type":"array","items":{"type":"object","required":["id","agent_id","message_count",
"created_at"],"properties":{"id":{"type":"string"},"agent_id":{"type":"string"},
"message_count":{"type":"integer"},"created_at":{"type":"string"}}}})";
constexpr std::string_view kCreate =
    R"({"type":"object","required":["bundle_ref"],"properties":{"bundle_ref":{"type":"string"},
"agent_id":{"type":["string","null"]},"model":{"type":"null"},"sandbox":{"type":"null"},
"cwd":{"type":"string","description":"what \".\" means in the bundle's mounts; absolute"},
"env":{"type":"object","additionalProperties":{"type":"string"}},
"allow_danger":{"type":"boolean"},"review":{"type":"boolean"},
"approval_timeout_ms":{"type":["integer","string"]},"budget":{"type":"object"}}})";
constexpr std::string_view kDetail =
    R"({"type":"object","required":["id","agent_id","bundle_ref","model_id","created_at","messages"],
"properties":{"id":{"type":"string"},"agent_id":{"type":"string"},"bundle_ref":{"type":"string"},
"model_id":{"type":"string"},"created_at":{"type":"string"},"messages":{"type":"array","items":{
"type":"object","properties":{"role":{"type":"string"},"content":{"type":"string"}}}}}})";
constexpr std::string_view kRunBody =
    R"({"type":"object","required":["input"],"properties":{"input":{"type":"object",
"required":["prompt"],"properties":{"prompt":{"type":"string"},"submission_id":{"type":"string",
"description":"a UUID: a second request with it and the same prompt answers with the first one's turn"},
"completed":{"type":"boolean"},"image":{"type":"null"},"system_prompt":{"type":"null"},
"result":{}}},"turn_context":{"type":["object","null"]},"env":{"type":"object"},
"deadline_ms":{"type":["integer","string"]}}})";
constexpr std::string_view kRun =
    R"({"type":"object","required":["session_id","turn_id"],"properties":{
"session_id":{"type":"string"},"turn_id":{"type":"string"},"after_sequence":{"type":"integer",
"description":"GET …/events?after=this shows every event of the turn"}}})";
constexpr std::string_view kRunSync =
    R"({"type":"object","required":["session_id","turn_id","response"],"properties":{
"session_id":{"type":"string"},"turn_id":{"type":"string"},"response":{"type":"string"}}})";
constexpr std::string_view kDecision =
    R"({"type":"object","required":["decision"],"properties":{
"decision":{"enum":["allow_once","allow_always","deny"]},"note":{"type":"string"},
"digest":{"type":"string","description":"the request's, as it was shown"},
"grant_scope":{"enum":["call","session"]},"grant_duration_ms":{"type":["integer","string"]}}})";
constexpr std::string_view kResolved =
    R"({"type":"object","required":["resolved"],"properties":{"resolved":{"type":"boolean",
"description":"false: unknown, or answered already"}}})";

// ── ours ──

constexpr std::string_view kEvent =
    R"({"type":"string","description":"each `data:` is an event as docs/EVENTS.md has it, `id:` its sequence number"})";
constexpr std::string_view kApprovalEvent =
    R"({"type":"string","description":"each `data:` is a pending request for approval"})";
constexpr std::string_view kFile = R"({"type":"string","format":"binary"})";
constexpr std::string_view kText = R"({"type":"string"})";
constexpr std::string_view kExecBody =
    R"({"type":"object","required":["argv"],"properties":{"argv":{"type":"array","minItems":1,
"items":{"type":"string"}},"cwd":{"type":"string"},"env":{"type":"object",
"additionalProperties":{"type":"string"}},"stdin":{"type":"string"},
"wall_clock_ms":{"type":"integer"},"max_output_bytes":{"type":"integer","maximum":8388608,
"description":"of each stream; 1 MiB unless it says otherwise"}}})";
constexpr std::string_view kExecAnswer =
    R"({"type":"object","required":["exec_id","outcome","stdout","stderr","denials"],"properties":{
"exec_id":{"type":"string"},"outcome":{"type":"object"},"stdout":{"type":"string"},
"stderr":{"type":"string"},"denials":{"type":"array","items":{"type":"object"}}}})";
constexpr std::string_view kLinkBody =
    R"({"type":"object","required":["secret"],"properties":{"secret":{"type":"string"}}})";
constexpr std::string_view kLinkAnswer =
    R"({"type":"object","properties":{"expires_at":{"type":"string"}}})";
constexpr std::string_view kHealthAnswer =
    R"({"type":"object","required":["status"],"properties":{"status":{"enum":["ok","unavailable"]}}})";
constexpr std::string_view kNoBody = R"({"type":"object"})";

const Parameter kAfter = {"after", "events after this sequence number; none: those to come",
                          "after_sequence"};

std::vector<Route> MakeRoutes() {
  using shape::Json;
  return {
      {"GET",
       "/bundles",
       Act::kCall,
       "odyssey.agent.v1.BundleService.ListBundles",
       "list installed bundles",
       {},
       nullptr,
       shape::WriteBundles,
       {},
       kBundleItems},
      {"POST",
       "/bundles/build",
       Act::kCall,
       "odyssey.agent.v1.BundleService.BuildBundle",
       "pack a directory of this host and install it",
       {},
       shape::ReadBuildBundle,
       shape::WriteBuiltBundle,
       kBuild,
       kBuilt,
       "application/json",
       false,
       kSlowMs},
      {"GET",
       "/bundles/inspect",
       Act::kCall,
       "odyssey.agent.v1.BundleService.InspectBundle",
       "show one bundle",
       {{"reference", "NS/ID, ID or a digest", {}, true}},
       nullptr,
       shape::WriteBundleMetadata,
       {},
       kMetadata},
      {"POST",
       "/bundles/export",
       Act::kBytes,
       "odyssey.agent.v1.BundleService.ExportBundle",
       "get a bundle's archive",
       {},
       shape::ReadExportBundle,
       nullptr,
       kExport,
       kFile,
       "application/octet-stream",
       false,
       kSlowMs},
      {"POST",
       "/bundles/import",
       Act::kImport,
       "odyssey.agent.v1.BundleService.ImportBundle",
       "install the archive that the body is",
       {{"force", "true: replace what is installed with another digest", "options.force"},
        {"expected_digest", "refuse an archive with another one", "options.expected_digest"}},
       nullptr,
       shape::WriteImportedBundle,
       kFile,
       kImported,
       "application/json",
       false,
       kSlowMs},
      {"DELETE",
       "/bundles",
       Act::kRemove,
       "odyssey.agent.v1.BundleService.RemoveBundle",
       "remove an installed bundle",
       {{"reference", "NS/ID, ID or a digest", {}, true}}},
      {"POST",
       "/bundles/publish",
       Act::kElsewhere,
       {},
       "not served: odyssey-ctl bundle push publishes as the user of the keys",
       {},
       nullptr,
       nullptr,
       kNoBody},
      {"POST",
       "/bundles/pull",
       Act::kElsewhere,
       {},
       "not served: odyssey-ctl bundle pull fetches and checks as the user",
       {},
       nullptr,
       nullptr,
       kNoBody},

      {"GET",
       "/sessions",
       Act::kCall,
       "odyssey.agent.v1.SessionService.ListSessions",
       "list sessions, the newest first",
       {},
       nullptr,
       shape::WriteSessions,
       {},
       kSummaries},
      {"POST",
       "/sessions",
       Act::kCall,
       "odyssey.agent.v1.SessionService.CreateSession",
       "make a session of a bundle",
       {},
       shape::ReadCreateSession,
       shape::WriteSession,
       kCreate,
       kSummary},
      {"GET",
       "/sessions/{session_id}",
       Act::kSession,
       "odyssey.agent.v1.SessionService.GetSession",
       "show a session with its messages",
       {},
       nullptr,
       nullptr,
       {},
       kDetail},
      {"DELETE",
       "/sessions/{session_id}",
       Act::kRemove,
       "odyssey.agent.v1.SessionService.DeleteSession",
       "remove a session",
       {},
       nullptr,
       nullptr,
       {},
       {},
       "application/json",
       false,
       kSlowMs},
      {"GET", "/sessions/{session_id}/info", Act::kCall,
       "odyssey.agent.v1.SessionService.GetSession", "show all of a session but its messages"},
      {"POST",
       "/sessions/{session_id}/run",
       Act::kRun,
       "odyssey.agent.v1.SessionService.SubmitTurn",
       "queue a turn",
       {},
       shape::ReadRun,
       nullptr,
       kRunBody,
       kRun},
      {"POST",
       "/sessions/{session_id}/run-sync",
       Act::kRunSync,
       "odyssey.agent.v1.SessionService.SubmitTurn",
       "run a turn and wait for its end",
       {},
       shape::ReadRun,
       nullptr,
       kRunBody,
       kRunSync},
      {"GET",
       "/sessions/{session_id}/events",
       Act::kEvents,
       "odyssey.agent.v1.SessionService.Subscribe",
       "follow a session's events",
       {kAfter, {"follow", "false: end after the events that are recorded"}},
       nullptr,
       nullptr,
       {},
       kEvent,
       "text/event-stream",
       false,
       0},
      {"GET",
       "/sessions/{session_id}/turns",
       Act::kList,
       "odyssey.agent.v1.SessionService.ListTurns",
       "list turns with their histories; a long one comes in parts of the same id",
       {{"turn_id", "one turn alone"}}},
      {"POST",
       "/sessions/{session_id}/cancel",
       Act::kCall,
       "odyssey.agent.v1.SessionService.CancelTurn",
       "cancel the running turn, or one by its id",
       {},
       nullptr,
       nullptr,
       {},
       {},
       "application/json",
       false,
       kSlowMs},
      {"POST",
       "/sessions/{session_id}/exec",
       Act::kExec,
       "odyssey.agent.v1.SessionService.SessionExec",
       "run a command in the session's cell",
       {},
       nullptr,
       nullptr,
       kExecBody,
       kExecAnswer,
       "application/json",
       false,
       0},
      {"GET",
       "/sessions/{session_id}/file",
       Act::kBytes,
       "odyssey.agent.v1.SessionService.ReadFile",
       "read a file of the session's workspace",
       {{"path", "relative to the workspace", {}, true},
        {"offset", "the first byte"},
        {"max_bytes", "200000 unless it says otherwise; at most 8 MiB"}},
       nullptr,
       nullptr,
       {},
       kFile,
       "application/octet-stream"},
      {"GET",
       "/sessions/{session_id}/export",
       Act::kBytes,
       "odyssey.agent.v1.SessionService.ExportSession",
       "get the session as a file of the original Odyssey",
       {},
       nullptr,
       nullptr,
       {},
       kFile,
       "application/octet-stream"},
      {"POST",
       "/sessions/import",
       Act::kImport,
       "odyssey.agent.v1.SessionService.ImportSession",
       "make a session of the session file that the body is",
       {{"bundle", "pinned where the file's own reference is not installed"},
        {"cwd", "as of POST /sessions"}},
       nullptr,
       nullptr,
       kFile,
       {},
       "application/json",
       false,
       kSlowMs},
      {"POST",
       "/sessions/{session_id}/fork",
       Act::kCall,
       "odyssey.agent.v1.SessionService.ForkSession",
       "make a second session of the same state",
       {},
       nullptr,
       nullptr,
       {},
       {},
       "application/json",
       false,
       kSlowMs},
      {"POST", "/sessions/{session_id}/compact", Act::kCall,
       "odyssey.agent.v1.SessionService.CompactSession", "remove events of turns that have ended"},
      {"GET", "/sessions/{session_id}/tools", Act::kCall,
       "odyssey.agent.v1.SessionService.ListTools", "list the tools that the agent is offered"},
      {"GET", "/sessions/{session_id}/jobs", Act::kCall, "odyssey.agent.v1.SessionService.ListJobs",
       "list background jobs"},
      {"POST", "/sessions/{session_id}/jobs/{job_id}/stop", Act::kCall,
       "odyssey.agent.v1.SessionService.StopJob", "stop a background job"},
      {"DELETE", "/sessions/{session_id}/grants/{grant_id}", Act::kRemove,
       "odyssey.agent.v1.SessionService.RevokeGrant", "end what an approval granted"},
      {"GET", "/sessions/{session_id}/allowed", Act::kCall,
       "odyssey.agent.v1.ApprovalService.ListAllowed", "list what \"always\" allows"},
      {"POST", "/sessions/{session_id}/allowed/forget", Act::kCall,
       "odyssey.agent.v1.ApprovalService.ForgetAllowed", "ask again about what \"always\" allows"},
      {"GET",
       "/sessions/{session_id}/changes",
       Act::kList,
       "odyssey.supervisor.v1.Changes.ListChanges",
       "list what waits for a commit; the last element has the counts and the digest",
       {{"max_changes", "10000 unless it says less"}},
       nullptr,
       nullptr,
       {},
       {},
       "application/json",
       false,
       kSlowMs},
      {"GET",
       "/sessions/{session_id}/diff",
       Act::kBytes,
       "odyssey.supervisor.v1.Changes.DiffChanges",
       "show what waits for a commit, as git diff does",
       {{"max_bytes", "1 MiB unless it says otherwise; at most 16 MiB"}},
       nullptr,
       nullptr,
       {},
       kText,
       "text/plain; charset=utf-8",
       false,
       kSlowMs},
      {"GET", "/sessions/{session_id}/commits", Act::kCall,
       "odyssey.supervisor.v1.Changes.ListCommits", "list the commits that can be undone"},
      {"POST",
       "/sessions/{session_id}/commit",
       Act::kCall,
       "odyssey.supervisor.v1.Changes.CommitChanges",
       "put changes into the host's directories",
       {},
       nullptr,
       nullptr,
       {},
       {},
       "application/json",
       false,
       kSlowMs},
      {"POST",
       "/sessions/{session_id}/undo",
       Act::kCall,
       "odyssey.supervisor.v1.Changes.UndoCommits",
       "take the newest commits back",
       {},
       nullptr,
       nullptr,
       {},
       {},
       "application/json",
       false,
       kSlowMs},
      {"POST",
       "/sessions/{session_id}/discard",
       Act::kCall,
       "odyssey.supervisor.v1.Changes.DiscardChanges",
       "forget changes",
       {},
       nullptr,
       nullptr,
       {},
       {},
       "application/json",
       false,
       kSlowMs},

      {"GET",
       "/approvals",
       Act::kCall,
       "odyssey.agent.v1.ApprovalService.ListApprovals",
       "list pending requests for approval",
       {{"session_id", "of one session alone"}}},
      {"GET",
       "/approvals/watch",
       Act::kApprovals,
       "odyssey.agent.v1.ApprovalService.WatchApprovals",
       "follow requests for approval: the pending ones, then new ones",
       {{"session_id", "of one session alone"}},
       nullptr,
       nullptr,
       {},
       kApprovalEvent,
       "text/event-stream",
       false,
       0},
      {"POST",
       "/approvals/{request_id}",
       Act::kCall,
       "odyssey.agent.v1.ApprovalService.ResolveApproval",
       "answer a request for approval",
       {},
       shape::ReadApproval,
       nullptr,
       kDecision,
       kResolved},

      {"GET", "/tools", Act::kCall, "odyssey.agent.v1.SessionService.ListTools",
       "list every tool that a bundle may name"},
      {"GET", "/quota", Act::kCall, "odyssey.agent.v1.SessionService.GetQuota",
       "show what the user has in use, and the operator's bounds"},
      {"GET", "/status", Act::kCall, "odyssey.agent.v1.SessionService.GetInfo",
       "show what odyssey-agentd has in hand"},
      {"GET",
       "/metrics",
       Act::kMetrics,
       "odyssey.ops.v1.Metrics.GetMetrics",
       "metrics in Prometheus's text format, for operators",
       {},
       nullptr,
       nullptr,
       {},
       kText,
       "text/plain; version=0.0.4; charset=utf-8"},
      {"GET",
       "/healthz",
       Act::kHealth,
       {},
       "whether odyssey-agentd serves",
       {},
       nullptr,
       nullptr,
       {},
       kHealthAnswer,
       "application/json",
       true,
       5'000},
      {"GET",
       "/openapi.json",
       Act::kDocument,
       {},
       "this document",
       {},
       nullptr,
       nullptr,
       {},
       kNoBody,
       "application/json",
       true},
      {"GET",
       "/",
       Act::kConsole,
       {},
       "the web console, which a link of odyssey-ctl web opens",
       {},
       nullptr,
       nullptr,
       {},
       kText,
       "text/html; charset=utf-8",
       true},
      {"GET",
       "/console/{name}",
       Act::kConsole,
       {},
       "a file of the web console",
       {},
       nullptr,
       nullptr,
       {},
       kText,
       "text/plain; charset=utf-8",
       true},
      {"POST",
       "/sign-in",
       Act::kSignIn,
       "odyssey.agent.v1.TokenService.ExchangeLink",
       "exchange the secret of a link for a cookie",
       {},
       nullptr,
       nullptr,
       kLinkBody,
       kLinkAnswer,
       "application/json",
       true},
      {"POST",
       "/sign-out",
       Act::kSignOut,
       {},
       "revoke the token, and remove the cookie",
       {},
       nullptr,
       nullptr,
       kNoBody},
  };
}

std::vector<std::string_view> Split(std::string_view path) {
  std::vector<std::string_view> out;
  for (size_t at = 1; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool IsPlaceholder(std::string_view part) { return part.front() == '{'; }
std::string NameOf(std::string_view part) { return std::string(part.substr(1, part.size() - 2)); }

bool Fits(const Route& route, const std::vector<std::string>& segments) {
  const std::vector<std::string_view> parts = Split(route.path);
  if (parts.size() != segments.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!IsPlaceholder(parts[i]) && parts[i] != segments[i]) return false;
  }
  return true;
}

// A path without braces is meant before one with: "/sessions/import".
size_t Placeholders(const Route& route) {
  return static_cast<size_t>(std::count(route.path.begin(), route.path.end(), '{'));
}

}  // namespace

const std::vector<Route>& Routes() {
  // Rows name methods by text: without these a program would leave the archive's descriptors out.
  static const Descriptor* const kLinked[] = {
      agent::v1::Approval::descriptor(),         agent::v1::Bundle::descriptor(),
      agent::v1::Session::descriptor(),          agent::v1::Token::descriptor(),
      ops::v1::GetMetricsResponse::descriptor(), supervisor::v1::Change::descriptor()};
  static const std::vector<Route> kRoutes = MakeRoutes();
  ODY_CHECK(kLinked[0] != nullptr);
  return kRoutes;
}

Match FindRoute(std::string_view method, const std::vector<std::string>& segments) {
  size_t fewest = SIZE_MAX;
  for (const Route& route : Routes()) {
    if (Fits(route, segments)) fewest = std::min(fewest, Placeholders(route));
  }
  Match out;
  for (const Route& route : Routes()) {
    if (!Fits(route, segments) || Placeholders(route) != fewest) continue;
    if (route.method != method) {
      out.allowed.emplace_back(route.method);
      continue;
    }
    out.route = &route;
    const std::vector<std::string_view> parts = Split(route.path);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (IsPlaceholder(parts[i])) out.of_path[NameOf(parts[i])] = segments[i];
    }
  }
  return out;
}

const MethodDescriptor* MethodOf(const Route& route) {
  if (route.rpc.empty()) return nullptr;
  const auto* found =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(std::string(route.rpc));
  ODY_CHECK(found != nullptr);
  return found;
}

std::string CallPath(const MethodDescriptor& method) {
  return "/" + method.service()->full_name() + "/" + method.name();
}

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

std::string FieldOf(const Descriptor& request, std::string_view name) {
  const std::string text(name);
  if (request.FindFieldByName(text) == nullptr && request.FindFieldByName("key") != nullptr) {
    return "key." + text;
  }
  return text;
}

bool HasJsonBody(const Route& route) { return route.method == "POST" && route.act != Act::kImport; }

Status ReadBody(const Route& route, const shape::Json& body, Message* request) {
  const Reader read = route.read != nullptr ? route.read : shape::ReadMessage;
  ODY_RETURN_IF_ERROR(read(body, request));
  shape::MakeOwn(request);
  return OkStatus();
}

Status FillFields(const Route& route, const std::map<std::string, std::string>& of_path,
                  const std::map<std::string, std::string>& query, Message* request) {
  for (const auto& [name, text] : of_path) {
    ODY_RETURN_IF_ERROR(shape::SetField(FieldOf(*request->GetDescriptor(), name),
                                        shape::OwnId(name, text), request));
  }
  for (const auto& [name, text] : query) {
    const auto found =
        std::find_if(route.query.begin(), route.query.end(),
                     [&name = name](const Parameter& each) { return each.name == name; });
    if (found == route.query.end()) {
      return Refused(Code::kInvalidArgument, SanitizeUtf8(name), "",
                     "the query has no such parameter here");
    }
    const std::string_view field = found->field.empty() ? found->name : found->field;
    ODY_RETURN_IF_ERROR(shape::SetField(field, shape::OwnId(name, text), request));
  }
  for (const Parameter& each : route.query) {
    if (each.required && query.count(std::string(each.name)) == 0) {
      return Refused(Code::kInvalidArgument, std::string(each.name), "",
                     "is required in the query");
    }
  }
  return OkStatus();
}

}  // namespace odyssey::api
