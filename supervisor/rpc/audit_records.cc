#include "supervisor/rpc/audit_records.h"

#include <unistd.h>

#include "common/message/enum_name.h"
#include "supervisor/rpc/file_op_proto.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {
namespace {

using audit::Record;

int64_t Int(uint64_t value) { return static_cast<int64_t>(value); }

void AddKey(const CellKey& key, Record* out) {
  out->Text("session_id", key.session_id).Text("agent_id", key.agent_id);
  out->Text("kind", key.kind).Text("component", key.component);
}

}  // namespace

Record StartRecord(std::string_view version) {
  return Record("start").Text("version", version).Number("pid", getpid()).Number("uid", getuid());
}

Record StopRecord(const std::string& reason) { return Record("stop").Text("reason", reason); }

Record PolicyRecord(std::string_view of, const std::string& digest,
                    const std::vector<std::string>& lines) {
  return Record("policy").Text("of", of).Text("digest", digest).Texts("lines", lines);
}

Record PrepareRecord(const CellFacts& cell, const PrepareSpec& spec, bool created) {
  Record record("prepare");
  record.Text("cell_id", cell.id);
  AddKey(cell.key, &record);
  record.Number("owner_uid", spec.owner_uid).Number("host_uid", cell.host_uid);
  record.Number("revision", cell.revision).Flag("created", created);
  if (created && cell.made_ahead) record.Flag("ahead", true);
  record.Text("policy_digest", cell.compiled.digest).Text("bundle_digest", spec.bundle_digest);
  if (!spec.granted_by.empty()) record.Texts("granted_by", spec.granted_by);
  return record.Text("workspace", spec.sandbox.workspace);
}

Record AheadRecord(const CellFacts& cell) {
  Record record("ahead");
  record.Text("cell_id", cell.id).Number("owner_uid", cell.admission.owner.uid);
  if (cell.host_uid != 0)
    record.Number("host_uid", cell.host_uid);  // else the claim's record has it
  return record.Text("policy_digest", cell.compiled.digest);
}

Record GrantRecord(const std::string& what, const CellKey& key, uint32_t owner_uid) {
  Record record("grant");
  record.Text("what", what).Number("owner_uid", owner_uid);
  AddKey(key, &record);
  return record;
}

Record CellChangeRecord(const std::string& cell_id, const CellKey& key, v1::CellChange change,
                        const std::string& reason, uint32_t by_uid) {
  Record record("cell_change");
  record.Text("cell_id", cell_id).Text("change", message::EnumName(change));
  AddKey(key, &record);
  return record.Text("reason", reason).Number("by_uid", by_uid);
}

Record RemoveRecord(const std::string& cell_id, bool purge) {
  return Record("remove").Text("cell_id", cell_id).Flag("purge", purge);
}

Record CellEndRecord(const std::string& cell_id, const std::string& reason) {
  return Record("cell_end").Text("cell_id", cell_id).Text("reason", reason);
}

Record ExecRecord(const std::string& cell_id, uint32_t owner_uid, const ExecOptions& options) {
  Record record("exec");
  record.Text("exec_id", options.exec_id).Text("cell_id", cell_id).Number("owner_uid", owner_uid);
  if (options.spec.port != 0) return record.Number("port", options.spec.port);
  return record.Texts("argv", options.spec.argv)
      .Text("cwd", options.spec.cwd)
      .Text("run_id", cell::RunName(options.spec.run))
      .Flag("terminal", options.spec.terminal);
}

Record ExecEndRecord(const std::string& cell_id, const ExecOptions& options,
                     const Outcome& outcome) {
  Record record("exec_end");
  record.Text("exec_id", options.exec_id).Text("cell_id", cell_id);
  record.Text("outcome", message::EnumName(outcome.sent.kind()));
  if (outcome.sent.kind() == v1::OUTCOME_KIND_EXITED)
    record.Number("exit_code", outcome.sent.exit_code());
  if (outcome.sent.kind() == v1::OUTCOME_KIND_SIGNALLED)
    record.Number("signal", outcome.sent.signal());
  if (!outcome.sent.message().empty()) record.Text("message", outcome.sent.message());
  record.Number("duration_usec", Int(outcome.sent.duration_usec()));
  record.Number("cpu_usec", Int(outcome.sent.user_usec() + outcome.sent.system_usec()));
  record.Number("stdout_bytes", Int(outcome.sent.stdout_bytes()));
  record.Number("stderr_bytes", Int(outcome.sent.stderr_bytes()));
  return record.Number("denials", outcome.sent.denials());
}

Record FileRecord(const std::string& cell_id, const tool::Request& request,
                  const tool::Response& response) {
  Record record("file");
  record.Text("cell_id", cell_id).Text("op", tool::FindClientOp(request.op)->name);
  record.Text("path", request.path);
  if (response.code != Code::kOk) {
    return record.Text("code", CodeName(response.code)).Text("error", response.error);
  }
  v1::FileOpResponse answer;
  ToProto(request.op, response, &answer);
  for (const FileOpFigure& figure : FiguresOf(answer)) {
    if (figure.is_flag) {
      record.Flag(figure.name, figure.value != 0);
    } else {
      record.Number(figure.name, Int(figure.value));
    }
  }
  return record;
}

