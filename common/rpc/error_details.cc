#include "common/rpc/error_details.h"

#include <utility>

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

std::string EncodeDetails(const Status& status, const google::protobuf::Message* more) {
  Detail detail = status.detail();
  detail.item = kNoDetail.item;  // of a list that the client has not sent
  const bool empty = detail == kNoDetail;
  const bool plain = empty && more == nullptr && status.code() != Code::kUnavailable;
  if (status.ok() || plain) return "";
  pb::ErrorDetails details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(SanitizeUtf8(status.message()));
  if (!empty) details.add_details()->PackFrom(ToProto(detail));
  if (more != nullptr) details.add_details()->PackFrom(*more);
  return details.SerializeAsString();
}

bool FindInDetails(std::string_view details, google::protobuf::Message* more) {
  pb::ErrorDetails parsed;
  if (details.empty() || !parsed.ParseFromArray(details.data(), static_cast<int>(details.size()))) {
    return false;
  }
  for (const google::protobuf::Any& one : parsed.details()) {
    if (one.UnpackTo(more)) return true;
  }
  return false;
}

Status FromWire(Code code, std::string message, std::string_view details) {
  Status plain(code, std::move(message));
  pb::Failure failure;
  if (!FindInDetails(details, &failure)) return plain;
  return plain.With({.field = failure.field(),
                     .value = failure.value(),
                     .allowed = failure.allowed(),
                     .path = failure.path(),
                     .hint = failure.hint(),
                     .error = failure.errno_value()});
}

}  // namespace odyssey::rpc
