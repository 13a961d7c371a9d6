#include "agentd/model/http_stream.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "agentd/model/answer.h"

namespace odyssey::model {
namespace {

constexpr size_t kMaxErrorBytes = 2048;
constexpr int kPollMs = 1000;

using Clock = std::chrono::steady_clock;

struct UrlParts {
  std::string scheme, host;
  bool credentials = false;
  bool fragment = false;
};

Result<UrlParts> SplitUrl(const std::string& what, const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> handle(curl_url(), curl_url_cleanup);
  if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return InvalidArgument(what + " \"" + url + "\": not a URL");
  }
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    std::string out;
    if (curl_url_get(handle.get(), which, &text, 0) == CURLUE_OK) out = text;
    curl_free(text);
    return out;
  };
  return UrlParts{part(CURLUPART_SCHEME), part(CURLUPART_HOST),
                  !part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty(),
                  !part(CURLUPART_FRAGMENT).empty()};
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

// What the callback of libcurl needs; lives on the stack of PostAndStream.
struct Transfer {
  CURL* easy = nullptr;
  const std::function<Status(std::string_view)>* sink = nullptr;
  std::string error_body;
  Status status;
  bool has_byte = false;
  Clock::time_point latest = Clock::now();  // the beginning, or the latest byte of the body
};

long HttpCode(CURL* easy) {
  long code = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

size_t OnBody(char* data, size_t, size_t bytes, void* user) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::string_view piece(data, bytes);
  transfer.has_byte = true;
  transfer.latest = Clock::now();
  if (HttpCode(transfer.easy) != 200) {
    const size_t room = kMaxErrorBytes - std::min(kMaxErrorBytes, transfer.error_body.size());
    transfer.error_body += piece.substr(0, room);
    return bytes;
  }
  transfer.status = (*transfer.sink)(piece);
  return transfer.status.ok() ? bytes : 0;
}

Status FromHttpCode(long http_code, const HttpPost& post, const std::string& body) {
  const std::string what = post.server + " answered HTTP " + std::to_string(http_code) +
                           (body.empty() ? "" : ": " + QuoteForError(body));
  if (http_code == 401 || http_code == 403) return PermissionDenied(what);
  if (http_code == 429) return ResourceExhausted(what);
  if (http_code >= 500) return Unavailable(what);
  if (http_code >= 400) return InvalidArgument(what);
  return Internal(what);
}

Status FromCurl(CURLcode code, const char* detail, const HttpPost& post) {
  const std::string why = detail[0] != '\0' ? detail : curl_easy_strerror(code);
  switch (code) {
    case CURLE_OK:
      return OkStatus();
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::kDeadlineExceeded, post.server + " at " + post.url + ": " + why};
    default:
      return Unavailable(post.server + " at " + post.url + ": " + why);
  }
}

// DEADLINE_EXCEEDED if the server has been silent for too long.
Status CheckSilence(const HttpPost& post, const Transfer& transfer) {
  const auto allowed = transfer.has_byte ? post.idle_timeout : post.first_byte_timeout;
  if (Clock::now() - transfer.latest < allowed) return OkStatus();
  return {Code::kDeadlineExceeded, post.server + " at " + post.url + ": no byte for " +
                                       std::to_string(allowed.count()) + " s"};
}

// Drives the transfer until it ends, `stop` is requested, or the server is silent.
Result<CURLcode> Drive(CURLM* multi, const HttpPost& post, const Transfer& transfer,
                       std::stop_token stop) {
  const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK)
      return Internal(post.server + ": transfer failed");
    int left = 0;
    if (const CURLMsg* message = curl_multi_info_read(multi, &left)) return message->data.result;
    if (stop.stop_requested())
      return Cancelled("the call of the " + post.server + " was cancelled");
    ODY_RETURN_IF_ERROR(CheckSilence(post, transfer));
    curl_multi_poll(multi, nullptr, 0, kPollMs, nullptr);
  }
}

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

