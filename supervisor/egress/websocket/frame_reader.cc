#include "supervisor/egress/websocket/frame_reader.h"

#include <algorithm>
#include <utility>

namespace odyssey::egress::websocket {
namespace {

constexpr size_t kFirstBytes = 2;  // of every header
constexpr uint8_t kFinal = 0x80, kReserved = 0x70, kOpcode = 0x0f, kMasked = 0x80, kLength = 0x7f;
constexpr uint64_t kLength16 = 126, kLength64 = 127;  // a longer length follows

uint8_t ByteAt(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

bool IsKnown(uint8_t opcode) {
  return opcode <= static_cast<uint8_t>(Opcode::kBinary) ||
         (opcode >= static_cast<uint8_t>(Opcode::kClose) &&
          opcode <= static_cast<uint8_t>(Opcode::kPong));
}

// Turns the mask, so that it is the next byte's.
std::string Unmask(std::string_view bytes, Mask* mask) {
  std::string out(bytes);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<char>(ByteAt(bytes, i) ^ (*mask)[i % mask->size()]);
  }
  std::rotate(mask->begin(), mask->begin() + bytes.size() % mask->size(), mask->end());
  return out;
}

// Whether a text may go on with `piece`. `*cut`: a character that is not whole yet.
bool TakeText(std::string_view piece, std::string* cut) {
  *cut += piece;
  const size_t whole = CompleteUtf8Prefix(*cut);
  if (!IsValidUtf8(std::string_view(*cut).substr(0, whole))) return false;
  cut->erase(0, whole);
  return true;
}

}  // namespace

FrameReader::Header FrameReader::ParseHeader(std::string_view bytes) {
  if (bytes.size() < kFirstBytes) return {};
  Header header;
  header.final = (ByteAt(bytes, 0) & kFinal) != 0;
  header.reserved = (ByteAt(bytes, 0) & kReserved) != 0;
  header.opcode = ByteAt(bytes, 0) & kOpcode;
  header.masked = (ByteAt(bytes, 1) & kMasked) != 0;
  header.length = ByteAt(bytes, 1) & kLength;
  const size_t extended = header.length == kLength16 ? 2 : header.length == kLength64 ? 8 : 0;
  const size_t size = kFirstBytes + extended + (header.masked ? header.mask.size() : 0);
  if (bytes.size() < size) return {};

  header.size = size;
  if (extended > 0) {
    header.length = 0;
    for (size_t i = 0; i < extended; ++i) {
      header.length = header.length << 8 | ByteAt(bytes, kFirstBytes + i);
    }
    header.shortest = header.length >= (extended == 2 ? kLength16 : uint64_t{1} << 16);
  }
  for (size_t i = 0; header.masked && i < header.mask.size(); ++i) {
    header.mask[i] = ByteAt(bytes, kFirstBytes + extended + i);
  }
  return header;
}

std::string_view FrameReader::CheckHeader(const Header& header) const {
  if (header.reserved) return "a reserved bit is set, and no extension was agreed on";
  if (!IsKnown(header.opcode)) return "an opcode that is none";
  if (header.masked != (sender_ == Sender::kClient)) {
    return sender_ == Sender::kClient ? "a client's frame without a mask"
                                      : "a server's frame with a mask";
  }
  if (!header.shortest || header.length >> 63 != 0) return "a length that is none";
  const auto opcode = static_cast<Opcode>(header.opcode);
  if (IsControl(opcode)) {
    if (!header.final) return "a control frame in fragments";
    return header.length > kMaxControlBytes ? "a control frame that is too long" : "";
  }
  const bool within = message_ != Opcode::kContinuation;
  if (opcode == Opcode::kContinuation) return within ? "" : "a continuation of no message";
  return within ? "a message within another one" : "";
}

Part FrameReader::Read(std::string_view bytes) {
  if (!error_.empty()) return Fail(code_, error_);
  if (in_frame_) return TakePiece(0, bytes);

  const Header header = ParseHeader(bytes);
  if (header.size == 0) return {};
  if (const std::string_view error = CheckHeader(header); !error.empty()) {
    return Fail(CloseCode::kProtocolError, error);
  }
  if (IsControl(static_cast<Opcode>(header.opcode))) return TakeControl(header, bytes);
  if (header.length > max_message_bytes_ - message_bytes_) {
    return Fail(CloseCode::kTooBig, "a message that is too long");
  }
  if (message_ == Opcode::kContinuation) message_ = static_cast<Opcode>(header.opcode);
  message_bytes_ += header.length;
  in_frame_ = true;
  final_ = header.final;
  left_ = header.length;
  mask_ = header.mask;
  return TakePiece(header.size, bytes.substr(header.size));
}

Part FrameReader::TakeControl(const Header& header, std::string_view bytes) {
  const size_t size = header.size + static_cast<size_t>(header.length);
  if (bytes.size() < size) return {};
  Part part{.kind = Part::Kind::kControl,
            .taken = size,
            .opcode = static_cast<Opcode>(header.opcode),
            .last = true};
  Mask mask = header.mask;
  part.payload = Unmask(bytes.substr(header.size, size - header.size), &mask);
  if (part.opcode != Opcode::kClose) return part;
  switch (CheckClosePayload(part.payload)) {
    case CloseProblem::kCode:
      return Fail(CloseCode::kProtocolError, "a close with a code that is none");
    case CloseProblem::kReason:
      return Fail(CloseCode::kInvalidData, "the reason of a close is not UTF-8");
    case CloseProblem::kNone:
      break;
  }
  return part;
}

// `taken`: of the header, in front of `bytes`.
Part FrameReader::TakePiece(size_t taken, std::string_view bytes) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
  if (size == 0 && left_ > 0) return {.taken = taken};
  Part part{.kind = Part::Kind::kData, .taken = taken + size, .opcode = message_};
  part.payload = Unmask(bytes.substr(0, size), &mask_);
  left_ -= size;
  in_frame_ = left_ > 0;
  part.last = !in_frame_ && final_;
  if (message_ == Opcode::kText &&
      (!TakeText(part.payload, &cut_) || (part.last && !cut_.empty()))) {
    return Fail(CloseCode::kInvalidData, "a text that is not UTF-8");
  }
  if (part.last) {
    message_ = Opcode::kContinuation;
    message_bytes_ = 0;
  }
  return part;
}

Part FrameReader::Fail(CloseCode code, std::string_view error) {
  code_ = code;
  error_ = error;
  return {.kind = Part::Kind::kError, .code = code, .error = error};
}

}  // namespace odyssey::egress::websocket
