#include "supervisor/rpc/image_signature.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "image/spec/signed_digest.h"

namespace odyssey::supervisor {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

constexpr int kMinRsaBits = 2048;

bool IsP256(const EVP_PKEY* key) {
  char name[64] = "";
  size_t length = 0;
  return EVP_PKEY_get_group_name(key, name, sizeof(name), &length) == 1 &&
         std::string_view(name, length) == "prime256v1";
}

Status CheckKind(const EVP_PKEY* key) {
  const int type = EVP_PKEY_get_base_id(key);
  const bool good = (type == EVP_PKEY_EC && IsP256(key)) ||
                    (type == EVP_PKEY_RSA && EVP_PKEY_get_bits(key) >= kMinRsaBits);
  return good ? OkStatus()
              : FailedPrecondition(
                    "a key in it is neither ECDSA of P-256 nor RSA of at least 2048 bits");
}

Result<std::vector<Key>> ReadKeys(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  std::vector<Key> keys;
  while (bio) {
    Key key(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    if (!key) break;
    ODY_RETURN_IF_ERROR(CheckKind(key.get()));
    keys.push_back(std::move(key));
  }
  // That there is no further one is an error to it, which stays in the thread's queue.
  ERR_clear_error();
  if (keys.empty()) return FailedPrecondition("it has no public key in PEM");
  return keys;
}

// "" if it is not base64.
std::string FromBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return "";
  std::string out(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) return "";
  // What pads the text is decoded too.
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  out.resize(static_cast<size_t>(length) - padding);
  return out;
}

bool Verifies(EVP_PKEY* key, const ImageSignature& signature) {
  const std::string bytes = FromBase64(signature.signature);
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return !bytes.empty() && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                          bytes.size(),
                          reinterpret_cast<const unsigned char*>(signature.payload.data()),
                          signature.payload.size()) == 1;
}

}  // namespace

Status CheckSigned(const std::string& digest, const std::vector<ImageSignature>& signatures,
                   std::string_view pem) {
  ODY_ASSIGN_OR_RETURN(const std::vector<Key> keys, ReadKeys(pem));
  if (signatures.empty()) return PermissionDenied("no signature came with the image");
  std::string named;
  for (const ImageSignature& signature : signatures) {
    const Result<std::string> signed_digest = image::SignedDigest(signature.payload);
    const bool of_this = signed_digest.ok() && *signed_digest == digest;
    const bool verifies = of_this && std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
                            return Verifies(key.get(), signature);
                          });
    ERR_clear_error();
    if (verifies) return OkStatus();
    if (of_this) {
      named = "its signature was made with another key, or its payload was changed";
    } else if (named.empty()) {
      named = signed_digest.ok()
                  ? "its signature is of " + *signed_digest + ", and the image is " + digest
                  : "the payload of its signature: " + signed_digest.status().message();
    }
  }
  return PermissionDenied(named);
}

}  // namespace odyssey::supervisor
