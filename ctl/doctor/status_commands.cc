// status, version, doctor.
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "common/os/unique_fd.h"
#include "common/rpc/call_status.h"
#include "common/rpc/peer_refusal.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"
#include "ctl/client/http_address.h"
#include "ctl/doctor/host_checks.h"
#include "ctl/doctor/probe_command.h"
#include "ctl/doctor/weaknesses.h"
#include "odyssey/agent/v1/session.stub.h"
#include "odyssey/supervisor/v1/changes.stub.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

constexpr char kVersion[] = ODYSSEY_VERSION;
constexpr char kEgressFeature[] = "egress";  // of the supervisor's GetInfo

// A daemon's answer, or why there is none.
template <typename Response>
struct Answer {
  bool reachable = false;
  Response info;
  Code code = Code::kOk;
  std::string why, next;  // and what to do
};

template <typename Stub, typename Request, typename Response>
Answer<Response> Ask(Daemon daemon, const Locations& locations) {
  const std::string& socket =
      daemon == Daemon::kAgentd ? locations.agentd_socket : locations.supervisor_socket;
  Answer<Response> answer;
  const Result<Client> client = Client::Connect(daemon, locations);
  if (!client.ok()) {
    const Failure failure = ExplainConnect("", client.status());
    answer.code = client.status().code();
    answer.why = failure.why;
    answer.next = failure.next;
    return answer;
  }
  const Stub stub(client->channel());
  const Status status = stub.GetInfo({kQuickCallMs}, Request(), &answer.info);
  answer.reachable = status.ok();
  if (!status.ok()) {
    const Failure failure = client->Explain("", status);
    // A connection that is accepted and then closed: of a uid that is not served, or of an end.
    const bool refused =
        status.detail().hint == rpc::kHintConnectionLost && !rpc::AskWhetherRefused(socket).empty();
    answer.code = refused ? Code::kUnauthenticated : status.code();
    answer.why = failure.why;
    answer.next = failure.next;
  }
  return answer;
}

using SupervisorAnswer = Answer<supervisor::v1::GetInfoResponse>;
using AgentdAnswer = Answer<agent::v1::GetInfoResponse>;

SupervisorAnswer AskSupervisor(const Locations& locations) {
  return Ask<supervisor::v1::SupervisorStub, supervisor::v1::GetInfoRequest,
             supervisor::v1::GetInfoResponse>(Daemon::kSupervisor, locations);
}

AgentdAnswer AskAgentd(const Locations& locations) {
  return Ask<agent::v1::SessionServiceStub, agent::v1::GetInfoRequest, agent::v1::GetInfoResponse>(
      Daemon::kAgentd, locations);
}

template <typename Response>
Json AnswerToJson(const Answer<Response>& answer, const std::string& socket) {
  Json out = {{"reachable", answer.reachable}, {"socket", socket}};
  if (answer.reachable) {
    out["info"] = message::ToJson(answer.info);
  } else {
    out["why"] = answer.why;
  }
  return out;
}

void PrintDaemon(const Console& console, const std::string& name, bool reachable,
                 const std::string& text) {
  const std::string mark = reachable ? Paint("✓", Style::kGood, console.color_out)
                                     : Paint("✗", Style::kBad, console.color_out);
  console.PrintLine(mark + " " + name + "  " + Sanitize(text, Lines::kOne));
}

// odyssey-egress, as the supervisor finds it: its sockets are for the supervisor, and for users.
struct EgressAnswer {
  bool reachable = false;
  std::string detail;
};

EgressAnswer EgressOf(const SupervisorAnswer& supervisor) {
  for (const auto& feature : supervisor.info.features()) {
    if (feature.name() == kEgressFeature) return {feature.in_force(), feature.detail()};
  }
  return {false, supervisor.reachable ? "the supervisor does not say"
                                      : "not known: the supervisor does not answer"};
}

