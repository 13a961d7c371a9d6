#ifndef ODYSSEY_COMMON_BASE_FIELD_CODEC_H_
#define ODYSSEY_COMMON_BASE_FIELD_CODEC_H_

// The two directions of a codec over one list of a message's fields: VisitFields(visitor, message),
// found by the message's type, names each field once with its bounds, in the order of the encoding.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/codec.h"
#include "common/base/status_codec.h"

namespace odyssey {

// An element of a list of numbers.
void VisitFields(auto& v, uint32_t& number) { v.U32("", number); }
void VisitFields(auto& v, uint16_t& number) { v.U16("", number); }

// Changes no field that it visits.
class PutFields final {
 public:
  explicit PutFields(Writer* out) : out_(*out) {}
  void U8(const char*, uint8_t& v) { out_.U8(v); }
  void U16(const char*, uint16_t& v) { out_.U32(v); }
  void U32(const char*, uint32_t& v) { out_.U32(v); }
  void I32(const char*, int32_t& v) { out_.U32(static_cast<uint32_t>(v)); }
  void U64(const char*, uint64_t& v) { out_.U64(v); }
  void Bool(const char*, bool& v) { out_.Bool(v); }
  template <typename E>
  void Enum(const char*, E& v, E /*last*/) {
    out_.U8(static_cast<uint8_t>(v));
  }
  void Result(const char*, Status& v) { PutStatus(v, &out_); }
  void Text(const char*, std::string& v, uint32_t /*max*/) { out_.String(v); }
  void Texts(const char*, std::vector<std::string>& v, uint32_t, uint32_t) { out_.Strings(v); }
  template <typename T>
  void List(const char*, std::vector<T>& v, uint32_t /*max*/) {
    out_.U32(static_cast<uint32_t>(v.size()));
    for (T& item : v) VisitFields(*this, item);
  }

 private:
  Writer& out_;
};

// The fields of a message alone, for a digest or behind a header.
template <typename M>
std::string EncodeFields(const M& message) {
  Writer out;
  PutFields put(&out);
  VisitFields(put, const_cast<M&>(message));  // PutFields changes no field
  return out.bytes();
}

// A field beyond its bounds fails the reader.
class GetFields final {
 public:
  explicit GetFields(Reader* in) : in_(*in) {}
  void U8(const char*, uint8_t& v) { v = in_.U8(); }
  void U16(const char*, uint16_t& v) { v = static_cast<uint16_t>(in_.Count(UINT16_MAX)); }
  void U32(const char*, uint32_t& v) { v = in_.U32(); }
  void I32(const char*, int32_t& v) { v = static_cast<int32_t>(in_.U32()); }
  void U64(const char*, uint64_t& v) { v = in_.U64(); }
  void Bool(const char*, bool& v) { v = in_.Bool(); }
  template <typename E>
  void Enum(const char*, E& v, E last) {
    v = in_.Enum(last);
  }
  void Result(const char*, Status& v) { v = GetStatus(&in_); }
  void Text(const char*, std::string& v, uint32_t max) { v = in_.String(max); }
  void Texts(const char*, std::vector<std::string>& v, uint32_t max, uint32_t max_length) {
    v = in_.Strings(max, max_length);
  }
  template <typename T>
  void List(const char*, std::vector<T>& v, uint32_t max) {
    v.clear();
    const uint32_t count = in_.Count(max);
    for (uint32_t i = 0; i < count && !in_.failed(); ++i) VisitFields(*this, v.emplace_back());
  }

 private:
  Reader& in_;
};

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_FIELD_CODEC_H_
