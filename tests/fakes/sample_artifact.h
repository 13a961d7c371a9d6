#ifndef ODYSSEY_TESTS_FAKES_SAMPLE_ARTIFACT_H_
#define ODYSSEY_TESTS_FAKES_SAMPLE_ARTIFACT_H_

#include <string>

#include "common/base/sha256.h"
#include "common/oci/layout.h"
#include "hub/artifact/artifact.h"

namespace odyssey::fakes {

// A whole bundle with one layer of any bytes.
inline artifact::Artifact SampleArtifact(const std::string& ns = "team",
                                         const std::string& version = "0.1.0") {
  artifact::Artifact out;
  out.config = R"({"schema_version":1,"id":"demo","version":")" + version + R"(","namespace":")" +
               ns + R"(","readme":"hello"})";
  out.layers = {{artifact::DigestOf("layer"), "layer"}};
  oci::Manifest manifest;
  manifest.config = {Sha256Hex(out.config), out.config.size()};
  manifest.layers = {{Sha256Hex("layer"), 5}};
  out.manifest = oci::WriteManifest(manifest, ns + "/demo:" + version);
  return out;
}

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_SAMPLE_ARTIFACT_H_
