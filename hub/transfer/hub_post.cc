#include "hub/transfer/hub_post.h"

#include <curl/curl.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <memory>

namespace odyssey::transfer {
namespace {

constexpr size_t kMaxErrorBytes = 2048;
constexpr long kConnectSeconds = 10;
constexpr long kIdleSeconds = 60;  // without a byte
constexpr long kTotalSeconds = 1800;

// Of RFC 9110: a server's own words are not shown as a status.
const char* ReasonOf(long code) {
  static const std::map<long, const char*> reasons = {
      {301, "Moved Permanently"},  {302, "Found"},
      {307, "Temporary Redirect"}, {308, "Permanent Redirect"},
      {400, "Bad Request"},        {401, "Unauthorized"},
      {403, "Forbidden"},          {404, "Not Found"},
      {409, "Conflict"},           {411, "Length Required"},
      {413, "Content Too Large"},  {415, "Unsupported Media Type"},
      {429, "Too Many Requests"},  {500, "Internal Server Error"},
      {502, "Bad Gateway"},        {503, "Service Unavailable"}};
  const auto found = reasons.find(code);
  return found == reasons.end() ? "" : found->second;
}

struct Transfer {
  size_t max_bytes;
  std::string body;
  const PostProgress* progress;
  bool too_large = false;
};

size_t OnBody(char* data, size_t, size_t bytes, void* user) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(user);
  transfer.too_large = bytes > transfer.max_bytes - transfer.body.size();
  if (transfer.too_large) return 0;
  transfer.body.append(data, bytes);
  return bytes;
}

int OnProgress(void* user, curl_off_t, curl_off_t received, curl_off_t, curl_off_t sent) noexcept {
  const Transfer& transfer = *static_cast<Transfer*>(user);
  (*transfer.progress)(static_cast<uint64_t>(sent), static_cast<uint64_t>(received));
  return 0;
}

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

HeaderList Headers(const HubPost& post) {
  HeaderList list(curl_slist_append(nullptr, "Content-Type: application/json"),
                  curl_slist_free_all);
  curl_slist_append(list.get(), "Expect:");  // 100-continue costs a second with a hub without it
  if (!post.token.empty()) {
    std::string header = "Authorization: Bearer " + post.token;
    curl_slist_append(list.get(), header.c_str());
    explicit_bzero(header.data(), header.size());
  }
  return list;
}

void Configure(CURL* easy, const HubPost& post, const std::string& url, Transfer* transfer) {
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT, kTotalSeconds);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, kIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post.body.c_str());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  if (*transfer->progress) {
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &OnProgress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
  }
  // A proxy from the environment is for the way out, not for this host.
  if (post.hub.loopback) curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

Status FromHttp(long code, const std::string& body) {
  const std::string reason = ReasonOf(code);
  std::string message = "http error: hub returned " + std::to_string(code);
  if (!reason.empty()) message += " " + reason;
  const std::string shown =
      body.substr(0, std::min(body.find_last_not_of(" \r\n") + 1, kMaxErrorBytes));
  if (!shown.empty()) message += ": " + shown;
  if (code == 401 || code == 403) return PermissionDenied(message);
  if (code == 404) return NotFound(message);
  if (code == 409) return AlreadyExists(message);
  if (code >= 500) return Unavailable(message);
  return InvalidArgument(message);
}

}  // namespace

Status CheckToken(const std::string& token) {
  const bool printable =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  return printable ? OkStatus() : InvalidArgument("ODYSSEY_HUB_TOKEN: not printable ASCII");
}

Result<std::string> PostToHub(const HubPost& post, size_t max_bytes, const PostProgress& progress) {
  ODY_RETURN_IF_ERROR(CheckToken(post.token));
  const HeaderList headers = Headers(post);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (!easy) return ResourceExhausted("hub: no memory for a transfer");
  Transfer transfer{.max_bytes = max_bytes, .body = {}, .progress = &progress};
  char detail[CURL_ERROR_SIZE] = "";
  const std::string url = post.hub.base + post.path;
  Configure(easy.get(), post, url, &transfer);
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail);

  const CURLcode ended = curl_easy_perform(easy.get());
  if (transfer.too_large) {
    return ResourceExhausted("hub response exceeds maximum " + std::to_string(max_bytes) +
                             " bytes");
  }
  if (ended != CURLE_OK) {
    const std::string why = detail[0] != '\0' ? detail : curl_easy_strerror(ended);
    return Unavailable("hub " + post.hub.base + ": " + why);
  }
  long code = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &code);
  if (code / 100 != 2) return FromHttp(code, transfer.body);
  return std::move(transfer.body);
}

}  // namespace odyssey::transfer
