#include "supervisor/rpc/image_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

namespace odyssey::supervisor {
namespace {

using testing::HasSubstr;

const std::string kDigest = "sha256:" + std::string(64, 'd');

// A private key, as cosign's user has it.
class Signer final {
 public:
  explicit Signer(EVP_PKEY* key) : key_(key, EVP_PKEY_free) {}

  std::string Public() const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
    EXPECT_EQ(PEM_write_bio_PUBKEY(bio.get(), key_.get()), 1);
    char* text = nullptr;
    const long length = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<size_t>(length));
  }

  ImageSignature Sign(const std::string& digest) const {
    const std::string payload = R"({"critical":{"identity":{"docker-reference":"registry.test/a"},)"
                                R"("image":{"docker-manifest-digest":")" +
                                digest +
                                R"("},"type":"cosign container image signature"},"optional":{}})";
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free);
    EXPECT_EQ(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()), 1);
    const auto* bytes = reinterpret_cast<const unsigned char*>(payload.data());
    size_t length = 0;
    EXPECT_EQ(EVP_DigestSign(context.get(), nullptr, &length, bytes, payload.size()), 1);
    std::string raw(length, '\0');
    EXPECT_EQ(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(raw.data()), &length,
                             bytes, payload.size()),
              1);
    raw.resize(length);
    std::string text(4 * ((raw.size() + 2) / 3) + 1, '\0');
    const int count = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                      reinterpret_cast<const unsigned char*>(raw.data()),
                                      static_cast<int>(raw.size()));
    text.resize(static_cast<size_t>(count));
    return {payload, text};
  }

 private:
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

Signer P256() { return Signer(EVP_EC_gen("P-256")); }

std::string Why(const std::vector<ImageSignature>& signatures, const std::string& pem) {
  const Status status = CheckSigned(kDigest, signatures, pem);
  return status.ok() ? "signed" : status.message();
}

TEST(ImageSignatureTest, ByEitherKindOfKey) {
  const Signer signer = P256(), rsa(EVP_RSA_gen(2048));
  EXPECT_EQ(Why({signer.Sign(kDigest)}, signer.Public()), "signed");
  EXPECT_EQ(Why({rsa.Sign(kDigest)}, rsa.Public()), "signed");
}

TEST(ImageSignatureTest, OneOfSeveralIsEnough) {
  const Signer signer = P256(), other = P256();
  EXPECT_EQ(Why({other.Sign(kDigest), signer.Sign(kDigest)}, signer.Public()), "signed");
  EXPECT_EQ(Why({signer.Sign(kDigest)}, other.Public() + signer.Public()), "signed");
}

TEST(ImageSignatureTest, RefusesAnothersKey) {
  EXPECT_THAT(Why({P256().Sign(kDigest)}, P256().Public()), HasSubstr("made with another key"));
}

TEST(ImageSignatureTest, RefusesTheSignatureOfAnotherImage) {
  const Signer signer = P256();
  const std::string other = "sha256:" + std::string(64, 'e');
  EXPECT_EQ(Why({signer.Sign(other)}, signer.Public()),
            "its signature is of " + other + ", and the image is " + kDigest);
}

TEST(ImageSignatureTest, RefusesAPayloadThatWasChanged) {
  const Signer signer = P256();
  ImageSignature changed = signer.Sign(kDigest);
  changed.payload += " ";
  EXPECT_THAT(Why({changed}, signer.Public()), HasSubstr("its payload was changed"));
  // Of another image, with this one's payload.
  ImageSignature mixed = signer.Sign("sha256:" + std::string(64, 'e'));
  mixed.payload = signer.Sign(kDigest).payload;
  EXPECT_THAT(Why({mixed}, signer.Public()), HasSubstr("its payload was changed"));
}

TEST(ImageSignatureTest, RefusesWhatIsNoSignature) {
  const Signer signer = P256();
  EXPECT_EQ(Why({}, signer.Public()), "no signature came with the image");
  const std::string payload = signer.Sign(kDigest).payload;
  for (const char* const text : {"", "AAAA", "!!!!", "A", "===="}) {
    EXPECT_THAT(Why({{payload, text}}, signer.Public()), HasSubstr("made with another key"))
        << text;
  }
  EXPECT_EQ(Why({{"{}", "AAAA"}}, signer.Public()),
            "the payload of its signature: critical: is missing");
}

TEST(ImageSignatureTest, RefusesAWeakKey) {
  const Signer weak(EVP_RSA_gen(1024)), p384(EVP_EC_gen("P-384"));
  for (const Signer* const signer : {&weak, &p384}) {
    EXPECT_THAT(Why({signer->Sign(kDigest)}, signer->Public()),
                HasSubstr("neither ECDSA of P-256 nor RSA of at least 2048 bits"));
  }
  EXPECT_EQ(Why({P256().Sign(kDigest)}, "no key"), "it has no public key in PEM");
}

}  // namespace
}  // namespace odyssey::supervisor
