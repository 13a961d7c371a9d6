// What a hub answers to a pull: every text is an answer or a failure, and what passes the checks
// makes an archive that is read again as the same bundle.

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "hub/artifact/archive.h"
#include "hub/artifact/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace artifact = odyssey::artifact;
  using odyssey::Result;
  const std::string body(reinterpret_cast<const char*>(data), size);
  const Result<artifact::Pulled> pulled = artifact::ReadPulled(body);
  if (!pulled.ok()) return 0;
  if (!artifact::CheckPulled(artifact::ParsePullReference("team/demo").value(), *pulled).ok())
    return 0;
  const Result<std::string> archive = artifact::WriteArchive(pulled->artifact);
  ODY_CHECK(archive.ok());
  const Result<artifact::Artifact> again = artifact::ReadArchive(*archive);
  ODY_CHECK(again.ok());
  ODY_CHECK(again->manifest == pulled->artifact.manifest);
  ODY_CHECK(again->config == pulled->artifact.config);
  return 0;
}
