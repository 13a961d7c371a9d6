#include "common/base/refusal.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace odyssey {

Status Refused(Code code, std::string field, std::string value, std::string_view why,
               std::string allowed) {
  std::string message = field + ": " + (value.empty() ? "" : value + ": ") + std::string(why);
  return Status(code, std::move(message))
      .With({.field = std::move(field), .value = std::move(value), .allowed = std::move(allowed)});
}

Status OfField(std::string_view field, const Status& status, std::string value) {
  Detail detail = status.detail();
  if (!value.empty()) detail.value = std::move(value);
  const bool has_part = !detail.field.empty();
  detail.field = std::string(field) + (has_part ? "." + detail.field : "");
  return WithMessage(std::string(field) + (has_part ? "." : ": ") + status.message(),
                     status.With(std::move(detail)));
}

Status AboutField(std::string field, const Status& status) {
  Detail detail = status.detail();
  detail.field = std::move(field);
  return status.With(std::move(detail));
}

Status WithHint(std::string hint, const Status& status) {
  Detail detail = status.detail();
  detail.hint = std::move(hint);
  return status.With(std::move(detail));
}

Status WithMessage(std::string message, const Status& status) {
  return Status(status.code(), std::move(message)).With(status.detail());
}

std::string_view WhyRefused(const Status& status) {
  std::string_view message = status.message();
  const std::string& field = status.detail().field;
  if (field.empty() || message.substr(0, field.size()) != field) return message;
  message.remove_prefix(field.size());
  message.remove_prefix(std::min(message.find_first_not_of(": "), message.size()));
  return message;
}

bool operator==(const Detail& a, const Detail& b) {
  const auto all = [](const Detail& d) {
    return std::tie(d.field, d.value, d.allowed, d.path, d.hint, d.error, d.item);
  };
  return all(a) == all(b);
}

}  // namespace odyssey
