#include "ctl/policy/policy_asker.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "common/base/refusal.h"
#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"
#include "ctl/client/message_text.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/answer/answer_proto.h"
#include "policy/dialect/ceiling_directory.h"
#include "policy/executables/configuration.h"
#include "policy/host/host_facts.h"

namespace odyssey::ctl {
namespace {

using answer::Answer;
using answer::Question;
using answer::Verdict;

Answer Invalid(const Status& refusal) {
  Answer out;
  out.verdict = Verdict::kInvalid;
  out.reason = refusal.message();
  out.refusal = refusal;
  return out;
}

// No supervisor answered: there is none, it does not serve this user, or it has no such call.
bool IsUnanswered(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kUnimplemented ||
         status.code() == Code::kDeadlineExceeded;
}

}  // namespace

std::vector<OptionSpec> PolicyAsker::Options() {
  return {{.name = "ceiling",
           .kind = ValueKind::kDirectory,
           .value_name = "DIR",
           .help = "the operator's ceiling (default: that of the daemons)"},
          {.name = "user",
           .kind = ValueKind::kText,
           .value_name = "USER",
           .help = "for whom, a name or a uid (default: you)"}};
}

Result<PolicyAsker> PolicyAsker::FromOptions(const ParsedOptions& options,
                                             const Locations& locations) {
  ceiling::Owner owner = dialect::OwnerOf(getuid());
  if (options.Has("user")) {
    ODY_ASSIGN_OR_RETURN(owner, dialect::FindOwner("--user", options.Text("user")));
  }
  PolicyAsker out(std::move(owner), locations);
  out.ceiling_ = options.Text("ceiling");
  if (!out.ceiling_.empty() && access(out.ceiling_.c_str(), F_OK) != 0) {
    return NotFound("--ceiling " + out.ceiling_ + ": no such directory");
  }
  return out;
}

PolicyAsker::PolicyAsker(ceiling::Owner owner, const Locations& locations)
    : owner_(std::move(owner)), locations_(locations) {}

// UNAVAILABLE: no supervisor answered.
Result<Answer> PolicyAsker::AskSupervisor(const Question* question, AnsweredBy* by) const {
  supervisor::v1::CheckPolicyRequest request;
  if (question != nullptr) request = answer::ToProto(*question, owner_.uid);
  const Status text = CheckText(request);
  if (!text.ok()) return Invalid(text);
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, locations_);
  if (!client.ok()) {
    by->why = client.status().message();
    return Unavailable(by->why);
  }
  supervisor::v1::CheckPolicyResponse response;
  const Status status = supervisor::v1::SupervisorStub(client->channel())
                            .CheckPolicy({kQuickCallMs}, request, &response);
  if (IsUnanswered(status)) {
    const Failure failure = client->Explain("", status);
    by->why = failure.why + (failure.next.empty() ? "" : ": " + failure.next);
    return Unavailable(by->why);
  }
  by->supervisor = locations_.supervisor_socket;
  if (status.ok()) return answer::FromProto(response);
  if (status.code() == Code::kInvalidArgument) return Invalid(status);
  return status;
}

Result<Answer> PolicyAsker::AnswerHere(const Question* question) const {
  answer::Under under;
  under.directory = ceiling_.empty() ? locations_.policy_directory : ceiling_;
  ODY_ASSIGN_OR_RETURN(under.ceiling, dialect::LoadCeiling(under.directory));
  compile::HostFacts facts = host::ReadHostFacts(
      {.own_directories = {locations_.state, "/var/lib/odyssey", "/run/odyssey", "/etc/odyssey"},
       .bundle_store = locations_.bundle_store});
  under.asker = {owner_, facts.check};
  if (question == nullptr) {
    Answer out;
    out.ceiling = answer::DescribeCeiling(under.directory, under.ceiling);
    return out;
  }
  const auto linked = executables::FindConfiguration();
  facts.system.insert(facts.system.end(), linked.begin(), linked.end());
  executables::Finder finder;
  return answer::Decide(*question, under, {facts, &finder, host::ReadLinkOfHost});
}

Result<Answer> PolicyAsker::AskOf(const Question* question, AnsweredBy* by) const {
  *by = {};
  if (ceiling_.empty()) {
    Result<Answer> asked = AskSupervisor(question, by);
    if (asked.status().code() != Code::kUnavailable) return asked;
  } else {
    by->why = "--ceiling names another ceiling than a supervisor's";
  }
  return AnswerHere(question);
}

Result<Answer> PolicyAsker::Ask(const Question& question, AnsweredBy* by) const {
  if (!policy::IsDanger(question.request) || owner_.uid != 0) return AskOf(&question, by);
  ODY_ASSIGN_OR_RETURN(Answer out, AskOf(nullptr, by));
  out.refusal = Refused(Code::kPermissionDenied, "mode", "danger_full_access",
                        "Host uid 0 never runs a command, whatever the flags: name the user, with "
                        "--owner of exec or --user of policy explain");
  out.verdict = Verdict::kDeny;
  out.rule = answer::kByCeiling;
  out.reason = out.refusal.message();
  return out;
}

Result<answer::CeilingText> PolicyAsker::AskCeiling(AnsweredBy* by) const {
  ODY_ASSIGN_OR_RETURN(const Answer out, AskOf(nullptr, by));
  return out.ceiling;
}

void PrintAnsweredBy(const Console& console, const AnsweredBy& by) {
  const std::string line =
      by.supervisor.empty() ? "answered from this machine's facts, without a supervisor: " + by.why
                            : "answered by the supervisor at " + by.supervisor;
  console.PrintLine(Sanitize(line, Lines::kOne));
}

Json AnsweredByAsJson(const AnsweredBy& by) {
  return {{"supervisor", by.supervisor}, {"why", by.why}};
}

}  // namespace odyssey::ctl
