#include "http/api/route_table.h"

#include <algorithm>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "http/shape/original.h"
#include "http/shape/public_id.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/bundle.pb.h"
#include "odyssey/agent/v1/cell.pb.h"
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

constexpr std::string_view kMcpMessage =
    R"({"type":"object","required":["jsonrpc"],"properties":{"jsonrpc":{"const":"2.0"}},
"description":"a message of the Model Context Protocol, see docs/MCP.md"})";
constexpr std::string_view kMcpEvents =
    R"({"type":"string","description":"each `data:` is a message of the Model Context Protocol"})";

// The Model Context Protocol, for one bundle at each path.
void AddMcp(std::vector<Route>* routes) {
  for (const char* path : {"/mcp", "/mcp/{bundle}", "/mcp/{namespace}/{bundle}"}) {
    const std::vector<Parameter> query = {
        {"cwd", "what \".\" in the bundle's mounts means; absolute"},
        {"review", "true: host directories are written on a copy"}};
    routes->push_back({.method = "POST",
                       .path = path,
                       .act = Act::kMcp,
                       .summary = "send a message of the Model Context Protocol",
                       .query = query,
                       .request_schema = kMcpMessage,
                       .answer_schema = kMcpMessage,
                       .deadline_ms = 0});
    routes->push_back({.method = "GET",
                       .path = path,
                       .act = Act::kMcp,
                       .summary = "follow what the server sends in a session of the protocol",
                       .answer_schema = kMcpEvents,
                       .content_type = "text/event-stream",
                       .deadline_ms = 0});
    routes->push_back({.method = "DELETE",
                       .path = path,
                       .act = Act::kMcp,
                       .summary = "end a session of the protocol",
                       .answer_schema = kNoBody});
  }
}

