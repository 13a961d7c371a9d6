#ifndef ODYSSEY_HUB_ARTIFACT_EXCHANGE_H_
#define ODYSSEY_HUB_ARTIFACT_EXCHANGE_H_

// The JSON of the hub protocol: two POSTs, with blobs in base64. Readers ignore other keys. Pure.

#include <string>

#include "common/base/status.h"
#include "hub/artifact/artifact.h"

namespace odyssey::artifact {

inline constexpr char kPublishPath[] = "/api/v1/artifacts/publish";
inline constexpr char kPullPath[] = "/api/v1/artifacts/pull";
// Of a body: base64 is 4/3 of the blobs, and the rest is small.
inline constexpr size_t kMaxBodyBytes = kMaxArtifactBytes / 3 * 4 + 1024 * 1024;

struct Publish {
  std::string repository;  // "ns/id"
  std::string tag;
  std::string digest;  // of the manifest
  Artifact artifact;
};
struct Pull {
  std::string repository;
  std::string tag;     // empty: the latest
  std::string digest;  // empty: any
};
struct Pulled {
  std::string version;
  std::string digest;
  Artifact artifact;
};

std::string WritePublish(const Publish& publish);
std::string WritePull(const Pull& pull);
std::string WritePulled(const Pulled& pulled);

// INVALID_ARGUMENT names the key; RESOURCE_EXHAUSTED: more than kMaxArtifactBytes.
Result<Publish> ReadPublish(const std::string& body);
Result<Pull> ReadPull(const std::string& body);
Result<Pulled> ReadPulled(const std::string& body);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_EXCHANGE_H_