HeaderList Headers(const HttpPost& post) {
  HeaderList list(curl_slist_append(nullptr, "Content-Type: application/json"),
                  curl_slist_free_all);
  curl_slist_append(list.get(), ("Accept: " + post.accept).c_str());
  for (const std::string& header : post.headers) curl_slist_append(list.get(), header.c_str());
  if (post.key != nullptr && !post.key->empty()) {
    std::string header = post.key_header + post.key->Reveal();
    curl_slist_append(list.get(), header.c_str());
    explicit_bzero(header.data(), header.size());
  }
  return list;
}

void Configure(CURL* easy, const HttpPost& post, bool loopback, Transfer* transfer) {
  curl_easy_setopt(easy, CURLOPT_URL, post.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A name that is being resolved does not delay the end of a cancelled call.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(post.connect_timeout.count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT, static_cast<long>(post.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post.body.c_str());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  // A proxy from the environment is for the way out, not for this host.
  if (loopback || post.proxy == Proxy::kNone) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (post.ca_file.empty()) return;
  curl_easy_setopt(easy, CURLOPT_CAINFO, post.ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
}

bool MayRepeat(long http_code) {
  return http_code == 408 || http_code == 409 || http_code == 429 || http_code >= 500;
}

// No connection came to be, or it ended before an answer.
bool IsConnectionFailure(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
         code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_PARTIAL_FILE;
}

// Seconds or a date in the header; libcurl gives seconds.
std::chrono::milliseconds RetryAfter(CURL* easy) {
  curl_off_t wait = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait);
  constexpr curl_off_t kMaxSeconds = 1000000;
  return std::chrono::seconds(std::clamp<curl_off_t>(wait, 0, kMaxSeconds));
}

HttpEnd EndOf(CURL* easy, const Result<CURLcode>& ended, const char* detail, const HttpPost& post,
              const Transfer& transfer) {
  if (!transfer.status.ok()) return {transfer.status};
  if (!ended.ok()) return {ended.status()};
  if (*ended != CURLE_OK) return {FromCurl(*ended, detail, post), 0, IsConnectionFailure(*ended)};
  const long http_code = HttpCode(easy);
  if (http_code == 200) return {OkStatus(), http_code};
  return {FromHttpCode(http_code, post, transfer.error_body), http_code, MayRepeat(http_code),
          RetryAfter(easy)};
}

}  // namespace

Status CheckPostUrl(const std::string& what, const std::string& url) {
  ODY_ASSIGN_OR_RETURN(const UrlParts parts, SplitUrl(what, url));
  const bool secure = parts.scheme == "https";
  if (!secure && !(parts.scheme == "http" && IsLoopback(parts.host))) {
    return InvalidArgument(what + " \"" + url +
                           "\": allowed are https:// and, to this host itself, http://");
  }
  if (parts.credentials || parts.fragment) {
    return InvalidArgument(what + " must have no user, password or fragment");
  }
  return OkStatus();
}

Status CheckProviderUrl(const std::string& url) { return CheckPostUrl("model base_url", url); }

HttpEnd PostAndStream(const HttpPost& post, const std::function<Status(std::string_view)>& sink,
                      std::stop_token stop) {
  const std::string what = "URL of the " + post.server;
  if (const Status url = CheckPostUrl(what, post.url); !url.ok()) return {url};
  const Result<UrlParts> parts = SplitUrl(what, post.url);
  if (!parts.ok()) return {parts.status()};
  const HeaderList headers = Headers(post);
  const std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi(curl_multi_init(),
                                                                    curl_multi_cleanup);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (!multi || !easy) return {ResourceExhausted(post.server + ": no memory for a transfer")};

  Transfer transfer;
  transfer.easy = easy.get();
  transfer.sink = &sink;
  char detail[CURL_ERROR_SIZE] = "";
  Configure(easy.get(), post, IsLoopback(parts->host), &transfer);
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail);

  curl_multi_add_handle(multi.get(), easy.get());
  const Result<CURLcode> ended = Drive(multi.get(), post, transfer, stop);
  curl_multi_remove_handle(multi.get(), easy.get());
  return EndOf(easy.get(), ended, detail, post, transfer);
}

}  // namespace odyssey::model
