#include "common/base/status.h"

#include <cerrno>
#include <cstring>

namespace odyssey {
namespace {

struct Meaning {
  int error_number;
  Code code;
};

using enum Code;
// Anything else is kInternal.
constexpr Meaning kMeanings[] = {
    {EINVAL, kInvalidArgument},   {ENAMETOOLONG, kInvalidArgument}, {ENOTDIR, kInvalidArgument},
    {EISDIR, kInvalidArgument},   {ELOOP, kInvalidArgument},        {ENOENT, kNotFound},
    {EEXIST, kAlreadyExists},     {EACCES, kPermissionDenied},      {EPERM, kPermissionDenied},
    {EROFS, kPermissionDenied},   {ENOSPC, kResourceExhausted},     {EDQUOT, kResourceExhausted},
    {EMFILE, kResourceExhausted}, {ENFILE, kResourceExhausted},     {ENOMEM, kResourceExhausted},
    {EAGAIN, kResourceExhausted}, {ENOSYS, kUnimplemented},         {EOPNOTSUPP, kUnimplemented},
    {ECONNREFUSED, kUnavailable}, {ECONNRESET, kUnavailable},       {EPIPE, kUnavailable},
};

Code CodeFromErrno(int error_number) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.error_number == error_number) return meaning.code;
  }
  return kInternal;
}

}  // namespace

Status ErrnoStatus(int error_number, std::string_view what) {
  const char* const text = strerrordesc_np(error_number);  // without the locale; thread-safe
  return Status(CodeFromErrno(error_number),
                std::string(what) + ": " + (text ? text : "Unknown error"))
      .With({.error = error_number});
}

Status Status::With(Detail detail) const {
  Status out = *this;
  out.detail_ = std::make_shared<const Detail>(std::move(detail));
  return out;
}

Status Status::OfItem(size_t index) const {
  Detail detail = this->detail();
  detail.item = static_cast<int>(index);
  return With(std::move(detail));
}

}  // namespace odyssey
