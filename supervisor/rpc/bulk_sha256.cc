#include "supervisor/rpc/bulk_sha256.h"

#include <openssl/evp.h>

#include "common/base/status.h"

namespace odyssey::supervisor {

// Each call fails of memory alone.
BulkSha256::BulkSha256() : context_(EVP_MD_CTX_new()) {
  ODY_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
}

BulkSha256::~BulkSha256() { EVP_MD_CTX_free(context_); }

void BulkSha256::Update(std::string_view bytes) {
  ODY_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
}

std::string BulkSha256::Digest() {
  unsigned char bytes[32];
  ODY_CHECK(EVP_DigestFinal_ex(context_, bytes, nullptr) == 1);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "sha256:";
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string DigestOf(std::string_view bytes) {
  BulkSha256 hash;
  hash.Update(bytes);
  return hash.Digest();
}

}  // namespace odyssey::supervisor
