// Programs and libraries that a policy names are read before they are mounted: whatever their bytes
// are, no read outside the file, no excess memory, and bounded lists.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/status.h"
#include "policy/elf/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace elf = odyssey::elf;
  const auto read = [&](uint64_t offset, size_t count, char* out) {
    ODY_CHECK(offset <= size && count <= size - offset);
    std::memcpy(out, data + offset, count);
    return true;
  };
  const odyssey::Result<elf::Image> image = elf::ReadImage(size, read);
  if (!image.ok()) return 0;
  ODY_CHECK(image->needed.size() <= elf::kMaxNeeded);
  ODY_CHECK(image->interpreter.size() < elf::kMaxString);
  ODY_CHECK(image->kind != elf::Kind::kScript || !image->interpreter.empty());
  ODY_CHECK(image->kind != elf::Kind::kOther || *image == elf::Image{});
  return 0;
}
