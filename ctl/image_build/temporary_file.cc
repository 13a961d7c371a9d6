#include "ctl/image_build/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "common/base/sha256.h"

namespace odyssey::ctl {

Result<UniqueFd> MakeTemporaryFile() {
  const char* const given = getenv("TMPDIR");
  const std::string directory = given != nullptr && *given == '/' ? given : "/tmp";
  UniqueFd file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
  if (!file) return ErrnoStatus(errno, "create a file in " + directory);
  return file;
}

Result<image::Blob> BlobOf(int file) {
  if (lseek(file, 0, SEEK_SET) != 0) return ErrnoStatus(errno, "rewind the layer");
  Sha256 hash;
  image::Blob blob;
  std::string buffer(256 * 1024, '\0');
  for (;;) {
    const ssize_t n = read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read the layer");
    if (n == 0) break;
    hash.Update(std::string_view(buffer).substr(0, static_cast<size_t>(n)));
    blob.size += static_cast<uint64_t>(n);
  }
  if (lseek(file, 0, SEEK_SET) != 0) return ErrnoStatus(errno, "rewind the layer");
  blob.digest = "sha256:" + hash.Hex();
  return blob;
}

}  // namespace odyssey::ctl
