#include "hub/transfer/hub_url.h"

#include <curl/curl.h>

#include <memory>
#include <utility>

namespace odyssey::transfer {
namespace {

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string PartOf(const Handle& handle, CURLUPart what) {
  char* text = nullptr;
  std::string out;
  if (curl_url_get(handle.get(), what, &text, 0) == CURLUE_OK) out = text;
  curl_free(text);
  return out;
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace

Result<HubUrl> ParseHubUrl(const std::string& url) {
  const Handle handle(curl_url(), curl_url_cleanup);
  if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return InvalidArgument("hub URL: expected https://HOST[:PORT]");
  }
  constexpr std::pair<CURLUPart, const char*> kRefused[] = {{CURLUPART_USER, "username"},
                                                            {CURLUPART_PASSWORD, "password"},
                                                            {CURLUPART_QUERY, "query"},
                                                            {CURLUPART_FRAGMENT, "fragment"}};
  for (const auto& [part, name] : kRefused) {
    if (PartOf(handle, part).empty()) continue;
    return InvalidArgument("hub URL must not include a " + std::string(name));
  }
  const std::string path = PartOf(handle, CURLUPART_PATH);
  if (path != "/" && !path.empty()) return InvalidArgument("hub URL must not include a path");

  const std::string scheme = PartOf(handle, CURLUPART_SCHEME);
  const std::string host = PartOf(handle, CURLUPART_HOST);
  const bool loopback = IsLoopback(host);
  if (scheme != "https" && scheme != "http") {
    return InvalidArgument("hub URL " + url + ": allowed are https:// and, to loopback, http://");
  }
  if (scheme == "http" && !loopback) {
    return InvalidArgument("hub URL " + url + ": http:// is for loopback alone; use https://");
  }
  const std::string port = PartOf(handle, CURLUPART_PORT);
  return HubUrl{scheme + "://" + host + (port.empty() ? "" : ":" + port), loopback};
}

}  // namespace odyssey::transfer
