#ifndef ODYSSEY_TESTS_FAKES_SAMPLE_ARTIFACT_H_
#define ODYSSEY_TESTS_FAKES_SAMPLE_ARTIFACT_H_

#include <string>

#include "hub/artifact/artifact.h"

namespace odyssey::fakes {

// A whole bundle with one layer of any bytes.
inline artifact::Artifact SampleArtifact(const std::string& ns = "team",
                                         const std::string& version = "0.1.0") {
  artifact::Artifact out;
  out.config = R"({"schema_version":1,"id":"demo","version":")" + version + R"(","namespace":")" +
               ns + R"(","readme":"hello"})";
  out.layers = {{artifact::DigestOf("layer"), "layer"}};
  out.manifest = R"({"schemaVersion":2,"config":{"digest":")" + artifact::DigestOf(out.config) +
                 R"("},"layers":[{"digest":")" + out.layers[0].digest + R"("}]})";
  return out;
}

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_SAMPLE_ARTIFACT_H_
