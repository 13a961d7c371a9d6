#include "agentd/sandbox/sandbox.h"

namespace odyssey::sandbox {

namespace pb = ::odyssey::supervisor::v1;

std::optional<std::string> LeadsTo(const Status& status) {
  const Detail& detail = status.detail();
  if (status.code() != Code::kAborted || detail.field != "path" || detail.value.empty()) {
    return std::nullopt;
  }
  return detail.value;
}

Result<pb::FileReadResult> Sandbox::ReadFile(const FilePlace& place, const std::string& path,
                                             uint64_t offset, uint64_t max_bytes) {
  pb::FileOpRequest request;
  request.mutable_read()->set_path(path);
  request.mutable_read()->set_offset(offset);
  request.mutable_read()->set_max_bytes(max_bytes);
  ODY_ASSIGN_OR_RETURN(pb::FileOpResponse response, FileOp(place, std::move(request)));
  return std::move(*response.mutable_read());
}

Status Sandbox::WriteFile(const FilePlace& place, const std::string& path, std::string content,
                          uint32_t mode) {
  pb::FileOpRequest request;
  request.mutable_write()->set_path(path);
  request.mutable_write()->set_content(std::move(content));
  request.mutable_write()->set_mode(mode);
  return FileOp(place, std::move(request)).status();
}

Result<pb::FileListResult> Sandbox::ListFiles(const FilePlace& place, const std::string& path) {
  pb::FileOpRequest request;
  request.mutable_list()->set_path(path);
  ODY_ASSIGN_OR_RETURN(pb::FileOpResponse response, FileOp(place, std::move(request)));
  return std::move(*response.mutable_list());
}

}  // namespace odyssey::sandbox
