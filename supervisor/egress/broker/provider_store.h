#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_STORE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_STORE_H_

// The providers of all users: one file of mode 0600 each, STATE/providers/UID/NAME, replaced as a
// whole and read when it is needed; and those of the operator, by the files of the service's
// credentials: `provider.NAME.KEY` is a secret, `provider.NAME.endpoints` has an endpoint on each
// line.

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/egress/credentials/placeholder.h"
#include "supervisor/egress/credentials/secret.h"
#include "supervisor/wire/provider_wire.h"

namespace odyssey::egress {

struct ProviderKey {
  std::string key;  // the variable of the environment
  credentials::Secret secret;
  credentials::Shape shape;  // of the first secret: rotating it keeps the placeholder
};

struct Provider {
  std::string name, type;
  std::vector<ProviderKey> keys;
  std::vector<std::string> endpoints;  // empty: those that policies bind to it
  uint64_t created = 0, rotated = 0;   // seconds since 1970
  bool by_operator = false;
};

class ProviderStore final {
 public:
  // `state`: "" for a broker that stores none. `credentials`: a directory, "" for none.
  static Result<ProviderStore> Open(std::string state, const std::string& credentials);

  // INVALID_ARGUMENT, ALREADY_EXISTS, NOT_FOUND, RESOURCE_EXHAUSTED; nothing was changed then.
  Status Put(uid_t owner, const provider_wire::Put& put, uint64_t now);
  Status Remove(uid_t owner, const std::string& name);

  // The user's, by name, then the operator's.
  Result<std::vector<provider_wire::Provider>> List(uid_t owner) const;

  // The user's, else the operator's. NOT_FOUND.
  Result<Provider> Find(uid_t owner, const std::string& name) const;

  // Of the cell, for its placeholders; the same as long as the state is.
  std::string KeyOfCell(const std::string& cell_id) const;

 private:
  Status ReadKey();
  std::string DirectoryOf(uid_t owner) const;
  Result<Provider> Read(uid_t owner, const std::string& name) const;
  Result<std::vector<std::string>> Names(uid_t owner) const;

  std::string state_;
  credentials::Secret key_;
  std::vector<Provider> operators_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_STORE_H_
