#ifndef ODYSSEY_POLICY_EGRESS_REST_H_
#define ODYSSEY_POLICY_EGRESS_REST_H_

// Method, path and query of requests, for the protocols rest and websocket.

#include "policy/egress/verdict.h"

namespace odyssey::egress {

inline constexpr char kWebSocketText[] = "WEBSOCKET_TEXT";

// One of HTTP's own; their case counts.
bool IsKnownMethod(const std::string& method);

// The value of the header, "" if there is none. `twice`: it is there more than once.
struct HeaderValue {
  std::string value;
  bool twice = false;
};
HeaderValue FindHeader(const Request& request, std::string_view name);

// "application/json" of "Application/JSON; charset=utf-8"; "" if there is none, more than one, or
// a character set that is not UTF-8.
std::string MediaTypeOf(const Request& request);

// Another method for a rule to be about, so that the body of a form is needed (`_method`).
bool MayHideMethod(const std::vector<Pair>& pairs, const Request& request);

inline constexpr uint64_t kMaxFormBytes = uint64_t{1} << 20;

// Access levels and rules of all pairs together; a rule that denies has precedence. The methods
// that X-HTTP-Method-Override and its kind name must be allowed as well.
Verdict JudgeRest(const std::vector<Pair>& pairs, const Request& request);

// By this method, whatever the request's own is.
Verdict JudgeMethod(const std::vector<Pair>& pairs, const Request& request,
                    const std::string& method);

// The matcher's method (GET implies HEAD) and path.
bool MatchesMethodAndPath(const Matcher& matcher, const std::string& method,
                          const std::string& path);

// It is about operations of GraphQL, not about requests of HTTP.
bool IsAboutOperations(const Matcher& matcher);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_REST_H_
