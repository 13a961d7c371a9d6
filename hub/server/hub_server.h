#ifndef ODYSSEY_HUB_SERVER_HUB_SERVER_H_
#define ODYSSEY_HUB_SERVER_HUB_SERVER_H_

// HTTP/1.1, one request a connection, on the calling thread. No TLS: a proxy ends that.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "hub/server/hub_directory.h"

namespace odyssey::server {

struct Bind {
  std::string address;
  uint16_t port = 0;
  bool loopback = false;
};
// "ADDRESS:PORT", "[ADDRESS]:PORT", of numbers. Pure.
Result<Bind> ParseBind(const std::string& text);

struct Limits {
  uint32_t header_bytes = 16 * 1024;
  uint64_t body_bytes = artifact::kMaxBodyBytes;
  // Bodies of all connections together; 503 beyond.
  uint64_t bodies_bytes = 2 * artifact::kMaxBodyBytes + 64 * 1024 * 1024;
  int connections = 32;  // further ones are closed
  int header_seconds = 10;
  int body_seconds = 300;
};

class HubServer final {
 public:
  // Listens. `token`, unless empty, is needed as Bearer.
  static Result<std::unique_ptr<HubServer>> Listen(const Bind& bind, HubDirectory directory,
                                                   std::string token, const Limits& limits = {});
  ~HubServer();

  uint16_t port() const;
  // Until SIGINT or SIGTERM, or Stop.
  void Serve();
  // From any thread.
  void Stop();

 private:
  class Impl;
  explicit HubServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace odyssey::server

#endif  // ODYSSEY_HUB_SERVER_HUB_SERVER_H_
