#ifndef ODYSSEY_IMAGE_REPACK_REPACK_H_
#define ODYSSEY_IMAGE_REPACK_REPACK_H_

// Makes a layer of what another tar has: of files of an image, of an archive that ADD names. Both
// are hostile: a client runs these functions in a process that can do no more than read the one
// descriptor and write the other.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "image/layer/layer.h"
#include "image/repack/tar_writer.h"

namespace odyssey::image {

// kAny: gzip, bzip2, xz and zstd too.
enum class TarPacking { kPlain, kAny };

// At most `most` entries from the beginning. FAILED_PRECONDITION: it is no tar. INVALID_ARGUMENT:
// `entry "NAME": why`.
Result<std::vector<TarHeader>> ListTar(int file, TarPacking packing, size_t most,
                                       const Bounds& bounds);

// The content of the first entry, a file. RESOURCE_EXHAUSTED: it is larger.
Result<std::string> ReadOneFile(int file, size_t max_bytes);

// What of a tar comes into the layer.
struct TarPart {
  int file = -1;  // can be rewound. Borrowed.
  TarPacking packing = TarPacking::kPlain;
  std::string from;  // this entry and what is below it; "": all
  std::string to;    // the name of that in the layer; "": the root
};

// What a path of the tar is called in the layer; nothing: it is not of the part. "": the root.
std::optional<std::string> NameInLayer(const TarPart& part, const std::string& path);

struct RepackRules {
  std::optional<std::pair<uint32_t, uint32_t>> owner;  // of all
  std::optional<mode_t> mode;                          // of files and directories
  // In front of everything, in this order: directories on the way.
  std::vector<TarHeader> above;
  // Directories that the image has: mode and owner stay.
  std::map<std::string, TarHeader> kept;
};

// The header as the rules have it.
TarHeader Ruled(const RepackRules& rules, TarHeader header);

// The files of the parts, one part after the other; the caller finishes the tar.
Status Repack(const std::vector<TarPart>& parts, const RepackRules& rules, const Bounds& bounds,
              TarWriter* out);

// DecodeHeaders gives the same headers again. INVALID_ARGUMENT: the text is not of EncodeHeaders.
std::string EncodeHeaders(const std::vector<TarHeader>& headers);
Result<std::vector<TarHeader>> DecodeHeaders(std::string_view text);

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_REPACK_REPACK_H_
