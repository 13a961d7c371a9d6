#include "ctl/bundle/named_bundle.h"

#include "agentd/package/reference.h"
#include "ctl/file/named_place.h"
#include "ctl/policy/policy_file.h"

namespace odyssey::ctl {

Result<NamedBundle> LookAtName(const std::string& named) {
  NamedBundle out;
  const Result<package::Reference> reference = package::ParseReference(named);
  const Result<NamedPlace> place = OpenNamedPlace(named, Links::kFileItself);
  const bool missing = place.status().code() == Code::kNotFound;
  if (missing && !reference.ok()) {
    return Status(reference.status().code(),
                  reference.status().message() + ", and no directory of this name exists");
  }
  if (place.ok() && !place->is_directory() && !reference.ok()) return reference.status();
  if (missing && reference->kind != package::Reference::Kind::kPath) {
    out.reference = named;
    return out;
  }
  ODY_ASSIGN_OR_RETURN(out.directory, BundleDirectory(named));
  return out;
}

}  // namespace odyssey::ctl
