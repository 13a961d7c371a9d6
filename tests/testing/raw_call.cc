#include "tests/testing/raw_call.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

namespace odyssey::testing {
namespace {

constexpr std::chrono::seconds kDeadline{30};

// Fields of protobuf messages that are strings or messages, with small numbers: a tag, a length as
// a varint, the content.
char TagOf(int field) { return static_cast<char>(field << 3 | 2); }

// Of fewer than 128 bytes.
std::string Encode(int field, const std::string& content) {
  return std::string{TagOf(field), static_cast<char>(content.size())} + content;
}

std::vector<std::string> Decode(int field, const std::string& message) {
  std::vector<std::string> out;
  for (size_t at = 0; at < message.size();) {
    const char tag = message[at++];
    size_t size = 0;
    for (int shift = 0; at < message.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message[at++]);
      size |= static_cast<size_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    if (at > message.size() || size > message.size() - at) break;
    if (tag == TagOf(field)) out.push_back(message.substr(at, size));
    at += size;
  }
  return out;
}

}  // namespace

RawAnswer CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const grpc::Slice slice(request);
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  RawAnswer answer;
  grpc::ByteBuffer buffer;
  call->StartCall();
  call->Finish(&buffer, &answer.status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (answer.status.ok() && buffer.Dump(&slices).ok()) {
    for (const grpc::Slice& part : slices) {
      answer.bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
  }
  return answer;
}

std::string AskHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  // HealthCheckRequest{service}, HealthCheckResponse{status: SERVING}
  const RawAnswer answer = CallRaw(channel, "/grpc.health.v1.Health/Check", Encode(1, service));
  if (answer.status.error_code() == grpc::StatusCode::NOT_FOUND) return "NOT_FOUND";
  if (answer.status.ok() && answer.bytes == "\x08\x01") return "SERVING";
  return answer.status.error_message() + " " + answer.bytes;
}

std::vector<std::string> ListServices(const std::shared_ptr<grpc::Channel>& channel) {
  // ServerReflectionRequest{list_services: "*"}
  const RawAnswer answer = CallRaw(
      channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Encode(7, "*"));
  std::vector<std::string> names;
  for (const std::string& list : Decode(6, answer.bytes)) {  // ListServiceResponse
    for (const std::string& service : Decode(1, list)) {     // ServiceResponse
      for (std::string& name : Decode(1, service)) names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace odyssey::testing