std::vector<Route> MakeRoutes() {
  using shape::Json;
  std::vector<Route> routes = {
      {.method = "GET",
       .path = "/bundles",
       .rpc = "odyssey.agent.v1.BundleService.ListBundles",
       .summary = "list installed bundles",
       .write = shape::WriteBundles,
       .answer_schema = kBundleItems},
      {.method = "POST",
       .path = "/bundles/build",
       .rpc = "odyssey.agent.v1.BundleService.BuildBundle",
       .summary = "pack a directory of this host and install it",
       .read = shape::ReadBuildBundle,
       .write = shape::WriteBuiltBundle,
       .request_schema = kBuild,
       .answer_schema = kBuilt,
       .deadline_ms = kSlowMs},
      {.method = "GET",
       .path = "/bundles/inspect",
       .rpc = "odyssey.agent.v1.BundleService.InspectBundle",
       .summary = "show one bundle",
       .query = {{"reference", "NS/ID, ID or a digest", {}, true}},
       .write = shape::WriteBundleMetadata,
       .answer_schema = kMetadata},
      {.method = "POST",
       .path = "/bundles/export",
       .act = Act::kBytes,
       .rpc = "odyssey.agent.v1.BundleService.ExportBundle",
       .summary = "get a bundle's archive",
       .read = shape::ReadExportBundle,
       .request_schema = kExport,
       .answer_schema = kFile,
       .content_type = "application/octet-stream",
       .deadline_ms = kSlowMs},
      {.method = "POST",
       .path = "/bundles/import",
       .act = Act::kImport,
       .rpc = "odyssey.agent.v1.BundleService.ImportBundle",
       .summary = "install the archive that the body is",
       .query = {{"force", "true: replace what is installed with another digest", "options.force"},
                 {"expected_digest", "refuse an archive with another one",
                  "options.expected_digest"}},
       .write = shape::WriteImportedBundle,
       .request_schema = kFile,
       .answer_schema = kImported,
       .deadline_ms = kSlowMs},
      {.method = "DELETE",
       .path = "/bundles",
       .act = Act::kRemove,
       .rpc = "odyssey.agent.v1.BundleService.RemoveBundle",
       .summary = "remove an installed bundle",
       .query = {{"reference", "NS/ID, ID or a digest", {}, true}}},
      {.method = "POST",
       .path = "/bundles/publish",
       .act = Act::kElsewhere,
       .summary = "not served: odyssey-ctl bundle push publishes as the user of the keys",
       .request_schema = kNoBody},
      {.method = "POST",
       .path = "/bundles/pull",
       .act = Act::kElsewhere,
       .summary = "not served: odyssey-ctl bundle pull fetches and checks as the user",
       .request_schema = kNoBody},
      {.method = "GET",
       .path = "/sessions",
       .rpc = "odyssey.agent.v1.SessionService.ListSessions",
       .summary = "list sessions, the newest first",
       .write = shape::WriteSessions,
       .answer_schema = kSummaries},
      {.method = "POST",
       .path = "/sessions",
       .rpc = "odyssey.agent.v1.SessionService.CreateSession",
       .summary = "make a session of a bundle",
       .read = shape::ReadCreateSession,
       .write = shape::WriteSession,
       .request_schema = kCreate,
       .answer_schema = kSummary},
      {.method = "GET",
       .path = "/sessions/{session_id}",
       .act = Act::kSession,
       .rpc = "odyssey.agent.v1.SessionService.GetSession",
       .summary = "show a session with its messages",
       .answer_schema = kDetail},
      {.method = "DELETE",
       .path = "/sessions/{session_id}",
       .act = Act::kRemove,
       .rpc = "odyssey.agent.v1.SessionService.DeleteSession",
       .summary = "remove a session",
       .deadline_ms = kSlowMs},
      {.method = "GET",
       .path = "/sessions/{session_id}/info",
       .rpc = "odyssey.agent.v1.SessionService.GetSession",
       .summary = "show all of a session but its messages"},
      {.method = "POST",
       .path = "/sessions/{session_id}/run",
       .act = Act::kRun,
       .rpc = "odyssey.agent.v1.SessionService.SubmitTurn",
       .summary = "queue a turn",
       .read = shape::ReadRun,
       .request_schema = kRunBody,
       .answer_schema = kRun},
      {.method = "POST",
       .path = "/sessions/{session_id}/run-sync",
       .act = Act::kRunSync,
       .rpc = "odyssey.agent.v1.SessionService.SubmitTurn",
       .summary = "run a turn and wait for its end",
       .read = shape::ReadRun,
       .request_schema = kRunBody,
       .answer_schema = kRunSync},
      {.method = "GET",
       .path = "/sessions/{session_id}/events",
       .act = Act::kEvents,
       .rpc = "odyssey.agent.v1.SessionService.Subscribe",
       .summary = "follow a session's events",
       .query = {kAfter, {"follow", "false: end after the events that are recorded"}},
       .answer_schema = kEvent,
       .content_type = "text/event-stream",
       .deadline_ms = 0},
      {.method = "GET",
       .path = "/sessions/{session_id}/turns",
       .act = Act::kList,
       .rpc = "odyssey.agent.v1.SessionService.ListTurns",
       .summary = "list turns with their histories; a long one comes in parts of the same id",
       .query = {{"turn_id", "one turn alone"}}},
      {.method = "POST",
       .path = "/sessions/{session_id}/cancel",
       .rpc = "odyssey.agent.v1.SessionService.CancelTurn",
       .summary = "cancel the running turn, or one by its id",
       .deadline_ms = kSlowMs},
      {.method = "POST",
       .path = "/sessions/{session_id}/exec",
       .act = Act::kExec,
       .rpc = "odyssey.agent.v1.SessionService.SessionExec",
       .summary = "run a command in the session's cell",
       .request_schema = kExecBody,
       .answer_schema = kExecAnswer,
       .deadline_ms = 0},
      {.method = "GET",
       .path = "/sessions/{session_id}/file",
       .act = Act::kBytes,
       .rpc = "odyssey.agent.v1.SessionService.ReadFile",
       .summary = "read a file of the session's workspace",
       .query = {{"path", "relative to the workspace", {}, true},
                 {"offset", "the first byte"},
                 {"max_bytes", "200000 unless it says otherwise; at most 8 MiB"}},
       .answer_schema = kFile,
       .content_type = "application/octet-stream"},
      {.method = "GET",
       .path = "/sessions/{session_id}/export",
       .act = Act::kBytes,
       .rpc = "odyssey.agent.v1.SessionService.ExportSession",
       .summary = "get the session as a file of the original Odyssey",
       .answer_schema = kFile,
       .content_type = "application/octet-stream"},
      {.method = "POST",
       .path = "/sessions/import",
       .act = Act::kImport,
       .rpc = "odyssey.agent.v1.SessionService.ImportSession",
       .summary = "make a session of the session file that the body is",
       .query = {{"bundle", "pinned where the file's own reference is not installed"},
                 {"cwd", "as of POST /sessions"}},
       .request_schema = kFile,
       .deadline_ms = kSlowMs},
      {.method = "POST",
       .path = "/sessions/{session_id}/fork",
       .rpc = "odyssey.agent.v1.SessionService.ForkSession",
       .summary = "make a second session of the same state",
       .deadline_ms = kSlowMs},
      {.method = "POST",
       .path = "/sessions/{session_id}/compact",
       .rpc = "odyssey.agent.v1.SessionService.CompactSession",
       .summary = "remove events of turns that have ended"},
      {.method = "GET",
       .path = "/sessions/{session_id}/tools",
       .rpc = "odyssey.agent.v1.SessionService.ListTools",
       .summary = "list the tools that the agent is offered"},
      {.method = "GET",
       .path = "/sessions/{session_id}/jobs",
       .rpc = "odyssey.agent.v1.SessionService.ListJobs",
       .summary = "list background jobs"},
      {.method = "POST",
       .path = "/sessions/{session_id}/jobs/{job_id}/stop",
       .rpc = "odyssey.agent.v1.SessionService.StopJob",
       .summary = "stop a background job"},
      {.method = "DELETE",
       .path = "/sessions/{session_id}/grants/{grant_id}",
       .act = Act::kRemove,
       .rpc = "odyssey.agent.v1.SessionService.RevokeGrant",
       .summary = "end what an approval granted"},
      {.method = "GET",
       .path = "/sessions/{session_id}/allowed",
       .rpc = "odyssey.agent.v1.ApprovalService.ListAllowed",
       .summary = "list what \"always\" allows"},
      {.method = "POST",
       .path = "/sessions/{session_id}/allowed/forget",
       .rpc = "odyssey.agent.v1.ApprovalService.ForgetAllowed",
       .summary = "ask again about what \"always\" allows"},
      {.method = "GET",
       .path = "/sessions/{session_id}/changes",
       .act = Act::kList,
       .rpc = "odyssey.supervisor.v1.Changes.ListChanges",
       .summary = "list what waits for a commit; the last element has the counts and the digest",
       .query = {{"max_changes", "10000 unless it says less"}},
       .deadline_ms = kSlowMs},
      {.method = "GET",
       .path = "/sessions/{session_id}/diff",
       .act = Act::kBytes,
       .rpc = "odyssey.supervisor.v1.Changes.DiffChanges",
       .summary = "show what waits for a commit, as git diff does",
       .query = {{"max_bytes", "1 MiB unless it says otherwise; at most 16 MiB"}},
       .answer_schema = kText,
       .content_type = "text/plain; charset=utf-8",
       .deadline_ms = kSlowMs},
      {.method = "GET",
       .path = "/sessions/{session_id}/commits",
       .rpc = "odyssey.supervisor.v1.Changes.ListCommits",
       .summary = "list the commits that can be undone"},
      {.method = "POST",
       .path = "/sessions/{session_id}/commit",
       .rpc = "odyssey.supervisor.v1.Changes.CommitChanges",
       .summary = "put changes into the host's directories",
       .deadline_ms = kSlowMs},
      {.method = "POST",
       .path = "/sessions/{session_id}/undo",
       .rpc = "odyssey.supervisor.v1.Changes.UndoCommits",
       .summary = "take the newest commits back",
       .deadline_ms = kSlowMs},
      {.method = "POST",
       .path = "/sessions/{session_id}/discard",
       .rpc = "odyssey.supervisor.v1.Changes.DiscardChanges",
       .summary = "forget changes",
       .deadline_ms = kSlowMs},
      {.method = "GET",
       .path = "/sessions/{session_id}/policy",
       .rpc = "odyssey.agent.v1.CellService.ExplainPolicy",
       .summary =
           "show what the policy of the session's cell comes to, and answer one question about it",
       .query = {{"path", "does a command see this path of the host"},
                 {"destination", "does a command reach it: HOST or HOST:PORT"},
                 {"command", "what the agent's rules make of this command line"}}},
      {.method = "GET",
       .path = "/cells",
       .rpc = "odyssey.agent.v1.CellService.ListCells",
       .summary = "list live cells, with what they use and their limits"},
      {.method = "GET",
       .path = "/approvals",
       .rpc = "odyssey.agent.v1.ApprovalService.ListApprovals",
       .summary = "list pending requests for approval",
       .query = {{"session_id", "of one session alone"}}},
      {.method = "GET",
       .path = "/approvals/watch",
       .act = Act::kApprovals,
       .rpc = "odyssey.agent.v1.ApprovalService.WatchApprovals",
       .summary = "follow requests for approval: the pending ones, then new ones",
       .query = {{"session_id", "of one session alone"}},
       .answer_schema = kApprovalEvent,
       .content_type = "text/event-stream",
       .deadline_ms = 0},
      {.method = "POST",
       .path = "/approvals/{request_id}",
       .rpc = "odyssey.agent.v1.ApprovalService.ResolveApproval",
       .summary = "answer a request for approval",
       .read = shape::ReadApproval,
       .request_schema = kDecision,
       .answer_schema = kResolved},
      {.method = "GET",
       .path = "/tools",
       .rpc = "odyssey.agent.v1.SessionService.ListTools",
       .summary = "list every tool that a bundle may name"},
      {.method = "GET",
       .path = "/quota",
       .rpc = "odyssey.agent.v1.SessionService.GetQuota",
       .summary = "show what the user has in use, and the operator's bounds"},
      {.method = "GET",
       .path = "/status",
       .rpc = "odyssey.agent.v1.SessionService.GetInfo",
       .summary = "show what odyssey-agentd has in hand"},
      {.method = "GET",
       .path = "/metrics",
       .act = Act::kMetrics,
       .rpc = "odyssey.ops.v1.Metrics.GetMetrics",
       .summary = "metrics in Prometheus's text format, for operators",
       .answer_schema = kText,
       .content_type = "text/plain; version=0.0.4; charset=utf-8"},
      {.method = "GET",
       .path = "/healthz",
       .act = Act::kHealth,
       .summary = "whether odyssey-agentd serves",
       .answer_schema = kHealthAnswer,
       .is_open = true,
       .deadline_ms = 5'000},
      {.method = "GET",
       .path = "/openapi.json",
       .act = Act::kDocument,
       .summary = "this document",
       .answer_schema = kNoBody,
       .is_open = true},
      {.method = "GET",
       .path = "/",
       .act = Act::kConsole,
       .summary = "the web console, which a link of odyssey-ctl web opens",
       .answer_schema = kText,
       .content_type = "text/html; charset=utf-8",
       .is_open = true},
      {.method = "GET",
       .path = "/console/{name}",
       .act = Act::kConsole,
       .summary = "a file of the web console",
       .answer_schema = kText,
       .content_type = "text/plain; charset=utf-8",
       .is_open = true},
      {.method = "POST",
       .path = "/sign-in",
       .act = Act::kSignIn,
       .rpc = "odyssey.agent.v1.TokenService.ExchangeLink",
       .summary = "exchange the secret of a link for a cookie",
       .request_schema = kLinkBody,
       .answer_schema = kLinkAnswer,
       .is_open = true},
      {.method = "POST",
       .path = "/sign-out",
       .act = Act::kSignOut,
       .summary = "revoke the token, and remove the cookie",
       .request_schema = kNoBody}};
  AddMcp(&routes);
  return routes;
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
  static const Descriptor* const kLinked[] = {agent::v1::Approval::descriptor(),
                                              agent::v1::Bundle::descriptor(),
                                              agent::v1::Cell::descriptor(),

                                              agent::v1::Session::descriptor(),
                                              agent::v1::Token::descriptor(),
                                              ops::v1::GetMetricsResponse::descriptor(),
                                              supervisor::v1::Change::descriptor()};
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