std::string Describe(const SupervisorAnswer& answer) {
  if (!answer.reachable) return answer.why;
  std::string missing;
  const size_t weaker = WeaknessesIn(answer.info).size();
  for (const auto& feature : answer.info.features()) {
    if (feature.name() == kEgressFeature || IsWeakness(feature)) continue;  // with own lines
    const Check check = CheckFeature(feature.name(), feature.in_force(), feature.detail());
    if (check.verdict == Verdict::kGood) continue;
    missing += (missing.empty() ? "" : ", ") + feature.name();
  }
  return answer.info.version() + ", " + std::to_string(answer.info.live_cells()) + " of at most " +
         std::to_string(answer.info.max_cells()) + " cells, " +
         (missing.empty() ? "every feature in force" : "NOT in force: " + missing) +
         (weaker == 0 ? "" : ", " + std::to_string(weaker) + " weaker without root");
}

std::string Describe(const AgentdAnswer& answer) {
  if (!answer.reachable) return answer.why;
  std::string out = answer.info.version() + ", " + std::to_string(answer.info.sessions()) +
                    " sessions, " + std::to_string(answer.info.running_turns()) +
                    " turns running, " + std::to_string(answer.info.pending_approvals()) +
                    " approvals pending";
  if (answer.info.draining()) out += "; draining: it accepts no turns, and stops";
  if (!answer.info.supervisor_reachable()) out += "; it cannot reach the supervisor";
  return out;
}

// Cells whose writes wait for a commit; 0 also if that cannot be told.
int CountReviewed(const Locations& locations) {
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, locations);
  if (!client.ok()) return 0;
  supervisor::v1::ListReviewedResponse response;
  const supervisor::v1::ChangesStub stub(client->channel());
  const bool listed = stub.ListReviewed({kQuickCallMs}, {}, &response).ok();
  return listed ? response.cells_size() : 0;
}

// odyssey-http, where it has said that it serves.
struct HttpAnswer {
  bool reachable = false;
  std::string detail;
};

std::optional<HttpAnswer> AskHttp(const Locations& locations) {
  const Result<std::string> address = FindHttpAddress(locations);
  if (!address.ok()) return std::nullopt;
  const Status status = ReachHttp(*address);
  return HttpAnswer{status.ok(), status.ok() ? "http://" + *address : status.message()};
}

int StatusCommand(const Invocation& call) {
  const Console& console = *call.console;
  const SupervisorAnswer supervisor = AskSupervisor(call.locations);
  const AgentdAnswer agentd = AskAgentd(call.locations);
  const EgressAnswer egress = EgressOf(supervisor);
  const std::optional<HttpAnswer> http = AskHttp(call.locations);
  const int reviewed = supervisor.reachable ? CountReviewed(call.locations) : 0;
  if (console.json) {
    Json out = {{"state", call.locations.state},
                {"reviewed_cells", reviewed},
                {"supervisor", AnswerToJson(supervisor, call.locations.supervisor_socket)},
                {"agentd", AnswerToJson(agentd, call.locations.agentd_socket)},
                {"egress", {{"reachable", egress.reachable}, {"detail", egress.detail}}}};
    if (http) out["http"] = {{"reachable", http->reachable}, {"detail", http->detail}};
    console.PrintJson(out);
  } else {
    PrintDaemon(console, "odyssey-supervisor", supervisor.reachable, Describe(supervisor));
    PrintDaemon(console, "odyssey-agentd    ", agentd.reachable, Describe(agentd));
    PrintDaemon(console, "odyssey-egress    ", egress.reachable, egress.detail);
    if (http) PrintDaemon(console, "odyssey-http      ", http->reachable, http->detail);
    for (const auto& feature : supervisor.info.features()) {
      if (!IsWeakness(feature)) continue;
      console.PrintLine("  weaker without root: " + Sanitize(NameOfWeakness(feature), Lines::kOne) +
                        ": " + Sanitize(feature.detail(), Lines::kOne));
    }
    if (reviewed > 0) {
      console.PrintLine("  writes are reviewed in " + std::to_string(reviewed) +
                        (reviewed == 1 ? " cell" : " cells") + "; odyssey-ctl changes lists them");
    }
  }
  const bool http_serves = !http || http->reachable;
  if (supervisor.reachable && agentd.reachable && egress.reachable && http_serves) return kExitOk;
  if (!console.json) {
    const std::string& next = supervisor.reachable ? agentd.next : supervisor.next;
    if (!next.empty()) console.Warn(next);
  }
  return kExitFailed;
}

