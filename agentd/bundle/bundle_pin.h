#ifndef ODYSSEY_AGENTD_BUNDLE_BUNDLE_PIN_H_
#define ODYSSEY_AGENTD_BUNDLE_BUNDLE_PIN_H_

#include <string>

#include "agentd/package/reference.h"
#include "policy/dialect/bundle.h"

namespace odyssey::bundle {

// Names one bundle for good; what a session's record keeps.
struct BundlePin {
  std::string id, version;
  std::string digest;  // hex, of the OCI manifest
  std::string ns = package::kLocalNamespace;
  friend bool operator==(const BundlePin&, const BundlePin&) = default;
};

// "NS/ID@VERSION".
std::string RefOf(const BundlePin& pin);

struct InstalledBundle {
  BundlePin pin;
  std::string directory;  // the tree
  dialect::Bundle spec;   // what it says of places, it says from the bundle's directory
};

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_BUNDLE_PIN_H_
