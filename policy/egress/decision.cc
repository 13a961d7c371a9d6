#include "policy/egress/decision.h"

#include "common/base/control.h"
#include "policy/egress/pattern.h"

namespace odyssey::egress {
namespace {

constexpr size_t kShownBytes = 200;

struct Named {
  std::string_view code;
  int status;
};

Named NamesOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return {"", 200};
    case Refusal::kPolicyDenied:
      return {"policy_denied", 403};
    case Refusal::kSsrfDenied:
      return {"ssrf_denied", 403};
    case Refusal::kUninspectedCredentials:
      return {"uninspected_credentials", 403};
    case Refusal::kUnsupportedProtocol:
      return {"unsupported_l7_protocol", 403};
    case Refusal::kMalformed:
      return {"malformed_request", 400};
    case Refusal::kMethodNotAllowed:
      return {"method_not_allowed", 405};
    case Refusal::kBodyTooLarge:
      return {"body_too_large", 413};
    case Refusal::kUnsupportedEncoding:
      return {"unsupported_media_type", 415};
    case Refusal::kUnreachable:
      return {"upstream_unreachable", 502};
  }
  return {"policy_denied", 403};
}

}  // namespace

std::string_view CodeOf(Refusal refusal) { return NamesOf(refusal).code; }

int HttpStatusOf(Refusal refusal) { return NamesOf(refusal).status; }

std::string Shown(std::string_view text) {
  std::string out(text.substr(0, kShownBytes));
  for (char& c : out) {
    if (HasControl(std::string_view(&c, 1))) c = '?';
  }
  return out.size() < text.size() ? out + "…" : out;
}

}  // namespace odyssey::egress