int VersionCommand(const Invocation& call) {
  const Console& console = *call.console;
  const SupervisorAnswer supervisor = AskSupervisor(call.locations);
  const AgentdAnswer agentd = AskAgentd(call.locations);
  if (console.json) {
    Json out = {{"odyssey-ctl", kVersion}};
    if (supervisor.reachable) out["odyssey-supervisor"] = supervisor.info.version();
    if (agentd.reachable) out["odyssey-agentd"] = agentd.info.version();
    console.PrintJson(out);
    return kExitOk;
  }
  console.PrintLine(std::string("odyssey-ctl ") + kVersion);
  if (supervisor.reachable) {
    console.PrintLine("odyssey-supervisor " + Sanitize(supervisor.info.version(), Lines::kOne));
  }
  if (agentd.reachable) {
    console.PrintLine("odyssey-agentd " + Sanitize(agentd.info.version(), Lines::kOne));
  }
  return kExitOk;
}

bool IsOfUnits(const Locations& locations) {
  return locations.supervisor_socket == "/run/odyssey/supervisor.sock";
}

std::string StartCommand(const Locations& locations) {
  return IsOfUnits(locations) ? "systemctl restart odyssey-egress odyssey-supervisor odyssey-agentd"
                              : "odyssey-ctl --state " + locations.state + " up --detach";
}

// Of a socket that is closed to us, of one whose daemon does not serve our uid, and of none.
std::string ReachCommand(Code code, const std::string& socket, const Locations& locations) {
  const std::string directory = socket.substr(0, socket.rfind('/'));
  if (code == Code::kPermissionDenied) {
    return access(directory.c_str(), X_OK) == 0 ? "chmod 666 " + socket : "chmod o+x " + directory;
  }
  if (code == Code::kUnauthenticated) {
    return IsOfUnits(locations)
               ? "systemctl edit odyssey-agentd"
               : "odyssey-ctl --state " + locations.state + " down; " + StartCommand(locations) +
                     " --allow-user " + std::to_string(getuid());
  }
  return StartCommand(locations);
}

// For cells with a way out.
Check CheckEgress(const EgressAnswer& answer, const Locations& locations) {
  if (answer.reachable) return {"egress", Verdict::kGood, answer.detail, "", ""};
  return {"egress", Verdict::kWarning, answer.detail,
          "odyssey-egress does not serve: cells with a network of named destinations are refused",
          IsOfUnits(locations)
              ? "systemctl restart odyssey-egress"
              : "odyssey-ctl --state " + locations.state + " down; " + StartCommand(locations)};
}

