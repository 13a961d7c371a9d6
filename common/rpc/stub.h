#ifndef ODYSSEY_COMMON_RPC_STUB_H_
#define ODYSSEY_COMMON_RPC_STUB_H_

// What the generated stubs (odyssey/*/v1/*.stub.h, made by stub_generator.cc) are made of: H2Calls
// with the types of their messages. Blocking.

#include <memory>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/rpc/h2_call.h"

namespace odyssey::rpc {

// A call with a stream of messages, one way or both. Destroying it cancels the call.
template <typename Request, typename Response>
class Stream final {
 public:
  Stream(std::shared_ptr<H2Channel> channel, std::string_view path, const CallOptions& options)
      : call_(std::make_unique<H2Call>(std::move(channel), path, options)) {}

  // False: the call is over.
  bool Write(const Request& request) { return call_->Write(request); }
  void WritesDone() { call_->CloseSend(); }
  // False: no message follows.
  bool Read(Response* response) { return call_->Read(response); }
  void Cancel() { call_->Cancel(); }
  // How the call ended. Drops what was not read.
  Status Finish() { return call_->Finish(); }

  // For a poll loop.
  H2Call* call() const { return call_.get(); }

 private:
  std::unique_ptr<H2Call> call_;
};

// With its only request sent.
template <typename Request, typename Response>
Stream<Request, Response> StartStream(const std::shared_ptr<H2Channel>& channel,
                                      std::string_view path, const CallOptions& options,
                                      const Request& request) {
  Stream<Request, Response> stream(channel, path, options);
  stream.call()->Send(request);
  stream.WritesDone();
  return stream;
}

// One message, and its answer.
Status CallUnary(const std::shared_ptr<H2Channel>& channel, std::string_view path,
                 const CallOptions& options, const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite* response);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_STUB_H_
