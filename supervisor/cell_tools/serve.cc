#include "supervisor/cell_tools/serve.h"

#include <string>
#include <utility>

#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_tools {
namespace {

// Takes the frame, so that its memory is gone before the operation starts.
tool::Response Answer(const Reach& reach, std::string frame) {
  tool::Request request;
  const Status status = tool::Decode(frame, &request);
  std::string().swap(frame);
  if (status.ok()) return Perform(reach, request);
  tool::Response response;
  response.code = status.code();
  response.error = status.message();
  return response;
}

}  // namespace

Status Serve(int socket, const Reach& reach) {
  for (;;) {
    Result<std::string> frame = tool::ReadFrame(socket);
    if (!frame.ok() && frame.status().code() == Code::kUnavailable) return OkStatus();
    if (!frame.ok()) return frame.status();
    const tool::Response response = Answer(reach, std::move(frame).value());
    ODY_RETURN_IF_ERROR(tool::WriteFrame(socket, tool::Encode(response)));
  }
}

}  // namespace odyssey::cell_tools
