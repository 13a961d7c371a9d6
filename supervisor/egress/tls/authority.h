#ifndef ODYSSEY_SUPERVISOR_EGRESS_TLS_AUTHORITY_H_
#define ODYSSEY_SUPERVISOR_EGRESS_TLS_AUTHORITY_H_

// The certificate authority of one cell: what its programs trust, and the certificates by which a
// terminated connection speaks for a host. Lives in memory only.

#include <openssl/x509.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::egress::tls {

inline constexpr size_t kMaxLeaves = 256;
// Clocks that are a little late accept a new certificate, and a cached one is valid for days.
inline constexpr std::chrono::hours kValidBefore{1};
inline constexpr std::chrono::hours kLeafValid{7 * 24};
inline constexpr std::chrono::hours kLeafRenewed{3 * 24};
inline constexpr std::chrono::hours kAuthorityValid{10 * 365 * 24};  // longer than any cell lives

struct FreeCertificate {
  void operator()(X509* certificate) const;
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const;
};
struct FreeExtension {
  void operator()(X509_EXTENSION* extension) const;
};
using Certificate = std::unique_ptr<X509, FreeCertificate>;
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Extension = std::unique_ptr<X509_EXTENSION, FreeExtension>;

// For SSL_CTX_use_certificate and SSL_CTX_use_PrivateKey, which take references of their own.
struct Leaf {
  Certificate certificate;
  EVP_PKEY* key = nullptr;  // the authority's, the same for every host
};

// Not thread-safe. The key that signs leaves it by Save alone.
class Authority final {
 public:
  using Time = std::chrono::system_clock::time_point;

  // Of the cell with that name, which is in the certificate's subject.
  static Result<Authority> Make(const std::string& cell, Time now);

  const std::string& certificate_pem() const { return pem_; }

  // As text, its key in it: for the process that mints, and for no other. Load gives the same one.
  Result<std::string> Save() const;
  static Result<Authority> Load(const std::string& text);

  // A certificate for `host`, a name as protocol::ReadHostName returns it or the text of an
  // address. INVALID_ARGUMENT: it is neither; a pattern is not. The last kMaxLeaves are kept and
  // returned again for kLeafRenewed.
  Result<Leaf> Mint(const std::string& host, Time now);

 private:
  struct Entry {
    std::string host;
    Certificate certificate;
    Time made;
  };
  using Entries = std::list<Entry>;

  Authority() = default;
  bool SelfSign(const std::string& cell, Time now);
  bool MakeLeafExtensions();
  Certificate Sign(const std::string& host, Time now) const;
  Leaf LeafOf(const Entry& entry) const;

  Key key_;
  Certificate certificate_;
  std::string pem_;
  Key leaf_key_;
  std::vector<Extension> leaf_extensions_;  // of every leaf: all but the host's
  Entries leaves_;                          // the last used first
  std::map<std::string, Entries::iterator> by_host_;
};

}  // namespace odyssey::egress::tls

#endif  // ODYSSEY_SUPERVISOR_EGRESS_TLS_AUTHORITY_H_
