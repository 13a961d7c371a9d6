#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_BODY_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_BODY_H_

// Bodies: a reader that takes the payload out of its framing, and a writer that frames it anew. So
// no server sees a chunk as another program wrote it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/egress/http/framing.h"

namespace odyssey::egress::http {

// Of one body, all together.
inline constexpr size_t kMaxExtensionBytes = 4096;
inline constexpr size_t kMaxTrailerBytes = 8192;

// Allocates nothing: state is one number and one place in the grammar.
class BodyReader final {
 public:
  explicit BodyReader(const Framing& framing);

  enum class State {
    kMore,     // all bytes were taken; there is more to come
    kPayload,  // `payload` is part of the body; read again from behind the bytes that were taken
    kEnd,      // the body ended; the bytes behind those taken are not its
    kError,    // the framing is broken
  };
  struct Step {
    State state = State::kMore;
    size_t taken = 0;          // from the beginning of the bytes
    std::string_view payload;  // within the bytes; not empty with kPayload
    std::string_view error;
  };
  // After kEnd or kError it takes nothing and returns the same.
  Step Read(std::string_view bytes);

  // The connection ended: was the body whole? A body that ends so is.
  bool IsWholeAtClose() const;

 private:
  // What the next byte has to be.
  enum class Place {
    kPlain,  // payload of a Content-Length
    kUntilClose,
    kSizeFirst,  // the first digit of a chunk's size
    kSize,
    kExtension,
    kSizeLf,
    kChunk,  // payload
    kChunkCr,
    kChunkLf,
    kTrailerFirst,  // of a line
    kTrailerName,
    kTrailerValue,
    kTrailerLf,
    kLastLf,
    kEnd,
    kError,
  };
  Step TakePayload(std::string_view bytes, size_t taken);
  // One byte of framing. "" or why it is wrong.
  std::string_view TakeByte(char c);
  std::string_view TakeSize(char c);
  std::string_view TakeExtension(char c);
  std::string_view TakeTrailer(char c);
  std::string_view Go(Place place);

  Place place_;
  uint64_t left_ = 0;  // of the payload that follows; while its size is read, the size so far
  int digits_ = 0;
  size_t extension_bytes_ = 0;
  size_t trailer_bytes_ = 0;
  std::string_view error_;
};

class BodyWriter final {
 public:
  explicit BodyWriter(const Framing& framing) : framing_(framing) {}

  // Appends `payload` framed. false, and nothing is appended: the body would be longer than its
  // Content-Length.
  [[nodiscard]] bool Write(std::string_view payload, std::string* out);
  // Appends what ends the body. false: it is shorter than its Content-Length. The connection must
  // be reset then; an end is never made up.
  [[nodiscard]] bool End(std::string* out) const;

 private:
  Framing framing_;
  uint64_t written_ = 0;
};

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_BODY_H_
