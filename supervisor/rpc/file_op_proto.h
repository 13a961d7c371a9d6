#ifndef ODYSSEY_SUPERVISOR_RPC_FILE_OP_PROTO_H_
#define ODYSSEY_SUPERVISOR_RPC_FILE_OP_PROTO_H_

// FileOp messages of the API ↔ the file worker's wire, field by field of the same name: what an
// operation's fields are is known to supervisor.proto and supervisor/wire/tool_wire.h alone. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

// INVALID_ARGUMENT names the field that is longer than the wire carries, or the operations there
// are.
Result<tool::Request> FromProto(const v1::FileOpRequest& request);

// `op` decides which result is set; of an operation of rpc's own none is.
void ToProto(tool::Op op, tool::Response response, v1::FileOpResponse* out);

// A number or a flag of an answer.
struct FileOpFigure {
  std::string name;
  uint64_t value = 0;
  bool is_flag = false;
  friend bool operator==(const FileOpFigure&, const FileOpFigure&) = default;
};
// In the order of supervisor.proto.
std::vector<FileOpFigure> FiguresOf(const v1::FileOpResponse& answer);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_FILE_OP_PROTO_H_
