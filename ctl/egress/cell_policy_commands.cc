// policy set|get|list|rollback: of a live cell's network.
#include <string>
#include <vector>

#include "common/base/join.h"
#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/cell/cell_name.h"
#include "ctl/client/client.h"
#include "ctl/policy/policy_file.h"
#include "odyssey/supervisor/v1/egress.stub.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/convert/egress_proto.h"
#include "policy/egress/policy_text.h"

namespace odyssey::ctl {
namespace {

namespace sup = ::odyssey::supervisor::v1;

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

struct FoundCell {
  const Client& client;
  const sup::EgressStub& stub;
  std::string id;
};

// With the cell that the first word means.
template <typename Body>
int WithCell(const Invocation& call, const std::string& what, Body body) {
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return call.console->Fail(ExplainConnect(what, client.status()));
  const sup::SupervisorStub cells(client->channel());
  const sup::EgressStub stub(client->channel());
  FoundCell cell = {*client, stub, ""};
  Status status = FindCell(cells, call.options.Word(0), &cell.id);
  if (status.ok()) status = body(cell);
  return status.ok() ? kExitOk : call.console->Fail(client->Explain(what, status));
}

std::string StateText(sup::EgressRevisionState state) {
  return state == sup::EGRESS_REVISION_STATE_LOADED    ? "loaded"
         : state == sup::EGRESS_REVISION_STATE_PENDING ? "pending"
                                                       : "superseded";
}

std::string SourceText(const sup::EgressRevision& revision) {
  if (revision.repeats() == 0) return Safe(revision.source());
  return Safe(revision.source()) + " to " + std::to_string(revision.repeats());
}

void PrintSet(const Console& console, const sup::EgressRevision& revision, bool changed) {
  if (console.json) {
    Json out = message::ToJson(revision);
    out["changed"] = changed;
    return console.PrintJson(out);
  }
  console.PrintLine("revision " + std::to_string(revision.revision()) +
                    (changed ? " is in force" : " was in force already, with the same policy"));
}

// What the file says of anything but the network, which a cell that runs keeps: its keys.
std::vector<std::string> FixedParts(const dialect::Policy& policy) {
  const policy::SandboxRequest& asked = policy.request;
  const policy::SandboxRequest none;
  const std::pair<const char*, bool> parts[] = {{"mounts", !asked.mounts.empty()},
                                                {"workspace", !asked.workspace.empty()},
                                                {"executables", !asked.executables.empty()},
                                                {"env", !asked.env.empty()},
                                                {"limits", asked.limits != none.limits},
                                                {"deny", !asked.deny.empty()},
                                                {"protect", !asked.protect.empty()},
                                                {"landlock", asked.landlock != none.landlock},
                                                {"user", asked.user != none.user}};
  std::vector<std::string> keys;
  for (const auto& [field, given] : parts) {
    if (!given) continue;
    const dialect::Place* place = policy.origins.Find(field);
    if (place == nullptr) place = policy.origins.Find(std::string(field) + "[0]");
    keys.push_back(place == nullptr ? field : place->key);
  }
  return keys;
}

Result<policy::v1::EgressPolicy> ReadEndpoints(const Invocation& call, const std::string& file) {
  const auto no_environment = [](const std::string&) { return std::optional<std::string>(); };
  dialect::Problems problems;
  const Result<dialect::Policy> read =
      ReadPolicy(file, MakePolicyContext(".", no_environment), &problems);
  if (!read.ok()) return read.status();
  const std::vector<std::string> fixed = FixedParts(*read);
  if (!fixed.empty() && !call.options.Has("network-only")) {
    return Status(Code::kInvalidArgument,
                  file + ": " + Join(fixed, ", ") +
                      ": a cell that runs keeps its files, programs and limits; leave it out, or "
                      "change the network alone with --network-only");
  }
  PrintWarnings(*call.console, read->warnings);
  return policy::ToProto(read->request.egress);
}

int Set(const Invocation& call) {
  return WithCell(
      call, "set the policy of cell " + call.options.Word(0), [&](const FoundCell& cell) -> Status {
        sup::SetEgressPolicyRequest request;
        ODY_ASSIGN_OR_RETURN(*request.mutable_policy(), ReadEndpoints(call, call.options.Word(1)));
        request.set_cell_id(cell.id);
        if (call.options.Has("expect")) {
          request.set_expected_revision(call.options.Number("expect"));
        }
        sup::SetEgressPolicyResponse response;
        ODY_RETURN_IF_ERROR(cell.stub.SetEgressPolicy({kQuickCallMs}, request, &response));
        PrintSet(*call.console, response.revision(), response.changed());
        return OkStatus();
      });
}

int RollBack(const Invocation& call) {
  return WithCell(
      call, "roll back the policy of cell " + call.options.Word(0),
      [&](const FoundCell& cell) -> Status {
        sup::RollBackEgressPolicyRequest request;
        request.set_cell_id(cell.id);
        if (call.options.Has("revision")) {
          request.set_revision(call.options.Number("revision"));
        }
        sup::RollBackEgressPolicyResponse response;
        ODY_RETURN_IF_ERROR(cell.stub.RollBackEgressPolicy({kQuickCallMs}, request, &response));
        PrintSet(*call.console, response.revision(), /*changed=*/true);
        return OkStatus();
      });
}

Result<sup::GetEgressPolicyResponse> Fetch(const FoundCell& cell, uint64_t revision) {
  sup::GetEgressPolicyRequest request;
  request.set_cell_id(cell.id);
  request.set_revision(revision);
  sup::GetEgressPolicyResponse response;
  ODY_RETURN_IF_ERROR(cell.stub.GetEgressPolicy({kQuickCallMs}, request, &response));
  return response;
}

int Get(const Invocation& call) {
  const Console& console = *call.console;
  return WithCell(
      call, "get the policy of cell " + call.options.Word(0), [&](const FoundCell& cell) -> Status {
        const uint64_t revision =
            call.options.Has("revision") ? call.options.Number("revision") : 0;
        ODY_ASSIGN_OR_RETURN(const sup::GetEgressPolicyResponse got, Fetch(cell, revision));
        if (console.json) {
          console.PrintJson(message::ToJson(got));
          return OkStatus();
        }
        egress::NetworkPolicy policy;
        ODY_RETURN_IF_ERROR(policy::FromProto(got.policy(), &policy, "policy"));
        console.Print(Sanitize(egress::PolicyText(policy), Lines::kMany));
        return OkStatus();
      });
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  return WithCell(
      call, "list the policies of cell " + call.options.Word(0),
      [&](const FoundCell& cell) -> Status {
        sup::ListEgressPoliciesRequest request;
        request.set_cell_id(cell.id);
        sup::ListEgressPoliciesResponse response;
        ODY_RETURN_IF_ERROR(cell.stub.ListEgressPolicies({kQuickCallMs}, request, &response));
        if (console.json) {
          console.PrintJson(message::ToJson(response));
          return OkStatus();
        }
        std::vector<std::vector<std::string>> rows;
        for (const sup::EgressRevision& revision : response.revisions()) {
          rows.push_back({std::to_string(revision.revision()), StateText(revision.state()),
                          Safe(revision.created_at()), SourceText(revision),
                          std::to_string(revision.by_uid()),
                          Safe(revision.digest().substr(0, 12))});
        }
        console.Print(FormatTable({"REVISION", "STATE", "CREATED", "BY", "UID", "DIGEST"}, rows));
        return OkStatus();
      });
}

}  // namespace

std::vector<Command> CellPolicyCommands() {
  const PositionalSpec cell = {.name = "CELL"};  // its id, or what exec --cell called it
  const OptionSpec revision = {.name = "revision",
                               .kind = ValueKind::kNumber,
                               .value_name = "N",
                               .help = "this one",
                               .max = UINT32_MAX};
  return {
      {.name = "policy set",
       .summary = "change the network policy of a live cell",
       .positionals = {cell, {.name = "FILE", .kind = ValueKind::kFile}},
       .options = {{.name = "expect",
                    .kind = ValueKind::kNumber,
                    .value_name = "N",
                    .help = "only if this revision is in force",
                    .max = UINT32_MAX},
                   {.name = "network-only", .help = "leave aside what FILE says of anything else"}},
       .notes = "In force when the command returns: connections that the new policy refuses are "
                "reset, and no others.\nA policy that does not load changes nothing.",
       .run = Set},
      {.name = "policy get",
       .summary = "print the network policy of a live cell",
       .positionals = {cell},
       .options = {revision},
       .run = Get},
      {.name = "policy list",
       .summary = "list the network policies that a live cell has had",
       .positionals = {cell},
       .run = List},
      {.name = "policy rollback",
       .summary = "put an earlier network policy of a live cell in force",
       .positionals = {cell},
       .options = {revision},
       .notes = "Without --revision: the one before that in force.",
       .run = RollBack}};
}

}  // namespace odyssey::ctl
