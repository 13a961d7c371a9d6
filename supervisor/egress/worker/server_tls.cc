#include "supervisor/egress/worker/server_tls.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "policy/egress/pattern.h"

namespace odyssey::egress {
namespace {

constexpr auto kHandshakeTimeout = std::chrono::seconds(10);

bool SetHost(SSL* native, const std::string& host) {
  if (IsAddress(host)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(native), host.c_str()) == 1;
  }
  return SSL_set1_host(native, host.c_str()) == 1 &&
         SSL_set_tlsext_host_name(native, host.c_str()) == 1;
}

}  // namespace

asio::awaitable<Result<std::unique_ptr<TlsStream>>> ConnectTls(TlsContexts* contexts,
                                                               Tcp::socket socket, std::string host,
                                                               HttpVersions offered) {
  const auto context = contexts->ForServers();
  if (!context.ok()) co_return context.status();
  auto tls = std::make_unique<TlsStream>(std::move(socket), *context);
  SSL* const native = tls->tls().native_handle();
  if (!SetHost(native, host)) co_return Internal("OpenSSL takes no such host");
  const std::string_view alpn = AlpnOf(offered);
  SSL_set_alpn_protos(native, reinterpret_cast<const unsigned char*>(alpn.data()),
                      static_cast<unsigned>(alpn.size()));
  const Deadline deadline(&tls->socket(), kHandshakeTimeout);
  boost::system::error_code error;
  co_await tls->tls().async_handshake(TlsStream::Tls::client,
                                      asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    const long why = SSL_get_verify_result(native);
    co_return Unavailable(
        "TLS with the server failed: " +
        (why == X509_V_OK ? error.message() : std::string(X509_verify_cert_error_string(why))));
  }
  co_return std::move(tls);
}

asio::awaitable<Result<std::unique_ptr<Stream>>> OpenStream(Worker* worker, Dialled dialled,
                                                            std::string tls_host) {
  boost::system::error_code error;
  Tcp::socket socket(*worker->loop());
  socket.assign(Tcp::v6(), dialled.socket.release(), error);
  std::unique_ptr<Stream> stream;
  if (tls_host.empty()) {
    stream = std::make_unique<PlainStream>(std::move(socket));
  } else {
    auto secured =
        co_await ConnectTls(worker->tls(), std::move(socket), tls_host, HttpVersions::kHttp11);
    if (!secured.ok()) co_return secured.status();
    stream = *std::move(secured);
  }
  stream->SetAccount(std::move(dialled.account));
  co_return stream;
}

}  // namespace odyssey::egress
