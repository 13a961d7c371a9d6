#include "agentd/daemon/approval_webhook.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "agentd/approval/command_answer.h"
#include "agentd/model/http_stream.h"
#include "common/base/hmac.h"
#include "common/os/file.h"

namespace odyssey::daemon {
namespace {

constexpr size_t kMaxTokenBytes = 4096;
constexpr size_t kMaxAuthoritiesBytes = 4 * 1024 * 1024;
constexpr mode_t kForbiddenMode = 027;
// Beyond what the answerer waits: a transfer that it does not end by then ends itself.
constexpr std::chrono::seconds kLongest{120};

// What a server says with another status is not for the model to read.
Result<approval::Answer> AnswerOf(const model::HttpEnd& end, const std::string& body) {
  if (end.http_code != 0 && end.http_code != 200) {
    return InvalidArgument("HTTP status " + std::to_string(end.http_code));
  }
  ODY_RETURN_IF_ERROR(end.status);
  return approval::ParseCommandAnswer(body);
}

class WebhookRun final : public AnswerRun {
 public:
  explicit WebhookRun(model::HttpPost post)
      : post_(std::move(post)), done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    ODY_CHECK(done_);
    thread_ = std::jthread([this](const std::stop_token& stop) { Post(stop); });
  }

  std::optional<Result<approval::Answer>> Advance() override {
    if (!ended_) return std::nullopt;
    return answer_;
  }
  void AddPolled(std::vector<pollfd>* out) const override {
    out->push_back({done_.get(), POLLIN, 0});
  }

 private:
  void Post(const std::stop_token& stop) {
    std::string body;
    const auto sink = [&body](std::string_view piece) {
      body.append(piece);
      if (body.size() <= approval::kMaxCommandAnswer) return OkStatus();
      return approval::ParseCommandAnswer(body).status();
    };
    const model::HttpEnd end = model::PostAndStream(post_, sink, stop);
    answer_ = AnswerOf(end, body);
    ended_ = true;
    eventfd_write(done_.get(), 1);
  }

  const model::HttpPost post_;
  const UniqueFd done_;
  Result<approval::Answer> answer_ = approval::Answer();  // of the thread until it has ended
  std::atomic<bool> ended_ = false;
  std::jthread thread_;
};

class WebhookTransport final : public AnswerTransport {
 public:
  explicit WebhookTransport(WebhookOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "webhook"; }

  Result<std::unique_ptr<AnswerRun>> Start(const std::string& question) override {
    model::HttpPost post;
    post.url = options_.url;
    post.body = question;
    post.timeout = kLongest;
    post.server = "webhook";
    post.accept = "application/json";
    post.ca_file = options_.ca_file;
    post.proxy = model::Proxy::kNone;
    if (!options_.token.empty()) {
      post.key = &options_.token;
      post.key_header = "Authorization: Bearer ";
      post.headers.push_back(std::string(kSignatureHeader) +
                             ": sha256=" + HmacSha256Hex(options_.token.Reveal(), question));
    }
    return std::unique_ptr<AnswerRun>(std::make_unique<WebhookRun>(std::move(post)));
  }

 private:
  const WebhookOptions options_;
};

}  // namespace

Result<model::Secret> ReadWebhookToken(const std::string& path) {
  const std::string what = "approval webhook token " + path;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return ErrnoStatus(errno, "open " + what);
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "look at " + what);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(what + ": no regular file");
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return InvalidArgument(what + ": its owner is uid " + std::to_string(info.st_uid) +
                           "; allowed are root and agentd's user");
  }
  if ((info.st_mode & kForbiddenMode) != 0) {
    return InvalidArgument(what +
                           ": its group may write it, or others may use it; allowed are the modes "
                           "0600, 0400, 0640 and 0440");
  }
  ODY_ASSIGN_OR_RETURN(std::string text, ReadToTheEnd(fd.get(), path, kMaxTokenBytes));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  model::Secret token(std::move(text));
  for (const char byte : token.Reveal()) {
    if (byte <= ' ' || byte > '~') return InvalidArgument(what + ": holds more than a token");
  }
  if (token.empty()) return InvalidArgument(what + ": empty");
  return token;
}

Status CheckApprovalWebhook(const WebhookOptions& options) {
  ODY_RETURN_IF_ERROR(model::CheckPostUrl("approval webhook", options.url));
  if (options.ca_file.empty()) return OkStatus();
  ODY_ASSIGN_OR_RETURN(const std::string pem, ReadFile(options.ca_file, kMaxAuthoritiesBytes));
  if (pem.find("-----BEGIN ") != std::string::npos) return OkStatus();
  return InvalidArgument("approval webhook authorities " + options.ca_file +
                         ": no certificates in PEM");
}

std::unique_ptr<AnswerTransport> NewApprovalWebhook(WebhookOptions options) {
  return std::make_unique<WebhookTransport>(std::move(options));
}

}  // namespace odyssey::daemon
