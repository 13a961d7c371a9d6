#include "supervisor/egress/worker/executed_files.h"

#include <openssl/evp.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "supervisor/egress/credentials/digest.h"

namespace odyssey::egress {
namespace {

constexpr size_t kMaxKnown = 16;  // each holds a descriptor
constexpr size_t kReadBytes = size_t{256} << 10;

// FUSE, NFS, SMB, 9P, Ceph, AFS (statfs(2)).
constexpr uint32_t kServedElsewhere[] = {0x65735546, 0x6969,     0xfe534d42, 0xff534d42,
                                         0x01021997, 0x00c36400, 0x5346414f};

bool Executes(const UniqueFd& memory) {
  uint64_t page = 0;
  return pread(memory.get(), &page, sizeof(page), 0) == ssize_t{sizeof(page)};
}

bool IsWrittenElsewhere(const UniqueFd& file) {
  struct statfs system {};
  if (fstatfs(file.get(), &system) != 0) return true;
  const auto type = static_cast<uint32_t>(system.f_type);
  const bool served = std::count(std::begin(kServedElsewhere), std::end(kServedElsewhere), type);
  return served && (static_cast<uint64_t>(system.f_flags) & ST_RDONLY) == 0;
}

// "": it cannot be read.
std::string Hash(const UniqueFd& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  ODY_CHECK(context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  std::vector<char> buffer(kReadBytes);
  off_t at = 0;
  for (;;) {
    const ssize_t size = pread(file.get(), buffer.data(), buffer.size(), at);
    if (size < 0) return "";
    if (size == 0) break;
    ODY_CHECK(EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(size)) == 1);
    at += size;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ODY_CHECK(EVP_DigestFinal_ex(context.get(), digest, &size) == 1);
  return credentials::HexOf({reinterpret_cast<const char*>(digest), size});
}

}  // namespace

std::string ExecutedFiles::Sha256Of(const UniqueFd& file, UniqueFd memory) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  if (static_cast<uint64_t>(info.st_size) > kMaxExecutedFile || IsWrittenElsewhere(file)) return "";
  known_.remove_if([](const Known& known) { return !Executes(known.memory); });
  const auto it = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.device == info.st_dev && known.inode == info.st_ino;
  });
  if (it != known_.end()) return it->sha256;
  std::string sha256 = Hash(file);
  if (sha256.empty() || !Executes(memory)) return "";
  if (known_.size() == kMaxKnown) known_.pop_front();
  known_.push_back({info.st_dev, info.st_ino, sha256, std::move(memory)});
  return sha256;
}

}  // namespace odyssey::egress
