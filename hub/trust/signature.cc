#include "hub/trust/signature.h"

#include <openssl/evp.h>

#include <memory>

#include "hub/artifact/base64.h"

namespace odyssey::trust {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kSignatureBytes = 64;
// Before the digest, so that a key's signature of another kind of text is none of a bundle.
constexpr char kContext[] = "odyssey bundle signature 1\n";

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string* text) { return reinterpret_cast<unsigned char*>(text->data()); }

Result<Key> ReadKey(const std::string& text, decltype(&EVP_PKEY_new_raw_public_key) make) {
  const Result<std::string> raw = artifact::FromBase64(text);
  if (!raw.ok() || raw->size() != kKeyBytes) return InvalidArgument("not an Ed25519 key");
  Key key(make(EVP_PKEY_ED25519, nullptr, Bytes(*raw), raw->size()), EVP_PKEY_free);
  if (!key) return InvalidArgument("not an Ed25519 key");
  return key;
}

bool IsSignedBy(const Key& key, const std::string& signature, const std::string& text) {
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(text),
                          text.size()) == 1;
}

}  // namespace

Result<KeyPair> MakeKeyPair() {
  const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
  std::string secret(kKeyBytes, '\0'), open(kKeyBytes, '\0');
  size_t secret_bytes = kKeyBytes, open_bytes = kKeyBytes;
  if (!key || EVP_PKEY_get_raw_private_key(key.get(), Bytes(&secret), &secret_bytes) != 1 ||
      EVP_PKEY_get_raw_public_key(key.get(), Bytes(&open), &open_bytes) != 1) {
    return Internal("make an Ed25519 key: OpenSSL failed");
  }
  return KeyPair{artifact::ToBase64(secret), artifact::ToBase64(open)};
}

Status CheckPublicKey(const std::string& key) {
  return ReadKey(key, EVP_PKEY_new_raw_public_key).status();
}

Result<std::string> Sign(const std::string& secret, const std::string& digest) {
  ODY_ASSIGN_OR_RETURN(const Key key, ReadKey(secret, EVP_PKEY_new_raw_private_key));
  const std::string text = kContext + digest;
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string out(kSignatureBytes, '\0');
  size_t bytes = out.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), Bytes(&out), &bytes, Bytes(text), text.size()) != 1) {
    return Internal("sign " + digest + ": OpenSSL failed");
  }
  return artifact::ToBase64(out);
}

Status CheckSignature(const std::string& signature, const std::string& digest,
                      const std::vector<std::string>& keys) {
  if (signature.empty()) return PermissionDenied("bundle " + digest + ": not signed");
  const Result<std::string> raw = artifact::FromBase64(signature);
  const std::string text = kContext + digest;
  for (const std::string& trusted : keys) {
    ODY_ASSIGN_OR_RETURN(const Key key, ReadKey(trusted, EVP_PKEY_new_raw_public_key));
    if (raw.ok() && IsSignedBy(key, *raw, text)) return OkStatus();
  }
  return PermissionDenied("bundle " + digest + ": not signed by a trusted key");
}

}  // namespace odyssey::trust
