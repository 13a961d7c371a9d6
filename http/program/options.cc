#include "http/program/options.h"

#include <functional>
#include <map>
#include <utility>

#include "common/base/daemon_options.h"
#include "http/head/access.h"

namespace odyssey::program {
namespace {

using Setter = std::function<Status(const std::string& option, const std::string& value, Options*)>;

Status Wrong(const std::string& option, const std::string& value, const std::string& why) {
  return InvalidArgument(option + " \"" + value + "\": " + why);
}

const std::map<std::string, Setter>& Setters() {
  static const std::map<std::string, Setter> kSetters = {
      {"--agentd-socket",
       [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->agentd_socket); }},
      {"--listen",
       [](auto& o, auto& v, Options* out) -> Status {
         const Result<front::Address> address = front::ParseAddress(v);
         if (!address.ok()) return Wrong(o, v, "must be ADDRESS:PORT, in numbers");
         out->listen = *address;
         return OkStatus();
       }},
      {"--listen-fd",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(out->listener, ParseInheritedFd(o, v));
         return OkStatus();
       }},
      {"--host-name",
       [](auto& o, auto& v, Options* out) -> Status {
         const std::string name = head::NameOfHost(v);
         if (name.empty() || name.size() != v.size()) {
           return Wrong(o, v, "must be a name or an address, without a port");
         }
         out->host_names.push_back(name);
         return OkStatus();
       }},
      {"--non-loopback",
       [](auto& o, auto& v, Options* out) -> Status {
         if (v != "allow" && v != "deny") return Wrong(o, v, "must be allow or deny");
         out->non_loopback = v == "allow";
         return OkStatus();
       }},
      {"--mcp-bundle",
       [](auto& o, auto& v, Options* out) -> Status {
         if (v.empty()) return Wrong(o, v, "must be [NS/]ID[@VERSION]");
         out->mcp_bundle = v;
         return OkStatus();
       }},
      {"--address-file",
       [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->address_file); }}};
  return kSetters;
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options out;
  ODY_ASSIGN_OR_RETURN(
      const AskedOfDaemon asked,
      ReadDaemonOptions(
          arguments, [](auto& option) { return Setters().count(option) != 0; },
          [&out](auto& option, auto& value) { return Setters().at(option)(option, value, &out); }));
  out.help = asked == AskedOfDaemon::kHelp;
  out.version = asked == AskedOfDaemon::kVersion;
  if (asked != AskedOfDaemon::kRun) return out;
  if (out.agentd_socket.empty()) return InvalidArgument("--agentd-socket: is required");
  if (out.listener < 0) ODY_RETURN_IF_ERROR(CheckAddress(out.listen, out));
  return out;
}

Status CheckAddress(const front::Address& address, const Options& options) {
  if (address.is_loopback || options.non_loopback) return OkStatus();
  return InvalidArgument("--listen " + front::AddressText(address) +
                         ": not an address of loopback, and without TLS its tokens can be read on "
                         "the way; put a proxy with TLS before 127.0.0.1, or say --non-loopback "
                         "allow");
}

std::string Usage() {
  return "usage: odyssey-http --agentd-socket PATH [OPTION…]\n"
         "\n"
         "  --agentd-socket PATH   where odyssey-agentd serves; its http_user must be this user\n"
         "  --listen ADDRESS:PORT  where to serve (127.0.0.1:8472); port 0: a free one\n"
         "  --listen-fd N          a listening socket that was inherited, in place of --listen\n"
         "  --host-name NAME       what clients may call this server too, beside 127.0.0.1, "
         "localhost and\n"
         "                         [::1]; repeatable\n"
         "  --non-loopback allow|deny\n"
         "                         whether an address that other hosts reach may be served (deny); "
         "there is\n"
         "                         no TLS\n"
         "  --mcp-bundle BUNDLE    the bundle that /mcp serves; /mcp/BUNDLE serves any\n"
         "  --address-file PATH    where the address is written once it serves\n"
         "  --version, --help\n";
}

}  // namespace odyssey::program
