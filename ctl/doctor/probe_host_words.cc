#include "ctl/doctor/probe_host_words.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

namespace odyssey::ctl {
namespace {

// Numeric; "" for what a route can lead to only with a scope, or is no Internet address.
std::string AddressText(const ifaddrs& interface) {
  if (interface.ifa_addr == nullptr || (interface.ifa_flags & IFF_LOOPBACK) != 0) return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (interface.ifa_addr->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(interface.ifa_addr);
    inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
  } else if (interface.ifa_addr->sa_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) {
      inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> ProbeHostWords() {
  std::vector<std::string> words;
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  words.push_back(std::string("hostname=") + name);
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    char link[64] = "";
    if (readlink((std::string("/proc/self/ns/") + kind).c_str(), link, sizeof(link) - 1) > 0) {
      words.push_back(std::string("namespace=") + kind + "=" + link);
    }
  }
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return words;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const std::string address = AddressText(*each);
    if (!address.empty()) words.push_back("address=" + address);
  }
  freeifaddrs(list);
  return words;
}

}  // namespace odyssey::ctl
