#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_TLS_CONTEXTS_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_TLS_CONTEXTS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ssl/context.hpp>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/egress/tls/authority.h"

namespace odyssey::egress {

namespace asio = boost::asio;

// What ALPN offers, or agrees to.
enum class HttpVersions { kHttp11, kHttp2, kBoth };

// As ALPN has it on the wire, what is preferred first.
std::string_view AlpnOf(HttpVersions versions);

// TLS towards a cell's programs, for which the cell's authority speaks, and towards servers, which
// are verified by the host's certificates. TLS 1.2 and above, no early data.
class TlsContexts final {
 public:
  // `roots`: the host's certificates (PEM), read when they are first needed.
  explicit TlsContexts(UniqueFd roots) : roots_(std::move(roots)) {}

  void SetAuthority(tls::Authority authority) { authority_.emplace(std::move(authority)); }

  // With a certificate for the host. A client that knows ALPN must know one of the versions.
  Result<std::shared_ptr<asio::ssl::context>> ForClientOf(const std::string& host,
                                                          HttpVersions versions);
  // UNAVAILABLE: there are no certificates to verify with. The caller sets ALPN.
  Result<asio::ssl::context*> ForServers();

 private:
  UniqueFd roots_;
  std::optional<tls::Authority> authority_;
  std::unique_ptr<asio::ssl::context> to_servers_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_TLS_CONTEXTS_H_
