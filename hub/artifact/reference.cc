#include "hub/artifact/reference.h"

namespace odyssey::artifact {

using package::Reference;

Result<Reference> ParsePullReference(const std::string& text) {
  if (text.find('/') == std::string::npos) {
    return InvalidArgument("remote reference missing repository");
  }
  ODY_ASSIGN_OR_RETURN(const Reference out, package::ParseReference(text));
  if (out.kind == Reference::Kind::kPath) {
    return InvalidArgument("reference " + text + ": a path names no bundle of a hub");
  }
  return out;
}

Result<Reference> ParsePublishTarget(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) {
    return InvalidArgument("publish target must be a namespaced remote reference");
  }
  if (slash == 0) return InvalidArgument("publish target must include a namespace");
  ODY_ASSIGN_OR_RETURN(const Reference out, ParsePullReference(text));
  if (out.kind == Reference::Kind::kDigest) {
    return InvalidArgument("reference " + text + ": a publish target has no digest");
  }
  return out;
}

Status CheckTarget(const Reference& target, const oci::Config& bundle) {
  if (target.id != bundle.id) {
    return InvalidArgument("publish target id " + target.id + " does not match bundle id " +
                           bundle.id);
  }
  if (!target.version.empty() && target.version != bundle.version) {
    return InvalidArgument("publish target version " + target.version +
                           " does not match bundle version " + bundle.version);
  }
  return OkStatus();
}

}  // namespace odyssey::artifact
