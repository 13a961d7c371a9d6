#ifndef ODYSSEY_IMAGE_SPEC_IMAGE_SPEC_H_
#define ODYSSEY_IMAGE_SPEC_IMAGE_SPEC_H_

// The JSON files of a container image, of OCI and of Docker (schema 2): an index names a manifest
// for each platform, a manifest the config and the layers, each by the digest of its bytes. Written
// by strangers. Readers ignore keys that they do not know. Pure.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::image {

inline constexpr size_t kMaxManifestBytes = size_t{4} << 20;  // registries take no larger one
inline constexpr size_t kMaxNameBytes = 255;  // of NAME in NAME:TAG, as of registries
inline constexpr size_t kMaxTagBytes = 128;
inline constexpr size_t kDigestBytes = 7 + 64;  // "sha256:" and hex
inline constexpr size_t kMaxConfigBytes = size_t{8} << 20;
inline constexpr size_t kMaxLayers = 127;  // overlayfs takes 500; Docker makes no more than 127

enum class Packing { kNone, kGzip, kZstd };

struct Blob {
  std::string digest;  // "sha256:" and 64 lower-case hex digits
  uint64_t size = 0;
  friend bool operator==(const Blob&, const Blob&) = default;
};

struct Layer {
  Blob blob;
  Packing packing = Packing::kNone;
  friend bool operator==(const Layer&, const Layer&) = default;
};

struct Manifest {
  Blob config;
  std::vector<Layer> layers;  // the lowest first
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// What a command of the image has, unless it is told otherwise.
struct Config {
  std::string architecture, os;
  std::string user;  // "", "USER", "USER:GROUP", by name or number
  std::string working_directory;
  std::vector<std::string> env;  // "NAME=VALUE"
  std::vector<std::string> entrypoint, command;
  std::vector<std::string> exposed_ports;  // "80/tcp"
  std::vector<std::string> volumes;        // absolute paths
  std::map<std::string, std::string> labels;
  std::vector<std::string> diff_ids;  // digests of the unpacked layers, as many as there are
  friend bool operator==(const Config&, const Config&) = default;
};

struct Platform {
  std::string os = "linux";
  std::string architecture;  // "amd64", as Go names them
  friend bool operator==(const Platform&, const Platform&) = default;
};

// One manifest, or another index, that an index names.
struct IndexEntry {
  Blob blob;
  bool is_index = false;
  Platform platform = {.os = "", .architecture = ""};  // "": it does not say
  std::string name;  // of the image, as the index has it; "": none
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};

// Without what is neither. INVALID_ARGUMENT names the key, the value and what is allowed.
Result<std::vector<IndexEntry>> ReadIndex(std::string_view index);

// INVALID_ARGUMENT as above; NOT_FOUND: no manifest of that platform, and which there are.
Result<Blob> ChooseManifest(std::string_view index, const Platform& platform);
Result<Manifest> ReadManifest(std::string_view text);
Result<Config> ReadConfig(std::string_view text);

// "sha256:" and 64 lower-case hex digits.
bool IsDigest(std::string_view text);

// Whether the text is an index, by its media type or its keys.
bool IsIndex(std::string_view text);

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_SPEC_IMAGE_SPEC_H_
