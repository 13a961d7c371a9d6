#include "supervisor/egress/tls/authority.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <set>

namespace odyssey::egress::tls {
namespace {

using std::string_literals::operator""s;

const Authority::Time kNow = std::chrono::system_clock::from_time_t(1'800'000'000);

template <typename T, void (*kFree)(T*)>
struct Free {
  void operator()(T* object) const { kFree(object); }
};

Authority Made(const std::string& cell = "ses_1") {
  Result<Authority> made = Authority::Make(cell, kNow);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return std::move(made).value();
}

Leaf Minted(Authority* authority, const std::string& host, Authority::Time now = kNow) {
  Result<Leaf> minted = authority->Mint(host, now);
  EXPECT_TRUE(minted.ok()) << minted.status().ToString();
  return std::move(minted).value();
}

Certificate FromPem(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  return Certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
}

// OpenSSL's judgement, as strict as it can be, of a server with the certificate.
int Verify(const std::string& authority_pem, X509* leaf, const std::string& host,
           Authority::Time now = kNow) {
  const Certificate root = FromPem(authority_pem);
  const std::unique_ptr<X509_STORE, Free<X509_STORE, X509_STORE_free>> store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), root.get());
  const std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX, X509_STORE_CTX_free>> context(
      X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf, nullptr);
  X509_STORE_CTX_set_default(context.get(), "ssl_server");
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_time(parameters, std::chrono::system_clock::to_time_t(now));
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(parameters, host.data(), host.size());
  }
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

TEST(AuthorityTest, ALeafIsOfItsHostOnly) {
  Authority authority = Made();
  const struct {
    const char* minted;
    const char* asked;
    int verdict;
  } kCases[] = {
      {"example.com", "example.com", X509_V_OK},
      {"example.com", "EXAMPLE.com", X509_V_OK},
      {"example.com", "www.example.com", X509_V_ERR_HOSTNAME_MISMATCH},
      {"www.example.com", "example.com", X509_V_ERR_HOSTNAME_MISMATCH},
      {"policy.local", "policy.local", X509_V_OK},
      {"192.0.2.1", "192.0.2.1", X509_V_OK},
      {"192.0.2.1", "192.0.2.2", X509_V_ERR_IP_ADDRESS_MISMATCH},
      {"2001:db8::1", "2001:db8::1", X509_V_OK},
      {"2001:db8::1", "2001:db8::2", X509_V_ERR_IP_ADDRESS_MISMATCH},
      {"example.com", "192.0.2.1", X509_V_ERR_IP_ADDRESS_MISMATCH},
  };
  for (const auto& c : kCases) {
    const Leaf leaf = Minted(&authority, c.minted);
    EXPECT_EQ(Verify(authority.certificate_pem(), leaf.certificate.get(), c.asked), c.verdict)
        << c.minted << " for " << c.asked;
  }
}

TEST(AuthorityTest, AnotherCellsAuthorityIsNotTrusted) {
  Authority authority = Made();
  const Authority other = Made();
  const Leaf leaf = Minted(&authority, "example.com");
  EXPECT_NE(Verify(other.certificate_pem(), leaf.certificate.get(), "example.com"), X509_V_OK);
}

TEST(AuthorityTest, ALeafSignsNothing) {
  Authority authority = Made();
  const Leaf leaf = Minted(&authority, "example.com");
  EXPECT_EQ(X509_check_ca(leaf.certificate.get()), 0);
  const Certificate root = FromPem(authority.certificate_pem());
  EXPECT_EQ(X509_check_ca(root.get()), 1);
  EXPECT_EQ(X509_get_pathlen(root.get()), 0);
  EXPECT_NE(EVP_PKEY_eq(leaf.key, X509_get0_pubkey(root.get())), 1) << "the key that signs";
}

TEST(AuthorityTest, ALeafIsValidForAWeek) {
  Authority authority = Made();
  const Leaf leaf = Minted(&authority, "example.com");
  const auto at = [&](Authority::Time now) {
    return Verify(authority.certificate_pem(), leaf.certificate.get(), "example.com", now);
  };
  using std::chrono::minutes;
  EXPECT_EQ(at(kNow - minutes(59)), X509_V_OK);
  EXPECT_NE(at(kNow - minutes(61)), X509_V_OK);
  EXPECT_EQ(at(kNow + kLeafValid - minutes(1)), X509_V_OK);
  EXPECT_EQ(at(kNow + kLeafValid + minutes(1)), X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST(AuthorityTest, ALeafHasAnAlternativeNameAndNoSubject) {
  Authority authority = Made();
  const Leaf leaf = Minted(&authority, "example.com");
  EXPECT_EQ(X509_NAME_entry_count(X509_get_subject_name(leaf.certificate.get())), 0);
  EXPECT_EQ(EVP_PKEY_eq(leaf.key, X509_get0_pubkey(leaf.certificate.get())), 1);
}

TEST(AuthorityTest, SerialNumbersDiffer) {
  Authority authority = Made();
  std::set<std::string> serials;
  for (int i = 0; i < 50; ++i) {
    const Leaf leaf = Minted(&authority, "host" + std::to_string(i));
    const ASN1_INTEGER* serial = X509_get0_serialNumber(leaf.certificate.get());
    EXPECT_EQ(ASN1_STRING_length(serial), 16);
    EXPECT_TRUE(
        serials.emplace(reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)), 16).second);
  }
}

TEST(AuthorityTest, MintsForNamesAndAddressesOnly) {
  Authority authority = Made();
  for (const std::string& host :
       {""s, "*"s, "*.example.com"s, "EXAMPLE.com"s, "example.com."s, "a b"s, "a\0.example"s,
        "192.0.2.1\0.example"s, "192.0.2.1\0"s, "[2001:db8::1]"s, "2001:DB8::1"s, "fe80::1%lo"s,
        "a,DNS:b"s, std::string(254, 'a')}) {
    EXPECT_EQ(authority.Mint(host, kNow).status().code(), Code::kInvalidArgument) << host;
  }
}

TEST(AuthorityTest, KeepsLeavesOfTheLastHosts) {
  Authority authority = Made();
  const Leaf first = Minted(&authority, "first");
  const Leaf second = Minted(&authority, "second");
  for (size_t i = 0; i < kMaxLeaves - 2; ++i) Minted(&authority, "host" + std::to_string(i));
  EXPECT_EQ(Minted(&authority, "first").certificate.get(), first.certificate.get());
  Minted(&authority, "one.more");
  EXPECT_EQ(Minted(&authority, "first").certificate.get(), first.certificate.get());
  EXPECT_NE(Minted(&authority, "second").certificate.get(), second.certificate.get());
}

TEST(AuthorityTest, RenewsALeafBeforeItExpires) {
  Authority authority = Made();
  const Leaf leaf = Minted(&authority, "example.com");
  const auto cached = kNow + kLeafRenewed - std::chrono::minutes(1);
  EXPECT_EQ(Minted(&authority, "example.com", cached).certificate.get(), leaf.certificate.get());
  const auto late = kNow + kLeafValid + std::chrono::hours(1);
  const Leaf renewed = Minted(&authority, "example.com", late);
  EXPECT_EQ(Verify(authority.certificate_pem(), renewed.certificate.get(), "example.com", late),
            X509_V_OK);
}

TEST(AuthorityTest, NamesItsCell) {
  for (const std::string& cell : {"ses_1/agent"s, std::string(200, 'x'), ""s, "\xff\0,CN=x"s}) {
    Authority authority = Made(cell);
    const Certificate root = FromPem(authority.certificate_pem());
    ASSERT_TRUE(root);
    char name[256] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(root.get()), NID_commonName, name,
                              sizeof(name));
    EXPECT_EQ(std::string(name).rfind("Odyssey cell ", 0), 0U) << name;
    const Leaf leaf = Minted(&authority, "example.com");
    EXPECT_EQ(Verify(authority.certificate_pem(), leaf.certificate.get(), "example.com"),
              X509_V_OK);
  }
}

