#ifndef ODYSSEY_HTTP_SHAPE_ERROR_BODY_H_
#define ODYSSEY_HTTP_SHAPE_ERROR_BODY_H_

// A failure as HTTP has it. Pure.

#include <string>

#include "common/base/status.h"

namespace odyssey::shape {

// The status of an answer: 404 of NOT_FOUND, and so on.
unsigned HttpStatusOf(Code code);

// {"error":{"code":"NOT_FOUND","message":…}}, with those of field, value, allowed, path, errno and
// hint that the failure has, and a line feed.
std::string ErrorBody(const Status& status);

}  // namespace odyssey::shape

#endif  // ODYSSEY_HTTP_SHAPE_ERROR_BODY_H_
