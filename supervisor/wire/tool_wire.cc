#include "supervisor/wire/tool_wire.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/field_codec.h"

namespace odyssey::tool {
namespace {

constexpr uint8_t kVersion = 1;
constexpr uint32_t kMaxError = 8 * 1024;  // a sentence with a path in it

bool OpenVersion(Reader* in) { return in->U8() == kVersion && !in->failed(); }

// Fills `out` exactly. UNAVAILABLE if the peer closed first.
Status ReadExactly(int fd, char* out, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = TEMP_FAILURE_RETRY(recv(fd, out + done, size - done, 0));
    if (n < 0) return ErrnoStatus(errno, "receive tool frame");
    if (n == 0) return Unavailable("receive tool frame: peer closed");
    done += static_cast<size_t>(n);
  }
  return OkStatus();
}

}  // namespace

std::string Encode(const Request& request) {
  Writer out;
  out.U8(kVersion);
  out.U8(static_cast<uint8_t>(request.op));
  return out.Take() + EncodeFields(request);
}

std::string Encode(const Response& response) {
  Writer out;
  out.U8(kVersion);
  out.U8(static_cast<uint8_t>(response.code));
  out.String(std::string_view(response.error).substr(0, kMaxError));
  return out.Take() + EncodeFields(response);
}

Status Decode(std::string_view payload, Request* request) {
  Reader in(payload);
  if (!OpenVersion(&in)) return InvalidArgument("decode tool request: version is not ours");
  request->op = in.Enum(Op::kTrim);
  GetFields get(&in);
  VisitFields(get, *request);
  if (!in.Done()) return InvalidArgument("decode tool request: malformed");
  return OkStatus();
}

Status Decode(std::string_view payload, Response* response) {
  Reader in(payload);
  if (!OpenVersion(&in)) return InvalidArgument("decode tool response: version is not ours");
  response->code = in.Enum(Code::kUnauthenticated);
  response->error = in.String(kMaxError);
  GetFields get(&in);
  VisitFields(get, *response);
  if (!in.Done()) return InvalidArgument("decode tool response: malformed");
  return OkStatus();
}

std::string FrameHeader(size_t payload_size) {
  Writer out;
  out.U32(static_cast<uint32_t>(payload_size));
  return out.Take();
}

Result<size_t> PayloadSize(std::string_view header) {
  const uint32_t size = Reader(header).U32();
  if (size <= kMaxFrame) return size_t{size};
  return InvalidArgument("receive tool frame: " + std::to_string(size) + " bytes; at most " +
                         std::to_string(kMaxFrame) + " are allowed");
}

Status WriteFrame(int fd, std::string_view payload) {
  if (payload.size() > kMaxFrame) {
    return InvalidArgument("send tool frame: " + std::to_string(payload.size()) +
                           " bytes; at most " + std::to_string(kMaxFrame) + " are allowed");
  }
  std::string header = FrameHeader(payload.size());
  // Length and payload leave in one system call; a short send goes on where it stopped.
  for (size_t done = 0; done < kFrameHeaderBytes + payload.size();) {
    const size_t of_header = done < kFrameHeaderBytes ? done : kFrameHeaderBytes;
    const size_t of_payload = done - of_header;
    iovec parts[2] = {
        {header.data() + of_header, kFrameHeaderBytes - of_header},
        {const_cast<char*>(payload.data()) + of_payload, payload.size() - of_payload}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = TEMP_FAILURE_RETRY(sendmsg(fd, &message, MSG_NOSIGNAL));
    if (n < 0) return ErrnoStatus(errno, "send tool frame");
    done += static_cast<size_t>(n);
  }
  return OkStatus();
}

Result<std::string> ReadFrame(int fd) {
  char header[kFrameHeaderBytes];
  ODY_RETURN_IF_ERROR(ReadExactly(fd, header, sizeof(header)));
  ODY_ASSIGN_OR_RETURN(const size_t size, PayloadSize({header, sizeof(header)}));
  std::string payload(size, '\0');
  ODY_RETURN_IF_ERROR(ReadExactly(fd, payload.data(), size));
  return payload;
}

}  // namespace odyssey::tool
