#include "supervisor/egress/tls/authority.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <optional>
#include <utility>

#include "policy/egress/address.h"
#include "supervisor/egress/protocol/host_name.h"

namespace odyssey::egress::tls {
namespace {

constexpr long kVersion3 = 2;
constexpr size_t kMaxCommonName = 64;
constexpr size_t kSerial = 16;

template <typename T, void (*kFree)(T*)>
struct Free {
  void operator()(T* object) const { kFree(object); }
};
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES, GENERAL_NAMES_free>>;
using Name = std::unique_ptr<GENERAL_NAME, Free<GENERAL_NAME, GENERAL_NAME_free>>;
using Octets = std::unique_ptr<ASN1_OCTET_STRING, Free<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free>>;
using Text = std::unique_ptr<ASN1_IA5STRING, Free<ASN1_IA5STRING, ASN1_IA5STRING_free>>;

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key MakeKey() { return Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")); }

bool SetSerial(X509* certificate) {
  unsigned char serial[kSerial];
  if (RAND_bytes(serial, sizeof(serial)) != 1) return false;
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x40);  // as long as all others
  return ASN1_STRING_set(X509_get_serialNumber(certificate), serial, sizeof(serial)) == 1;
}

bool SetTimes(X509* certificate, Authority::Time from, Authority::Time to) {
  using Clock = std::chrono::system_clock;
  return ASN1_TIME_set(X509_getm_notBefore(certificate), Clock::to_time_t(from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), Clock::to_time_t(to)) != nullptr;
}

Certificate NewCertificate(EVP_PKEY* key, Authority::Time now, std::chrono::hours valid) {
  Certificate certificate(X509_new());
  const bool made = certificate && X509_set_version(certificate.get(), kVersion3) == 1 &&
                    SetSerial(certificate.get()) && X509_set_pubkey(certificate.get(), key) == 1 &&
                    SetTimes(certificate.get(), now - kValidBefore, now + valid);
  return made ? std::move(certificate) : nullptr;
}

// `value` as openssl's x509v3_config(5) spells it.
Extension MakeExtension(X509* issuer, X509* subject, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, subject, nullptr, nullptr, 0);
  return Extension(X509V3_EXT_conf_nid(nullptr, &context, id, value));
}

bool AddExtension(X509* certificate, const Extension& extension) {
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string Pem(X509* certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!out || PEM_write_bio_X509(out.get(), certificate) != 1) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Name AddressName(const AddressRange& address) {
  Name name(GENERAL_NAME_new());
  Octets octets(ASN1_OCTET_STRING_new());
  if (!name || !octets) return nullptr;
  if (ASN1_OCTET_STRING_set(octets.get(), address.bytes.data(), address.v6 ? 16 : 4) != 1) {
    return nullptr;
  }
  GENERAL_NAME_set0_value(name.get(), GEN_IPADD, octets.release());
  return name;
}

Name DnsName(const std::string& host) {
  Name name(GENERAL_NAME_new());
  Text text(ASN1_IA5STRING_new());
  if (!name || !text) return nullptr;
  if (ASN1_STRING_set(text.get(), Bytes(host), static_cast<int>(host.size())) != 1) return nullptr;
  GENERAL_NAME_set0_value(name.get(), GEN_DNS, text.release());
  return name;
}

// Critical: without a subject the alternative name is all that says whose the certificate is.
bool AddHost(X509* certificate, const std::string& host) {
  const std::optional<AddressRange> address = ParseAddress(host);
  Name name = address ? AddressName(*address) : DnsName(host);
  const Names names(GENERAL_NAMES_new());
  if (!name || !names || sk_GENERAL_NAME_push(names.get(), name.get()) == 0) return false;
  name.release();
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 1, X509V3_ADD_DEFAULT) ==
         1;
}

// In the one spelling, so that a host has one certificate. A NUL or `*` is in none.
bool IsHost(const std::string& host) {
  if (protocol::ReadHostName(host) == host) return true;
  if (host.find('\0') != std::string::npos) return false;
  const std::optional<AddressRange> address = ParseAddress(host);
  return address && ToString(*address) == host;
}

}  // namespace

void FreeCertificate::operator()(X509* certificate) const { X509_free(certificate); }
void FreeKey::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
void FreeExtension::operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }

