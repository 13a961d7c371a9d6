#include "supervisor/egress/http/body.h"

#include <algorithm>
#include <charconv>

#include "supervisor/egress/http/field.h"

namespace odyssey::egress::http {
namespace {

constexpr int kMaxSizeDigits = 16;

}  // namespace

BodyReader::BodyReader(const Framing& framing) : place_(Place::kEnd), left_(framing.length) {
  switch (framing.kind) {
    case FramingKind::kNone:
      break;
    case FramingKind::kLength:
      place_ = framing.length > 0 ? Place::kPlain : Place::kEnd;
      break;
    case FramingKind::kChunked:
      place_ = Place::kSizeFirst;
      break;
    case FramingKind::kUntilClose:
      place_ = Place::kUntilClose;
      break;
  }
}

std::string_view BodyReader::Go(Place place) {
  place_ = place;
  return {};
}

BodyReader::Step BodyReader::TakePayload(std::string_view bytes, size_t taken) {
  std::string_view payload = bytes.substr(taken);
  if (place_ != Place::kUntilClose) {
    payload = payload.substr(0, static_cast<size_t>(std::min<uint64_t>(left_, payload.size())));
    left_ -= payload.size();
    if (left_ == 0) place_ = place_ == Place::kPlain ? Place::kEnd : Place::kChunkCr;
  }
  return {
      .state = State::kPayload, .taken = taken + payload.size(), .payload = payload, .error = {}};
}

BodyReader::Step BodyReader::Read(std::string_view bytes) {
  size_t taken = 0;
  while (place_ != Place::kEnd && place_ != Place::kError) {
    if (taken == bytes.size())
      return {.state = State::kMore, .taken = taken, .payload = {}, .error = {}};
    if (place_ == Place::kPlain || place_ == Place::kChunk || place_ == Place::kUntilClose) {
      return TakePayload(bytes, taken);
    }
    error_ = TakeByte(bytes[taken]);
    if (error_.empty()) {
      ++taken;
    } else {
      place_ = Place::kError;
    }
  }
  const State state = place_ == Place::kEnd ? State::kEnd : State::kError;
  return {.state = state, .taken = taken, .payload = {}, .error = error_};
}

std::string_view BodyReader::TakeByte(char c) {
  switch (place_) {
    case Place::kSizeFirst:
    case Place::kSize:
      return TakeSize(c);
    case Place::kExtension:
      return TakeExtension(c);
    case Place::kSizeLf:
      if (c != '\n') return "a CR without LF behind a chunk's size";
      return Go(left_ > 0 ? Place::kChunk : Place::kTrailerFirst);
    case Place::kChunkCr:
      return c == '\r' ? Go(Place::kChunkLf) : "a chunk is longer than its size";
    case Place::kChunkLf:
      return c == '\n' ? Go(Place::kSizeFirst) : "a CR without LF behind a chunk";
    default:
      return TakeTrailer(c);
  }
}

std::string_view BodyReader::TakeSize(char c) {
  const int digit = HexValue(c);
  if (digit >= 0) {
    if (place_ == Place::kSizeFirst) left_ = 0;
    if (place_ == Place::kSizeFirst) digits_ = 0;
    left_ = left_ * 16 + static_cast<uint64_t>(digit);
    if (++digits_ > kMaxSizeDigits || left_ > kMaxBodyBytes) return "a chunk's size is too large";
    return Go(Place::kSize);
  }
  if (place_ == Place::kSizeFirst) return "a chunk has no size";
  if (c == '\r') return Go(Place::kSizeLf);
  return c == ';' ? Go(Place::kExtension) : "a chunk's size is no hexadecimal number";
}

std::string_view BodyReader::TakeExtension(char c) {
  if (c == '\r') return Go(Place::kSizeLf);
  if (!IsValueCharacter(c, ObsText::kRefuse)) return "a chunk extension with a control character";
  if (++extension_bytes_ > kMaxExtensionBytes) return "more than 4 KiB of chunk extensions";
  return {};
}

// Trailers are dropped; what is no field could be a request that another reader sees there.
std::string_view BodyReader::TakeTrailer(char c) {
  if (++trailer_bytes_ > kMaxTrailerBytes) return "more than 8 KiB of trailers";
  switch (place_) {
    case Place::kTrailerFirst:
      if (c == '\r') return Go(Place::kLastLf);
      return IsTokenCharacter(c) ? Go(Place::kTrailerName) : "a trailer is not NAME: VALUE";
    case Place::kTrailerName:
      if (c == ':') return Go(Place::kTrailerValue);
      return IsTokenCharacter(c) ? std::string_view() : "a trailer is not NAME: VALUE";
    case Place::kTrailerValue:
      if (c == '\r') return Go(Place::kTrailerLf);
      return IsValueCharacter(c, ObsText::kRefuse) ? std::string_view()
                                                   : "a trailer with a control character";
    case Place::kTrailerLf:
      return c == '\n' ? Go(Place::kTrailerFirst) : "a CR without LF in a trailer";
    default:
      return c == '\n' ? Go(Place::kEnd) : "a CR without LF behind the last chunk";
  }
}

bool BodyReader::IsWholeAtClose() const {
  return place_ == Place::kEnd || place_ == Place::kUntilClose;
}

bool BodyWriter::Write(std::string_view payload, std::string* out) {
  if (payload.empty()) return true;  // an empty chunk would be the last one
  switch (framing_.kind) {
    case FramingKind::kNone:
      return false;
    case FramingKind::kLength:
      if (payload.size() > framing_.length - written_) return false;
      written_ += payload.size();
      out->append(payload);
      return true;
    case FramingKind::kUntilClose:
      out->append(payload);
      return true;
    case FramingKind::kChunked:
      break;
  }
  char digits[kMaxSizeDigits];
  const char* const end = std::to_chars(digits, digits + kMaxSizeDigits, payload.size(), 16).ptr;
  out->append(std::string_view(digits, static_cast<size_t>(end - digits)))
      .append("\r\n")
      .append(payload)
      .append("\r\n");
  return true;
}

bool BodyWriter::End(std::string* out) const {
  if (framing_.kind == FramingKind::kChunked) out->append("0\r\n\r\n");
  return framing_.kind != FramingKind::kLength || written_ == framing_.length;
}

}  // namespace odyssey::egress::http
