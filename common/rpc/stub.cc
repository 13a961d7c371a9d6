#include "common/rpc/stub.h"

namespace odyssey::rpc {

Status CallUnary(const std::shared_ptr<H2Channel>& channel, std::string_view path,
                 const CallOptions& options, const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite* response) {
  H2Call call(channel, path, options);
  call.Send(request);
  call.CloseSend();
  const bool answered = call.Read(response);
  Status status = call.Finish();
  if (status.ok() && !answered) return Internal("the server sent no answer");
  return status;
}

}  // namespace odyssey::rpc
