#ifndef ODYSSEY_POLICY_ELF_ELF_H_
#define ODYSSEY_POLICY_ELF_ELF_H_

// What the kernel and the dynamic loader will open when a file is executed: the interpreter of a
// script or a program, the libraries that it names, and where it says to look for them. Reads
// bytes, executes nothing; the bytes may be anybody's.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::elf {

// Far above what linkers write; more is a file made to be read slowly.
inline constexpr uint32_t kMaxSegments = 512;
inline constexpr uint64_t kMaxDynamicBytes = 256 * 1024;
inline constexpr size_t kMaxNeeded = 1024;
inline constexpr size_t kMaxString = 4096;  // with its NUL: PATH_MAX
// BINPRM_BUF_SIZE: what the kernel looks at of a script.
inline constexpr size_t kMaxScriptLine = 256;

// Fills `out` from `offset` of the file; false if the file does not have all of it.
using ReadAt = std::function<bool(uint64_t offset, size_t size, char* out)>;

enum class Kind {
  kOther,  // nothing that the kernel executes
  kElf,    // 64-bit, least significant byte first: a program or a library
  kScript,
};

struct Image {
  Kind kind = Kind::kOther;
  std::string interpreter;  // "": a static program, or a library
  std::string argument;     // of a script's interpreter: the rest of its line
  // Of kElf, as they are written there: names or paths, and directories with $ORIGIN in them.
  std::vector<std::string> needed;
  std::vector<std::string> rpath;    // also for the libraries that this one loads; see ld.so(8)
  std::vector<std::string> runpath;  // takes the place of rpath
  friend bool operator==(const Image&, const Image&) = default;
};

// INVALID_ARGUMENT if the file begins as an ELF file but is none that could be loaded; says what is
// wrong with it.
Result<Image> ReadImage(uint64_t file_size, const ReadAt& read);

}  // namespace odyssey::elf

#endif  // ODYSSEY_POLICY_ELF_ELF_H_
