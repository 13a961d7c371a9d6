#ifndef ODYSSEY_SUPERVISOR_RPC_AUDIT_RECORDS_H_
#define ODYSSEY_SUPERVISOR_RPC_AUDIT_RECORDS_H_

// What this supervisor records, one function for each type of record. No value of the environment,
// no content of a file and no output of a command is ever in one. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/audit/record.h"
#include "common/base/status.h"
#include "odyssey/supervisor/v1/image.pb.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "policy/explain/denial.h"
#include "supervisor/rpc/cell_spec.h"
#include "supervisor/rpc/egress_revisions.h"
#include "supervisor/rpc/exec.h"
#include "supervisor/wire/egress_wire.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

audit::Record StartRecord(std::string_view version);
audit::Record StopRecord(const std::string& reason);

// What a policy digest stands for, or that of the operator's ceiling: `of` says which.
audit::Record PolicyRecord(std::string_view of, const std::string& digest,
                           const std::vector<std::string>& lines);

// A cell that was made, or that answered warm.
audit::Record PrepareRecord(const CellFacts& cell, const PrepareSpec& spec, bool created);
// A cell that was made ahead of need is ready. What it is used for is the record `prepare` with its
// cell_id.
audit::Record AheadRecord(const CellFacts& cell);
// A right beyond the built-in grants.
audit::Record GrantRecord(const std::string& what, const CellKey& key, uint32_t owner_uid);
// ChangeCell suspended, resumed, stopped, started, quarantined or released it.
audit::Record CellChangeRecord(const std::string& cell_id, const CellKey& key,
                               v1::CellChange change, const std::string& reason, uint32_t by_uid);
audit::Record RemoveRecord(const std::string& cell_id, bool purge);
// Nothing of the cell is left.
audit::Record CellEndRecord(const std::string& cell_id, const std::string& reason);

audit::Record ExecRecord(const std::string& cell_id, uint32_t owner_uid,
                         const ExecOptions& options);
audit::Record ExecEndRecord(const std::string& cell_id, const ExecOptions& options,
                            const Outcome& outcome);

// A file operation that changed something, or tried to.
audit::Record FileRecord(const std::string& cell_id, const tool::Request& request,
                         const tool::Response& response);
// `run_id` or `directory` is empty.
audit::Record InjectRecord(const std::string& cell_id, const std::string& run_id,
                           const std::string& directory, uint32_t files, uint64_t bytes);

// A commit, undo or discard of changes that a cell made in reviewed directories.
audit::Record ChangesRecord(std::string_view what, const CellKey& key, uint32_t owner_uid,
                            const std::vector<std::string>& directories, uint64_t paths,
                            uint64_t refused);

// An answer to a request for approval, as the peer with `reporter_uid` has reported it.
audit::Record ApprovalRecord(const v1::RecordApprovalRequest& approval, uint32_t reporter_uid);

// Of the image store, "import", "commit" or "remove": `name` as it was asked for.
audit::Record ImageRecord(std::string_view what, uint32_t owner_uid, const std::string& name,
                          const v1::ImageInfo& image);

audit::Record DenyRecord(const std::string& cell_id, const std::string& exec_id,
                         const explain::Denial& denial);
// Another network policy than the one that the cell was prepared with.
audit::Record EgressPolicyRecord(const std::string& cell_id, const std::string& session_id,
                                 const EgressRevision& revision);
// A decision of odyssey-egress.
audit::Record EgressRecord(const std::string& cell_id, const std::string& session_id,
                           const egress_wire::Record& decision);
// A request that was refused as a whole: "prepare", "check", "exec", "change", "approval",
// "image_import", "image_commit", "image_remove".
audit::Record RefuseRecord(std::string_view what, const std::string& about,
                           std::optional<uint32_t> owner_uid, const Status& why);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_AUDIT_RECORDS_H_