// A handshake in memory between OpenSSL's client, which trusts the authority, and its server.
TEST(AuthorityTest, ServesAHandshake) {
  Result<Authority> made = Authority::Make("ses_1", std::chrono::system_clock::now());
  ASSERT_TRUE(made.ok());
  const Leaf leaf = Minted(&*made, "example.com", std::chrono::system_clock::now());
  using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX, SSL_CTX_free>>;
  using Session = std::unique_ptr<SSL, Free<SSL, SSL_free>>;

  const Context server_context(SSL_CTX_new(TLS_server_method()));
  ASSERT_EQ(SSL_CTX_use_certificate(server_context.get(), leaf.certificate.get()), 1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey(server_context.get(), leaf.key), 1);
  ASSERT_EQ(SSL_CTX_check_private_key(server_context.get()), 1);
  const Context client_context(SSL_CTX_new(TLS_client_method()));
  const Certificate root = FromPem(made->certificate_pem());
  X509_STORE_add_cert(SSL_CTX_get_cert_store(client_context.get()), root.get());
  SSL_CTX_set_verify(client_context.get(), SSL_VERIFY_PEER, nullptr);

  const Session server(SSL_new(server_context.get()));
  const Session client(SSL_new(client_context.get()));
  SSL_set1_host(client.get(), "example.com");
  BIO* one = nullptr;
  BIO* other = nullptr;
  ASSERT_EQ(BIO_new_bio_pair(&one, 0, &other, 0), 1);
  SSL_set_bio(client.get(), one, one);
  SSL_set_bio(server.get(), other, other);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  for (int i = 0; i < 10; ++i) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  EXPECT_EQ(SSL_get_verify_result(client.get()), X509_V_OK);
  EXPECT_EQ(SSL_is_init_finished(client.get()), 1);
  EXPECT_EQ(SSL_is_init_finished(server.get()), 1);
}

}  // namespace
}  // namespace odyssey::egress::tls