Record InjectRecord(const std::string& cell_id, const std::string& run_id,
                    const std::string& directory, uint32_t files, uint64_t bytes) {
  Record record("inject");
  record.Text("cell_id", cell_id);
  directory.empty() ? record.Text("run_id", run_id) : record.Text("directory", directory);
  return record.Number("files", files).Number("bytes", Int(bytes));
}

Record ChangesRecord(std::string_view what, const CellKey& key, uint32_t owner_uid,
                     const std::vector<std::string>& directories, uint64_t paths,
                     uint64_t refused) {
  Record record("changes");
  record.Text("what", what).Number("owner_uid", owner_uid);
  AddKey(key, &record);
  record.Texts("directories", directories);
  return record.Number("paths", Int(paths)).Number("refused", Int(refused));
}

Record ImageRecord(std::string_view what, uint32_t owner_uid, const std::string& name,
                   const v1::ImageInfo& image) {
  Record record("image");
  record.Text("what", what).Number("owner_uid", owner_uid).Text("name", name);
  record.Text("digest", image.digest());
  record.Texts("names", {image.names().begin(), image.names().end()});
  uint64_t bytes = 0;
  for (const v1::ImageLayer& layer : image.layers()) bytes += layer.unpacked_bytes();
  record.Number("layers", image.layers_size()).Number("bytes", Int(bytes));
  if (!image.signed_by().empty()) record.Text("signed_by", image.signed_by());
  return record;
}

Record ApprovalRecord(const v1::RecordApprovalRequest& approval, uint32_t reporter_uid) {
  Record record("approval");
  record.Text("request_id", approval.request_id()).Text("session_id", approval.session_id());
  record.Text("turn_id", approval.turn_id()).Text("tool", approval.tool_name());
  record.Text("scope", approval.scope()).Text("digest", approval.digest());
  record.Text("decision", approval.decision()).Number("by_uid", approval.by_uid());
  record.Text("by", approval.by());
  if (!approval.note().empty()) record.Text("note", approval.note());
  return record.Number("reporter_uid", reporter_uid);
}

Record DenyRecord(const std::string& cell_id, const std::string& exec_id,
                  const explain::Denial& denial) {
  Record record("deny");
  record.Text("cell_id", cell_id);
  if (!denial.session_id.empty()) record.Text("session_id", denial.session_id);
  if (!exec_id.empty()) record.Text("exec_id", exec_id);
  record.Text("verdict", denial.verdict);
  record.Text("kind", denial.kind).Text("resource", denial.resource);
  record.Text("access", denial.access).Text("rule", denial.rule).Text("grant", denial.grant.text);
  if (!denial.process.empty()) record.Text("process", denial.process);
  if (denial.count > 1) record.Number("count", denial.count);
  if (denial.hint) record.Flag("hint", true);
  return record;
}

Record EgressPolicyRecord(const std::string& cell_id, const std::string& session_id,
                          const EgressRevision& revision) {
  Record record("egress_policy");
  record.Text("cell_id", cell_id).Text("session_id", session_id);
  record.Number("revision", Int(revision.number)).Text("digest", revision.digest);
  record.Text("source", revision.source).Number("by_uid", revision.by_uid);
  if (revision.repeats != 0) record.Number("repeats", Int(revision.repeats));
  record.Texts("endpoints", Describe(revision.policy));
  return record;
}

Record EgressRecord(const std::string& cell_id, const std::string& session_id,
                    const egress_wire::Record& decision) {
  constexpr const char* kVerdicts[] = {"allowed", "denied", "audited"};
  Record record("egress");
  record.Text("cell_id", cell_id).Text("session_id", session_id);
  record.Text("verdict", kVerdicts[static_cast<size_t>(decision.verdict)]);
  record.Text("way", decision.way).Text("host", decision.host).Number("port", decision.port);
  record.Number("revision", Int(decision.revision));
  for (const auto& [name, text] : {std::pair{"address", &decision.address},
                                   {"program", &decision.program},
                                   {"rule", &decision.rule},
                                   {"method", &decision.method},
                                   {"path", &decision.path},
                                   {"credential", &decision.credential},
                                   {"code", &decision.code},
                                   {"reason", &decision.reason},
                                   {"grant", &decision.grant}}) {
    if (!text->empty()) record.Text(name, *text);
  }
  if (decision.status != 0) record.Number("status", decision.status);
  const egress_wire::InferenceRecord& inference = decision.inference;
  if (!inference.route.empty()) record.Text("route", inference.route);
  if (!inference.model.empty()) record.Text("model", inference.model);
  if (inference.tokens_in + inference.tokens_out != 0) {
    record.Number("tokens_in", Int(inference.tokens_in));
    record.Number("tokens_out", Int(inference.tokens_out));
    record.Number("cost_microdollars", Int(inference.cost));
  }
  return record;
}

Record RefuseRecord(std::string_view what, const std::string& about,
                    std::optional<uint32_t> owner_uid, const Status& why) {
  Record record("refuse");
  record.Text("what", what).Text("about", about);
  if (owner_uid) record.Number("owner_uid", *owner_uid);
  return record.Text("code", CodeName(why.code())).Text("error", why.message());
}

}  // namespace odyssey::supervisor
