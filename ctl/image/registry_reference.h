#ifndef ODYSSEY_CTL_IMAGE_REGISTRY_REFERENCE_H_
#define ODYSSEY_CTL_IMAGE_REGISTRY_REFERENCE_H_

// What a person names of a registry: "HOST[:PORT]/PATH[:TAG][@sha256:HEX]". No registry is a
// default. Pure.

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::ctl {

enum class Transport { kTls, kPlainHttp };

struct RegistryReference {
  std::string registry;    // "HOST" or "HOST:PORT", as it was given
  std::string host;        // normalised
  uint16_t port = 0;       // the transport's own, where none was given
  std::string repository;  // "library/debian"
  std::string tag;         // "latest" if neither it nor a digest was given; "" with a digest alone
  std::string digest;      // "sha256:…" or ""
  std::string name;        // what it is called here: as it was given, without the digest; "" of a
                           // digest without a tag

  // "docker://REGISTRY/REPOSITORY@DIGEST", for skopeo.
  std::string AtDigest(const std::string& other) const;
  std::string AtTag(const std::string& other) const;
  // By the digest if there is one, else by the tag.
  std::string Source() const;
};

// `registry`: of --registry; "": the reference begins with it. INVALID_ARGUMENT begins with what is
// wrong, REF or --registry, and its value.
Result<RegistryReference> ParseRegistryReference(const std::string& text,
                                                 const std::string& registry, Transport transport);

// "linux/amd64"; INVALID_ARGUMENT says what is expected, the caller adds the option.
Result<image::Platform> ParsePlatform(const std::string& text);

// Of the machine as uname(2) calls it.
image::Platform PlatformOf(const std::string& machine);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_REGISTRY_REFERENCE_H_
