#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_SERVER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_SERVER_H_

// What users ask of their providers (supervisor/wire/provider_wire.h). A user is known by the uid
// of its connection; root may name another one.

#include <sys/types.h>

#include <functional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "common/os/unique_fd.h"
#include "supervisor/egress/broker/provider_store.h"

namespace odyssey::egress {

namespace asio = boost::asio;

class ProviderServer final {
 public:
  // `store` is borrowed. `on_change` is called with the owner of a provider that was changed.
  ProviderServer(asio::io_context* loop, ProviderStore* store,
                 std::function<void(uid_t)> on_change);

  // Until the loop ends.
  asio::awaitable<void> Run(UniqueFd listener);

 private:
  asio::awaitable<void> Serve(UniqueFd socket);
  // The messages of the answer.
  std::vector<std::string> Answer(uid_t peer, std::string_view request);
  Result<std::vector<provider_wire::Provider>> Do(uid_t peer, std::string_view request);

  asio::io_context* const loop_;
  ProviderStore* const store_;
  const std::function<void(uid_t)> on_change_;
  unsigned clients_ = 0;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_SERVER_H_
