#ifndef ODYSSEY_COMMON_BASE_STATUS_H_
#define ODYSSEY_COMMON_BASE_STATUS_H_

// Status and Result<T>: how every fallible function of ours answers.
// Works without exceptions and RTTI; safe in root and in a cell.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace odyssey {

// Values equal google.rpc.Code, so the gRPC edge is a cast.
enum class Code {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// The name as google.rpc.Code spells it, e.g. "INVALID_ARGUMENT".
std::string_view CodeName(Code code);

// What a failure is about, for programs. The message is for people and says it too; no program
// reads it to find one of these.
struct Detail {
  std::string field;    // of the request, as its API or file spells it: "mounts[2].source"
  std::string value;    // of the field, as it was given
  std::string allowed;  // what the field accepts
  std::string path;     // what a system call was given
  std::string hint;     // an id of what a person may do next, below
  int error = 0;        // errno
  int item = -1;        // the index in the list of which one item failed
};
inline const Detail kNoDetail;

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const Detail& detail() const { return detail_ ? *detail_ : kNoDetail; }
  // The same failure with another detail; as one of the item `index` of a list.
  Status With(Detail detail) const;
  Status OfItem(size_t index) const;

  // "INVALID_ARGUMENT: message", or "OK".
  std::string ToString() const;

  // By what they say: details are left out.
  friend bool operator==(const Status& a, const Status& b);

 private:
  Code code_ = Code::kOk;
  std::string message_;
  std::shared_ptr<const Detail> detail_;
};

inline Status OkStatus() { return {}; }
inline Status InvalidArgument(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
inline Status NotFound(std::string m) { return {Code::kNotFound, std::move(m)}; }
inline Status AlreadyExists(std::string m) { return {Code::kAlreadyExists, std::move(m)}; }
inline Status PermissionDenied(std::string m) { return {Code::kPermissionDenied, std::move(m)}; }
inline Status FailedPrecondition(std::string m) {
  return {Code::kFailedPrecondition, std::move(m)};
}
inline Status ResourceExhausted(std::string m) { return {Code::kResourceExhausted, std::move(m)}; }
inline Status Unavailable(std::string m) { return {Code::kUnavailable, std::move(m)}; }
inline Status Internal(std::string m) { return {Code::kInternal, std::move(m)}; }
inline Status Cancelled(std::string m) { return {Code::kCancelled, std::move(m)}; }

// errno → Status, in one place: "<what>: Permission denied". `what` is verb + object.
Status ErrnoStatus(int error_number, std::string_view what);

// A broken invariant: prints and aborts. Not for bad input.
#define ODY_CHECK(condition)                                                             \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (0)

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function returns either one as it is.
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    ODY_CHECK(!status_.ok());
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  T& value() & { return Checked(value_); }
  const T& value() const& { return Checked(value_); }
  T&& value() && { return std::move(Checked(value_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  auto& Checked(auto& value) const {
    ODY_CHECK(ok());
    return *value;
  }

  Status status_;
  std::optional<T> value_;
};

#define ODY_RETURN_IF_ERROR(expr)                                      \
  do {                                                                 \
    if (auto ody_status = (expr); !ody_status.ok()) return ody_status; \
  } while (0)

#define ODY_CONCAT_INNER(a, b) a##b
#define ODY_CONCAT(a, b) ODY_CONCAT_INNER(a, b)
// ODY_ASSIGN_OR_RETURN(auto fd, OpenAt(...)); — a statement, never nested in an expression.
#define ODY_ASSIGN_OR_RETURN(lhs, expr) \
  ODY_ASSIGN_OR_RETURN_IMPL(ODY_CONCAT(ody_result_, __LINE__), lhs, expr)
#define ODY_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                              \
  if (!result.ok()) return result.status();          \
  lhs = std::move(result).value()

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_STATUS_H_
