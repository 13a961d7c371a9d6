#include "supervisor/cell_init/resolver.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string_view>

#include "supervisor/cell_init/dns_query.h"

namespace odyssey::cell_init {

Result<UniqueFd> OpenResolver() {
  UniqueFd resolver(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(cell::kResolverPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(resolver.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return resolver;
  }
  return ErrnoStatus(errno, "bind the cell's resolver to 127.0.0.1:53");
}

void AnswerQuery(int resolver, RefusedNames* names) {
  char query[kMaxDnsQuery];
  sockaddr_in from{};
  socklen_t length = sizeof(from);
  auto* sender = reinterpret_cast<sockaddr*>(&from);
  const ssize_t size = recvfrom(resolver, query, sizeof(query), 0, sender, &length);
  if (size <= 0) return;
  const auto refused = RefuseQuery(std::string_view(query, static_cast<size_t>(size)));
  if (!refused) return;
  // /etc/hosts has no IPv6 address of the cell itself, so that C libraries ask for one.
  if (refused->name != cell::kHostName) names->Add(refused->name);
  (void)sendto(resolver, refused->reply.data(), refused->reply.size(), 0, sender, length);
}

}  // namespace odyssey::cell_init