Result<Authority> Authority::Make(const std::string& cell, Time now) {
  Authority authority;
  authority.key_ = MakeKey();
  authority.leaf_key_ = MakeKey();
  if (!authority.key_ || !authority.leaf_key_ || !authority.SelfSign(cell, now) ||
      !authority.MakeLeafExtensions()) {
    return Internal("make the certificate authority of cell " + cell + ": OpenSSL failed");
  }
  return authority;
}

Result<std::string> Authority::Save() const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  const bool written = out && PEM_write_bio_PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0,
                                                       nullptr, nullptr) == 1;
  if (!written) return Internal("save a certificate authority: OpenSSL failed");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size)) + pem_;
}

Result<Authority> Authority::Load(const std::string& text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  Authority authority;
  if (in) authority.key_.reset(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  if (in) authority.certificate_.reset(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  authority.leaf_key_ = MakeKey();
  const bool whole =
      authority.key_ && authority.certificate_ && authority.leaf_key_ &&
      X509_check_private_key(authority.certificate_.get(), authority.key_.get()) == 1;
  if (!whole || !authority.MakeLeafExtensions()) {
    return InvalidArgument("a certificate authority that is none");
  }
  authority.pem_ = Pem(authority.certificate_.get());
  return authority;
}

bool Authority::SelfSign(const std::string& cell, Time now) {
  certificate_ = NewCertificate(key_.get(), now, kAuthorityValid);
  if (!certificate_) return false;
  const std::string common_name = ("Odyssey cell " + cell).substr(0, kMaxCommonName);
  X509_NAME* subject = X509_get_subject_name(certificate_.get());
  if (X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, Bytes(common_name),
                                 static_cast<int>(common_name.size()), -1, 0) != 1 ||
      X509_set_issuer_name(certificate_.get(), subject) != 1) {
    return false;
  }
  constexpr std::pair<int, const char*> kExtensions[] = {
      {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
      {NID_key_usage, "critical,keyCertSign"},
      {NID_subject_key_identifier, "hash"},
  };
  X509* self = certificate_.get();
  for (const auto& [id, value] : kExtensions) {
    if (!AddExtension(self, MakeExtension(self, self, id, value))) return false;
  }
  if (X509_sign(self, key_.get(), EVP_sha256()) == 0) return false;
  pem_ = Pem(self);
  return !pem_.empty();
}

bool Authority::MakeLeafExtensions() {
  constexpr std::pair<int, const char*> kExtensions[] = {
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, "serverAuth"},
      {NID_authority_key_identifier, "keyid:always"},
  };
  for (const auto& [id, value] : kExtensions) {
    leaf_extensions_.push_back(MakeExtension(certificate_.get(), nullptr, id, value));
    if (!leaf_extensions_.back()) return false;
  }
  return true;
}

Certificate Authority::Sign(const std::string& host, Time now) const {
  Certificate leaf = NewCertificate(leaf_key_.get(), now, kLeafValid);
  if (!leaf) return nullptr;
  const X509_NAME* issuer = X509_get_subject_name(certificate_.get());
  if (X509_set_issuer_name(leaf.get(), issuer) != 1 || !AddHost(leaf.get(), host)) return nullptr;
  for (const Extension& extension : leaf_extensions_) {
    if (!AddExtension(leaf.get(), extension)) return nullptr;
  }
  return X509_sign(leaf.get(), key_.get(), EVP_sha256()) == 0 ? nullptr : std::move(leaf);
}

Result<Leaf> Authority::Mint(const std::string& host, Time now) {
  if (!IsHost(host)) return InvalidArgument("mint a certificate: the host is no name or address");
  if (const auto known = by_host_.find(host); known != by_host_.end()) {
    leaves_.splice(leaves_.begin(), leaves_, known->second);
    if (now - leaves_.front().made < kLeafRenewed) return LeafOf(leaves_.front());
    by_host_.erase(known);
    leaves_.pop_front();
  }
  Certificate leaf = Sign(host, now);
  if (!leaf) return Internal("mint a certificate for " + host + ": OpenSSL failed");
  if (leaves_.size() == kMaxLeaves) {
    by_host_.erase(leaves_.back().host);
    leaves_.pop_back();
  }
  leaves_.push_front({host, std::move(leaf), now});
  by_host_[host] = leaves_.begin();
  return LeafOf(leaves_.front());
}

Leaf Authority::LeafOf(const Entry& entry) const {
  X509_up_ref(entry.certificate.get());
  return {Certificate(entry.certificate.get()), leaf_key_.get()};
}

}  // namespace odyssey::egress::tls
