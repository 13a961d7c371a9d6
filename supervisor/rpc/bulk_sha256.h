#ifndef ODYSSEY_SUPERVISOR_RPC_BULK_SHA256_H_
#define ODYSSEY_SUPERVISOR_RPC_BULK_SHA256_H_

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace odyssey::supervisor {

// SHA-256 of gigabytes, by OpenSSL, which has the processor's instructions for it
// (common/base/sha256 has not).
class BulkSha256 final {
 public:
  BulkSha256();
  ~BulkSha256();
  BulkSha256(const BulkSha256&) = delete;
  BulkSha256& operator=(const BulkSha256&) = delete;

  void Update(std::string_view bytes);
  // "sha256:" and 64 hex digits. Nothing may be added afterwards.
  std::string Digest();

 private:
  evp_md_ctx_st* const context_;
};

// Of one text.
std::string DigestOf(std::string_view bytes);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_BULK_SHA256_H_
