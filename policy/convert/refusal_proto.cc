#include "policy/convert/refusal_proto.h"

#include "common/base/utf8.h"

namespace odyssey::policy {

supervisor::v1::Refusal ToProto(const Status& status) {
  supervisor::v1::Refusal out;
  out.set_code(static_cast<int>(status.code()));
  out.set_message(SanitizeUtf8(status.message()));
  const Detail& detail = status.detail();
  v1::Failure* failure = out.mutable_failure();
  failure->set_field(SanitizeUtf8(detail.field));
  failure->set_value(SanitizeUtf8(detail.value));
  failure->set_allowed(SanitizeUtf8(detail.allowed));
  failure->set_path(SanitizeUtf8(detail.path));
  failure->set_errno_value(detail.error);
  failure->set_hint(detail.hint);
  return out;
}

Status FromProto(const supervisor::v1::Refusal& refusal) {
  const v1::Failure& failure = refusal.failure();
  return Status(static_cast<Code>(refusal.code()), refusal.message())
      .With({.field = failure.field(),
             .value = failure.value(),
             .allowed = failure.allowed(),
             .path = failure.path(),
             .hint = failure.hint(),
             .error = failure.errno_value()});
}

}  // namespace odyssey::policy
