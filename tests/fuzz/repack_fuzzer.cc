// What COPY --from and ADD unpack is a stranger's archive: any bytes are listed and repacked. What
// comes of it is a tar whose names stay below where they were put.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "image/repack/repack.h"

namespace {

using odyssey::image::TarHeader;
using odyssey::image::TarPacking;

constexpr odyssey::image::Bounds kBounds = {.entries = 1000, .bytes = 1 << 20};

void Check(const std::vector<TarHeader>& headers) {
  const auto again = odyssey::image::DecodeHeaders(odyssey::image::EncodeHeaders(headers));
  ODY_CHECK(again.ok() && *again == headers);
  for (const TarHeader& header : headers) {
    ODY_CHECK(!header.path.starts_with('/'));
    ODY_CHECK(("/" + header.path + "/").find("/../") == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
  ODY_CHECK(ftruncate(in, 0) == 0 && ftruncate(out, 0) == 0 && lseek(out, 0, SEEK_SET) == 0);
  ODY_CHECK(pwrite(in, data, size, 0) == static_cast<ssize_t>(size));
  const auto listed = odyssey::image::ListTar(in, TarPacking::kAny, SIZE_MAX, kBounds);
  if (!listed.ok()) return 0;
  Check(*listed);
  odyssey::image::TarWriter writer(out);
  const odyssey::Status repacked =
      odyssey::image::Repack({{in, TarPacking::kAny, "", "to"}}, {}, kBounds, &writer);
  if (!repacked.ok() || !writer.Finish().ok()) return 0;
  const auto again = odyssey::image::ListTar(out, TarPacking::kPlain, SIZE_MAX, kBounds);
  if (!again.ok()) return 0;  // it has no entry
  Check(*again);
  for (const TarHeader& header : *again) {
    ODY_CHECK(header.path == "to" || header.path.starts_with("to/"));
  }
  return 0;
}
