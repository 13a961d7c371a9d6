#include "supervisor/egress/worker/tls_contexts.h"

#include <openssl/ssl.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace odyssey::egress {
namespace {

using Context = asio::ssl::context;

constexpr size_t kMaxRoots = 4 << 20;
constexpr std::string_view kHttp11 = "\x08http/1.1", kHttp2 = "\x02h2",
                           kBoth = "\x02h2\x08http/1.1";

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Result<std::string> ReadAll(int fd) {
  std::string out;
  char part[16384];
  for (off_t at = 0; out.size() <= kMaxRoots;) {
    const ssize_t n = pread(fd, part, sizeof(part), at);
    if (n < 0) return ErrnoStatus(errno, "read the host's certificates");
    if (n == 0) return out;
    out.append(part, static_cast<size_t>(n));
    at += n;
  }
  return Unavailable("the host's certificates have more than 4 MiB");
}

int Choose(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
           unsigned offered_size, void* known) {
  const std::string_view ours = AlpnOf(*static_cast<const HttpVersions*>(known));
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(
      &chosen, size, Bytes(ours), static_cast<unsigned>(ours.size()), offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void Restrict(Context* context) {
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_max_early_data(native, 0);
  SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
}

}  // namespace

std::string_view AlpnOf(HttpVersions versions) {
  switch (versions) {
    case HttpVersions::kHttp11:
      return kHttp11;
    case HttpVersions::kHttp2:
      return kHttp2;
    case HttpVersions::kBoth:
      break;
  }
  return kBoth;
}

Result<std::shared_ptr<Context>> TlsContexts::ForClientOf(const std::string& host,
                                                          HttpVersions versions) {
  // What OpenSSL's callback gets outlives every context.
  static HttpVersions known[] = {HttpVersions::kHttp11, HttpVersions::kHttp2, HttpVersions::kBoth};
  if (!authority_) return Unavailable("the cell has no authority for certificates");
  ODY_ASSIGN_OR_RETURN(const tls::Leaf leaf,
                       authority_->Mint(host, std::chrono::system_clock::now()));
  auto context = std::make_shared<Context>(Context::tls_server);
  Restrict(context.get());
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_alpn_select_cb(native, Choose, &known[static_cast<size_t>(versions)]);
  const bool made = SSL_CTX_use_certificate(native, leaf.certificate.get()) == 1 &&
                    SSL_CTX_use_PrivateKey(native, leaf.key) == 1;
  if (!made) return Internal("OpenSSL takes no certificate for " + host);
  return context;
}

Result<Context*> TlsContexts::ForServers() {
  if (to_servers_) return to_servers_.get();
  if (!roots_) return Unavailable("the host has no certificates to verify servers with");
  ODY_ASSIGN_OR_RETURN(const std::string roots, ReadAll(roots_.get()));
  auto context = std::make_unique<Context>(Context::tls_client);
  Restrict(context.get());
  boost::system::error_code error;
  context->add_certificate_authority(asio::buffer(roots), error);
  if (error) return Unavailable("the host's certificates: " + error.message());
  context->set_verify_mode(asio::ssl::verify_peer, error);
  to_servers_ = std::move(context);
  return to_servers_.get();
}

}  // namespace odyssey::egress
