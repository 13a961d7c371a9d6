#ifndef ODYSSEY_HTTP_HEAD_ACCESS_H_
#define ODYSSEY_HTTP_HEAD_ACCESS_H_

// Which requests a browser's page of another site may not make, and the token of a request. Pure.
//
//   * Host must be a name of this listener: a page whose own name was made to resolve to this host
//     (DNS rebinding) sends its own.
//   * Origin, which a browser sends and a page cannot change, must be that host.
//   * A cookie goes with requests that a page makes, so what it changes needs that Origin.

#include <set>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::head {

inline constexpr char kCookieName[] = "odyssey";

// The header fields that count; a field that is not there is empty.
struct AccessFields {
  std::string_view host, origin, authorization, cookie;
  size_t hosts = 1;      // how many Host fields there are
  bool changes = false;  // by its method: other than GET and HEAD
};

// What every listener is called, beside the names of a setting.
std::set<std::string> LoopbackNames();

// PERMISSION_DENIED naming the field; INVALID_ARGUMENT: there is not one Host.
Status CheckHostAndOrigin(const AccessFields& fields, const std::set<std::string>& names);

struct Credential {
  std::string token;
  bool of_cookie = false;
};
// UNAUTHENTICATED: there is none, or it is no token. PERMISSION_DENIED: a cookie alone, for a
// change, without an Origin. CheckHostAndOrigin has passed.
Result<Credential> FindCredential(const AccessFields& fields);

// Of "Host: NAME:PORT" the name, in lower case, with the brackets of an address; "" if it is none.
std::string NameOfHost(std::string_view host);

}  // namespace odyssey::head

#endif  // ODYSSEY_HTTP_HEAD_ACCESS_H_
