#ifndef ODYSSEY_HTTP_FRONT_CONNECTION_H_
#define ODYSSEY_HTTP_FRONT_CONNECTION_H_

// One client: reads requests, one after another, and writes their answers. HTTP/1.1 and 1.0.

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "http/front/exchange.h"

namespace odyssey::front {

struct Limits {
  // Of a request's line and fields together.
  uint32_t header_bytes = 16 * 1024;
  // As agentd's messages: 17 MiB.
  uint64_t body_bytes = 17 * 1024 * 1024;
  // Bodies of all connections together; 503 beyond.
  uint64_t bodies_bytes = 8 * body_bytes;
  // Further ones are answered with 503 and closed.
  size_t connections = 4096;
  int header_seconds = 10;  // from the first byte, and for the first request from the connection
  int idle_seconds = 60;    // between requests
  int body_seconds = 120;
  int stalled_seconds = 60;  // that a client takes nothing of what is written
};

// What the connections of one server share.
struct Shared {
  Backend backend;
  Limits limits;
  std::set<std::string> names;  // of Host
  std::set<Responder*> connections;
  uint64_t bodies_bytes = 0;
};

// Serves it until it is closed; it owns itself by its pending operations. `shared` outlives the
// loop's last operation.
void Serve(boost::asio::ip::tcp::socket socket, Shared* shared);
// Closes every connection, which ends their calls.
void CloseAll(Shared* shared);

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_CONNECTION_H_
