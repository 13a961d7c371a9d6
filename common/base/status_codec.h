#ifndef ODYSSEY_COMMON_BASE_STATUS_CODEC_H_
#define ODYSSEY_COMMON_BASE_STATUS_CODEC_H_

// A failure on a private wire, whole.

#include "common/base/codec.h"
#include "common/base/status.h"

namespace odyssey {

// Of each text; a longer one is cut when it is written.
inline constexpr uint32_t kMaxStatusText = 4096;

inline void PutStatus(const Status& status, Writer* out) {
  const Detail& detail = status.detail();
  out->U8(static_cast<uint8_t>(status.code()));
  for (const std::string* text : {&status.message(), &detail.field, &detail.value, &detail.allowed,
                                  &detail.path, &detail.hint}) {
    out->String(std::string_view(*text).substr(0, kMaxStatusText));
  }
  out->U32(static_cast<uint32_t>(detail.error));
  out->U32(static_cast<uint32_t>(detail.item));
}

inline Status GetStatus(Reader* in) {
  const Code code = in->Enum(Code::kUnauthenticated);
  std::string message = in->String(kMaxStatusText);
  Detail detail;
  for (std::string* text :
       {&detail.field, &detail.value, &detail.allowed, &detail.path, &detail.hint}) {
    *text = in->String(kMaxStatusText);
  }
  detail.error = static_cast<int>(in->U32());
  detail.item = static_cast<int>(in->U32());
  return Status(code, std::move(message)).With(std::move(detail));
}

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_STATUS_CODEC_H_