std::vector<Check> CheckDaemons(const Locations& locations) {
  std::vector<Check> checks;
  const SupervisorAnswer supervisor = AskSupervisor(locations);
  const AgentdAnswer agentd = AskAgentd(locations);
  const auto add = [&](const char* name, const auto& answer, const std::string& socket) {
    checks.push_back({name, answer.reachable ? Verdict::kGood : Verdict::kMissing, Describe(answer),
                      answer.next,
                      answer.reachable ? "" : ReachCommand(answer.code, socket, locations)});
  };
  add("supervisor", supervisor, locations.supervisor_socket);
  add("agentd", agentd, locations.agentd_socket);
  if (supervisor.reachable) checks.push_back(CheckEgress(EgressOf(supervisor), locations));
  for (const std::string& path : agentd.info.quarantined()) {
    if (path.ends_with(".json")) {
      checks.push_back({"session file", Verdict::kWarning, path + " is not imported",
                        "import it, then remove it", "odyssey-ctl session import " + path});
      continue;
    }
    const bool bundle = path.find("/bundles/") != std::string::npos;
    checks.push_back({bundle ? "bundle" : "session file", Verdict::kWarning,
                      path + " could not be read",
                      bundle ? "install the bundle again with --force"
                             : "look at it, then remove it; docs/SESSIONS.md says what it was",
                      bundle ? "" : "rm -i -- " + path});
  }
  for (const auto& feature : supervisor.info.features()) {
    if (feature.name() == kEgressFeature) continue;
    checks.push_back(CheckFeature(feature.name(), feature.in_force(), feature.detail()));
  }
  return checks;
}

void PrintCheck(const Console& console, const Check& check) {
  const Style style = check.verdict == Verdict::kGood      ? Style::kGood
                      : check.verdict == Verdict::kWarning ? Style::kWarn
                                                           : Style::kBad;
  const char* mark = check.verdict == Verdict::kGood      ? "✓"
                     : check.verdict == Verdict::kWarning ? "!"
                                                          : "✗";
  std::string name = Sanitize(check.name, Lines::kOne);
  name.resize(std::max<size_t>(name.size(), 30), ' ');
  console.PrintLine(Paint(mark, style, console.color_out) + " " + name + " " +
                    Sanitize(check.detail, Lines::kOne));
  if (!check.advice.empty()) console.PrintLine("    → " + Sanitize(check.advice, Lines::kOne));
  if (!check.mend.empty()) console.PrintLine("    $ " + Sanitize(check.mend, Lines::kOne));
}

int DoctorCommand(const Invocation& call) {
  const Console& console = *call.console;
  if (call.options.Has("probe")) return ProbeCommand(call);
  if (call.options.Has("image")) {
    (void)console.Fail({"doctor", "--image: only with --probe", ""});
    return kExitUsage;
  }
  std::vector<Check> checks = CheckHost(call.locations);
  for (Check& check : CheckDaemons(call.locations)) checks.push_back(std::move(check));

  bool healthy = true;
  Json list = Json::array();
  for (const Check& check : checks) {
    healthy = healthy && check.verdict != Verdict::kMissing;
    list.push_back({{"name", check.name},
                    {"verdict", VerdictName(check.verdict)},
                    {"detail", check.detail},
                    {"advice", check.advice},
                    {"mend", check.mend}});
    if (!console.json) PrintCheck(console, check);
  }
  if (console.json) console.PrintJson({{"healthy", healthy}, {"checks", list}});
  return healthy ? kExitOk : kExitFailed;
}

}  // namespace

std::vector<Command> StatusCommands() {
  return {
      {.name = "status",
       .summary = "show whether each daemon answers, and their sessions and cells",
       .notes = "Exits 1 if one of them does not answer.",
       .run = StatusCommand},
      {.name = "version",
       .summary = "print the versions of this program and the daemons",
       .run = VersionCommand},
      {.name = "doctor",
       .summary = "check what this host offers and lacks, with what to do about it",
       .options = {{.name = "probe",
                    .help = "try real attacks, and real work, in cells of every mode instead"},
                   {.name = "image",
                    .kind = ValueKind::kText,
                    .value_name = "NAME",
                    .help = "with --probe: in cells whose root is this image"},
                   {.name = "verbose",
                    .letter = 'v',
                    .help = "with --probe: every probe, not only what failed"}},
       .notes =
           "Exits 1 if something is missing that Odyssey needs. With --probe, exits 0 only if "
           "nothing escaped\nand nothing broke; takes the supervisor that runs, or starts one "
           "for it. Without root it tries\nwhat needs none, and what `status` lists as weaker is "
           "no failure.",
       .run = DoctorCommand},
  };
}

}  // namespace odyssey::ctl
