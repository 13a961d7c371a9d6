#ifndef ODYSSEY_HUB_SERVER_HUB_DIRECTORY_H_
#define ODYSSEY_HUB_SERVER_HUB_DIRECTORY_H_

// The directory of a hub. One process writes it, from one thread.

#include <string>

#include "common/base/status.h"
#include "hub/artifact/exchange.h"

namespace odyssey::server {

enum class Tags { kImmutable, kReplaceable };

class HubDirectory final {
 public:
  // Makes it.
  static Result<HubDirectory> Open(const std::string& path, Tags tags);

  // Checks and stores. ALREADY_EXISTS: the tag names another digest, or the digest has another
  // signature.
  Status Publish(const artifact::Publish& publish) const;
  // By digest, or by tag, or the latest tag. NOT_FOUND: "missing".
  Result<artifact::Pulled> Pull(const artifact::Pull& pull) const;

 private:
  HubDirectory(std::string path, Tags tags) : path_(std::move(path)), tags_(tags) {}

  std::string BlobPath(const std::string& digest) const;
  std::string SignaturePath(const std::string& digest) const;
  Status AddBlob(const std::string& digest, const std::string& bytes) const;
  Result<std::string> LatestTag(const std::string& repository) const;
  Result<std::string> FindDigest(const artifact::Pull& pull) const;

  std::string path_;
  Tags tags_;
};

}  // namespace odyssey::server

#endif  // ODYSSEY_HUB_SERVER_HUB_DIRECTORY_H_
