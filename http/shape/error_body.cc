#include "http/shape/error_body.h"

#include <nlohmann/json.hpp>

namespace odyssey::shape {

unsigned HttpStatusOf(Code code) {
  switch (code) {
    case Code::kOk:
      return 200;
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return 400;
    case Code::kUnauthenticated:
      return 401;
    case Code::kPermissionDenied:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kCancelled:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kAborted:
      return 409;
    case Code::kResourceExhausted:
      return 429;
    case Code::kUnimplemented:
      return 501;
    case Code::kUnavailable:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kDataLoss:
      break;
  }
  return 500;
}

std::string ErrorBody(const Status& status) {
  using Json = nlohmann::ordered_json;
  const Detail& detail = status.detail();
  Json error = {{"code", CodeName(status.code())}, {"message", status.message()}};
  for (const auto& [name, value] : {std::pair("field", &detail.field),
                                    {"value", &detail.value},
                                    {"allowed", &detail.allowed},
                                    {"path", &detail.path},
                                    {"hint", &detail.hint}}) {
    if (!value->empty()) error[name] = *value;
  }
  if (detail.error != 0) error["errno"] = detail.error;
  return Json{{"error", std::move(error)}}.dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace odyssey::shape
