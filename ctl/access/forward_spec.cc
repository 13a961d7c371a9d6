#include "ctl/access/forward_spec.h"

#include <arpa/inet.h>

#include <charconv>
#include <string_view>

namespace odyssey::ctl {
namespace {

bool ReadPort(std::string_view text, uint16_t least, uint16_t* port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *port);
  return error == std::errc() && end == text.data() + text.size() && *port >= least;
}

// Takes what follows the last colon, or all there is.
std::string_view TakeLast(std::string_view* text) {
  const size_t colon = text->rfind(':');
  const std::string_view last = colon == text->npos ? *text : text->substr(colon + 1);
  *text = colon == text->npos ? "" : text->substr(0, colon);
  return last;
}

bool ReadAddress(std::string_view text, std::string* address) {
  const bool brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  *address = brackets ? text.substr(1, text.size() - 2) : text;
  in6_addr parsed;
  return inet_pton(brackets ? AF_INET6 : AF_INET, address->c_str(), &parsed) == 1;
}

}  // namespace

Result<ForwardSpec> ReadForward(const std::string& word) {
  ForwardSpec spec;
  std::string_view rest = word;
  bool valid = ReadPort(TakeLast(&rest), 1, &spec.remote);
  spec.local = spec.remote;
  if (!rest.empty()) valid = valid && ReadPort(TakeLast(&rest), 0, &spec.local);
  if (!rest.empty()) valid = valid && ReadAddress(rest, &spec.bind);
  if (valid && word.front() != ':') return spec;
  return InvalidArgument("\"" + word + "\": give PORT, LOCAL:PORT or ADDRESS:LOCAL:PORT, such as " +
                         "8000, 0:8000 or [::1]:8080:8000");
}

}  // namespace odyssey::ctl
