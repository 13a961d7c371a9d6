#include "common/rpc/status_map.h"

#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "odyssey/policy/v1/failure.pb.h"

namespace odyssey::rpc {
namespace {

namespace pb = policy::v1;

pb::Failure ToProto(const Detail& detail) {
  pb::Failure out;
  out.set_field(SanitizeUtf8(detail.field));
  out.set_value(SanitizeUtf8(detail.value));
  out.set_allowed(SanitizeUtf8(detail.allowed));
  out.set_path(SanitizeUtf8(detail.path));
  out.set_errno_value(detail.error);
  out.set_hint(detail.hint);
  return out;
}

}  // namespace

grpc::Status ToGrpc(const Status& status, const google::protobuf::Message* more) {
  const auto code = static_cast<grpc::StatusCode>(status.code());
  Detail detail = status.detail();
  detail.item = kNoDetail.item;  // of a list that the client has not sent
  const bool empty = detail == kNoDetail;
  // gRPC's own UNAVAILABLE, of a connection that was lost, has no details.
  const bool plain = empty && more == nullptr && status.code() != Code::kUnavailable;
  if (status.ok() || plain) return {code, status.message()};
  pb::ErrorDetails details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(SanitizeUtf8(status.message()));
  if (!empty) details.add_details()->PackFrom(ToProto(detail));
  if (more != nullptr) details.add_details()->PackFrom(*more);
  return {code, status.message(), details.SerializeAsString()};
}

bool FindInDetails(const grpc::Status& status, google::protobuf::Message* more) {
  pb::ErrorDetails details;
  if (status.error_details().empty() || !details.ParseFromString(status.error_details())) {
    return false;
  }
  for (const google::protobuf::Any& one : details.details()) {
    if (one.UnpackTo(more)) return true;
  }
  return false;
}

Status FromGrpc(const grpc::Status& status) {
  const Status plain(static_cast<Code>(status.error_code()), status.error_message());
  pb::Failure failure;
  if (!FindInDetails(status, &failure)) return plain;
  return plain.With({.field = failure.field(),
                     .value = failure.value(),
                     .allowed = failure.allowed(),
                     .path = failure.path(),
                     .hint = failure.hint(),
                     .error = failure.errno_value()});
}

}  // namespace odyssey::rpc
