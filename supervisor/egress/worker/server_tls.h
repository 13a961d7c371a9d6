#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_SERVER_TLS_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_SERVER_TLS_H_

#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "common/base/status.h"
#include "supervisor/egress/worker/stream.h"
#include "supervisor/egress/worker/tls_contexts.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// TLS with a server, whose certificate is verified and for `host`. UNAVAILABLE says why not.
asio::awaitable<Result<std::unique_ptr<TlsStream>>> ConnectTls(TlsContexts* contexts,
                                                               Tcp::socket socket, std::string host,
                                                               HttpVersions offered);

// The connection that was dialled, with its account: for requests of HTTP/1.1, under TLS with
// `tls_host`, or without TLS for "". UNAVAILABLE as ConnectTls.
asio::awaitable<Result<std::unique_ptr<Stream>>> OpenStream(Worker* worker, Dialled dialled,
                                                            std::string tls_host);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_SERVER_TLS_H_
