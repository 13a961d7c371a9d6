#include "supervisor/wire/layer_wire.h"

#include "common/base/field_codec.h"

namespace odyssey::layer {
// The fields of each message, once for both directions (common/base/field_codec.h).

void VisitFields(auto& v, Order& m) {
  v.Enum("op", m.op, Op::kFind);
  v.U64("max_bytes", m.max_bytes);
  v.U64("max_entries", m.max_entries);
  v.Text("path", m.path, kMaxPath);
  v.Texts("leave_out", m.leave_out, kMaxLeftOut, kMaxPath);
  v.Texts("programs", m.programs, kMaxPrograms, kMaxPath);
}

void VisitFields(auto& v, AccountFile& m) {
  v.Enum("state", m.state, FileState::kText);
  v.Text("text", m.text, kMaxAccounts);
}

void VisitFields(auto& v, Done& m) {
  v.Result("status", m.status);
  v.U64("entries", m.entries);
  v.U64("bytes", m.bytes);
  v.U64("set_id_files", m.set_id_files);
  VisitFields(v, m.passwd);
  VisitFields(v, m.group);
}

namespace {

template <typename M>
Status DecodeAll(const char* name, std::string_view bytes, M* message) {
  Reader in(bytes);
  GetFields get(&in);
  VisitFields(get, *message);
  return in.Done() ? OkStatus() : InvalidArgument(std::string("decode layer ") + name);
}

}  // namespace

std::string Encode(const Order& order) { return EncodeFields(order); }
std::string Encode(const Done& done) { return EncodeFields(done); }
Status Decode(std::string_view bytes, Order* order) { return DecodeAll("order", bytes, order); }
Status Decode(std::string_view bytes, Done* done) { return DecodeAll("answer", bytes, done); }

}  // namespace odyssey::layer
