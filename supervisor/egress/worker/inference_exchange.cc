#include "supervisor/egress/worker/inference_exchange.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "supervisor/egress/credentials/replacer.h"
#include "supervisor/egress/http/body.h"
#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/http/response_head.h"
#include "supervisor/egress/inference/ask.h"
#include "supervisor/egress/inference/routes.h"
#include "supervisor/egress/inference/usage.h"
#include "supervisor/egress/worker/relay.h"
#include "supervisor/egress/worker/server_tls.h"

namespace odyssey::egress {
namespace {

using http::BodyReader;
using inference::Ask;
using inference::AskRefusal;
using inference::Outgoing;
using inference::Route;
using std::chrono::seconds;

// Each holds a body of at most kMaxBodyBytes.
constexpr uint32_t kMaxUnderWay = 64;
constexpr size_t kMaxReasonBytes = 1024;
constexpr int kForbidden = 403, kTooLarge = 413, kTooMany = 429, kServerError = 500,
              kBadGateway = 502;
constexpr uint16_t kHttpPort = 80, kHttpsPort = 443;
constexpr char kBudgetExceeded[] = "budget_exceeded";

struct UnderWay {
  explicit UnderWay(uint32_t* count) : count_(count) { ++*count_; }
  ~UnderWay() { --*count_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  uint32_t* const count_;
};

// A route's answer, of which the head is read.
struct Answer {
  std::unique_ptr<Stream> stream;
  std::string address;
  std::string buffer;  // what follows the head
  http::ResponseHead head;
  bool hides_usage = false;
};

// Takes the route's key out of an answer: each byte of it becomes `*`.
credentials::Replacer MaskOf(const Route& route) {
  return credentials::Replacer({{.from = route.key, .to = ""}});
}

// The body of an answer on its way: what the client is sent of it, and what it took.
class Passing final {
 public:
  Passing(const Answer& answer, const Route& route, const http::Framing& framing)
      : events_(IsEvents(answer.head)),
        usage_(events_ ? inference::AnswerForm::kEvents : inference::AnswerForm::kWhole,
               answer.hides_usage && framing.kind != http::FramingKind::kLength),
        mask_(MaskOf(route)),
        writer_(framing) {}

  uint64_t bytes() const { return bytes_; }
  const inference::UsageReader& usage() const { return usage_; }

  // false: it is longer than the head says.
  bool Push(std::string_view payload, std::string* out) {
    bytes_ += payload.size();
    std::string shown;
    usage_.Push(payload, &shown);
    const std::string masked = mask_.Feed(shown);
    return masked.empty() || writer_.Write(masked, out);
  }

  // false: it is shorter.
  bool End(std::string* out) {
    std::string shown;
    usage_.Finish(&shown);
    const std::string masked = mask_.Feed(shown) + mask_.End();
    return (masked.empty() || writer_.Write(masked, out)) && writer_.End(out);
  }

 private:
  static bool IsEvents(const http::ResponseHead& head) {
    const http::Field* const type = http::FindField(head.fields, "content-type");
    return type != nullptr && http::BeginsWithText(type->value, "text/event-stream");
  }

  const bool events_;
  inference::UsageReader usage_;
  credentials::Replacer mask_;
  http::BodyWriter writer_;
  uint64_t bytes_ = 0;
};

class InferenceExchange final {
 public:
  InferenceExchange(Worker* worker, Stream* client, InferenceCall call)
      : worker_(worker),
        client_(client),
        call_(std::move(call)),
        passage_(call_.judged.passage),
        set_(worker->inference()->set) {}

  asio::awaitable<bool> Run();

 private:
  asio::awaitable<bool> ListModels();
  asio::awaitable<bool> TakeBodyAndAsk();
  asio::awaitable<bool> AskRoutes(std::vector<const Route*> routes);
  asio::awaitable<Result<Answer>> AskRoute(const Route* route);
  asio::awaitable<Status> ReadHead(Answer* answer);
  asio::awaitable<bool> Pass(const Route* route, Answer answer);
  enum class Ended { kWhole, kCut, kNotTaken };
  asio::awaitable<Ended> PassBody(const Route* route, Answer* answer, Passing* passing);
  void Settle(const Route& route, const Answer& answer, const Passing& passing, Ended ended);
  void Report(int status, const std::string& address);
  // false, for the caller to return.
  asio::awaitable<bool> Refuse(int status, std::string code, std::string reason,
                               std::string shown = "");

  Worker* const worker_;
  Stream* const client_;
  const InferenceCall call_;
  Passage passage_;
  const std::shared_ptr<const egress_wire::SetRoutes> set_;
  std::optional<Ask> ask_;
  std::string body_;
  bool settled_ = false;
};

asio::awaitable<bool> InferenceExchange::Run() {
  const http::RequestHead& head = call_.head;
  auto target = inference::ReadTarget(head.method, call_.judged.path.path);
  if (const auto* refusal = std::get_if<AskRefusal>(&target)) {
    co_return co_await Refuse(refusal->status, refusal->code, refusal->reason);
  }
  ask_ = std::get<Ask>(std::move(target));
  if (head.upgrade != http::Upgrade::kNone) {
    co_return co_await Refuse(kForbidden, "policy_denied", "inference.local changes no protocol");
  }
  if (ask_->lists_models) co_return co_await ListModels();
  if (worker_->inference()->under_way >= kMaxUnderWay) {
    co_return co_await Refuse(kTooMany, kBudgetExceeded,
                              "64 requests of this sandbox are under way");
  }
  const UnderWay under_way(&worker_->inference()->under_way);
  co_return co_await TakeBodyAndAsk();
}

asio::awaitable<bool> InferenceExchange::ListModels() {
  const std::string body = inference::ModelsBody(set_->routes, *ask_);
  std::string out = "HTTP/1.1 200 OK\r\n";
  http::AppendField("Content-Type", "application/json", &out);
  http::AppendField("Content-Length", std::to_string(body.size()), &out);
  const bool close = call_.head.close || call_.head.framing.kind != http::FramingKind::kNone;
  if (close) http::AppendField("Connection", "close", &out);
  Report(200, "");
  const Status sent = co_await client_->Write(out + "\r\n" + body);
  co_return sent.ok() && !close;
}

asio::awaitable<bool> InferenceExchange::TakeBodyAndAsk() {
  std::optional<std::string> body = co_await call_.take_body(passage_, inference::kMaxBodyBytes);
  if (!body) co_return false;
  body_ = *std::move(body);
  if (body_.size() > inference::kMaxBodyBytes) {
    co_return co_await Refuse(kTooLarge, "body_too_large", "the body has more than 10 MiB");
  }
  if (const auto refusal = inference::ReadBody(body_, &*ask_)) {
    co_return co_await Refuse(refusal->status, refusal->code, refusal->reason);
  }
  passage_.inference.model = ask_->model;
  auto routes = inference::RoutesFor(set_->routes, *ask_);
  if (const auto* refusal = std::get_if<AskRefusal>(&routes)) {
    co_return co_await Refuse(refusal->status, refusal->code, refusal->reason);
  }
  const std::string bound = worker_->inference()->spending.Admit(std::chrono::steady_clock::now());
  if (!bound.empty()) co_return co_await Refuse(kTooMany, kBudgetExceeded, bound);
  co_return co_await AskRoutes(std::get<std::vector<const Route*>>(std::move(routes)));
}

asio::awaitable<bool> InferenceExchange::AskRoutes(std::vector<const Route*> routes) {
  std::string failures;
  for (const Route* route : routes) {
    passage_.inference.route = route->name;
    passage_.inference.model = inference::ModelOf(*route, *ask_);
    Result<Answer> answer = co_await AskRoute(route);
    std::string failure = answer.status().message();
    if (answer.ok()) {
      const int status = answer->head.status;
      const bool failed = status == kTooMany || status >= kServerError;
      if (!failed || route == routes.back()) {
        passage_.reason = failures;
        co_return co_await Pass(route, *std::move(answer));
      }
      failure = "answered " + std::to_string(status);
    }
    failures += (failures.empty() ? "" : "; ") + route->name + ": " + failure;
    failures.resize(std::min(failures.size(), kMaxReasonBytes));
  }
  co_return co_await Refuse(kBadGateway, kUnreachable, failures,
                            "no route of this sandbox could be reached");
}

asio::awaitable<Result<Answer>> InferenceExchange::AskRoute(const Route* route) {
  const Outgoing outgoing = inference::Rewrite(*route, *ask_, call_.head, call_.judged.path, body_);
  const http::Route to{.host = route->host,
                       .port = route->port,
                       .default_port = route->tls ? kHttpsPort : kHttpPort,
                       .upgrade = http::UpgradeRule::kStrip};
  const auto head = http::WriteRequestHead(outgoing.head, outgoing.path, to);
  if (const auto* error = std::get_if<http::ParseError>(&head)) co_return Internal(error->reason);
  Dialled dialled = co_await worker_->Dial(passage_.to, route->name);
  if (!dialled.status.ok()) co_return dialled.status;
  Answer answer{.address = std::move(dialled.address), .hides_usage = outgoing.hides_usage};
  const std::string tls_host = route->tls ? route->host : "";
  auto opened = co_await OpenStream(worker_, std::move(dialled), tls_host);
  if (!opened.ok()) co_return opened.status();
  answer.stream = *std::move(opened);
  const Deadline deadline(&answer.stream->socket(), seconds(route->first_byte_seconds));
  // A server that refuses early takes no more; its answer is read all the same.
  if ((co_await answer.stream->Write(std::get<std::string>(head))).ok()) {
    (void)co_await answer.stream->Write(outgoing.body);
  }
  const Status read = co_await ReadHead(&answer);
  if (deadline.passed()) {
    co_return Unavailable("no answer in " + std::to_string(route->first_byte_seconds) + " s");
  }
  if (!read.ok()) co_return read;
  co_return answer;
}

asio::awaitable<Status> InferenceExchange::ReadHead(Answer* answer) {
  http::Asked asked{.method = "POST"};
  http::HeadScanner scanner(http::ObsText::kAllow);
  for (;;) {
    auto parsed = http::ParseResponseHead(answer->buffer, asked, &scanner);
    if (const auto* error = std::get_if<http::ParseError>(&parsed)) {
      co_return Unavailable(error->reason);
    }
    if (auto* found = std::get_if<http::ResponseHead>(&parsed)) {
      answer->buffer.erase(0, found->size);
      answer->head = std::move(*found);
      if (answer->head.status >= 200) co_return OkStatus();
      ++asked.informational;
      scanner = http::HeadScanner(http::ObsText::kAllow);
      continue;
    }
    const Result<bool> more = co_await answer->stream->Read(&answer->buffer);
    if (!more.ok()) co_return more.status();
    if (!*more) co_return Unavailable("the server ended without an answer");
  }
}

asio::awaitable<bool> InferenceExchange::Pass(const Route* route, Answer answer) {
  const credentials::Replacer mask = MaskOf(*route);
  http::ResponseHead head = answer.head;
  http::Fields& fields = head.fields;
  fields.erase(std::remove_if(fields.begin(), fields.end(), inference::IsPrivateToRoute),
               fields.end());
  for (http::Field& field : fields) field.value = mask.Whole(field.value);
  head.reason = mask.Whole(head.reason);
  const http::Framing framing = http::FramingForClient(head, call_.head.version);
  const bool close = call_.head.close || framing.kind == http::FramingKind::kUntilClose;
  Passing passing(answer, *route, framing);
  const auto held =
      worker_->Hold(passage_.to, [this] { odyssey::egress::Reset(&client_->socket()); });
  Ended ended = Ended::kNotTaken;
  const std::string written = http::WriteResponseHead(head, framing, close);
  if ((co_await client_->Write(written)).ok()) {
    ended = co_await PassBody(route, &answer, &passing);
  }
  Settle(*route, answer, passing, ended);
  // A body that was cut must not look whole.
  if (ended != Ended::kWhole) odyssey::egress::Reset(&client_->socket());
  co_return ended == Ended::kWhole && !close;
}

// It is settled before its last bytes are sent: with them the client may end, and the cell.
asio::awaitable<InferenceExchange::Ended> InferenceExchange::PassBody(const Route* route,
                                                                      Answer* answer,
                                                                      Passing* passing) {
  const seconds idle(route->idle_seconds);
  BodyReader reader(answer->head.framing);
  for (bool closed = false;;) {
    std::string out;
    size_t taken = 0;
    BodyReader::Step step;
    do {
      step = reader.Read(std::string_view(answer->buffer).substr(taken));
      taken += step.taken;
      if (!step.payload.empty() && !passing->Push(step.payload, &out)) co_return Ended::kCut;
    } while (step.state == BodyReader::State::kPayload);
    answer->buffer.erase(0, taken);
    if (step.state == BodyReader::State::kError) co_return Ended::kCut;
    const bool ended = step.state == BodyReader::State::kEnd || (closed && reader.IsWholeAtClose());
    if (ended && !passing->End(&out)) co_return Ended::kCut;
    if (ended) Settle(*route, *answer, *passing, Ended::kWhole);
    if (!out.empty()) {
      const Deadline deadline(&client_->socket(), idle);
      if (!(co_await client_->Write(out)).ok()) co_return Ended::kNotTaken;
    }
    if (ended) co_return Ended::kWhole;
    if (closed) co_return Ended::kCut;
    const Deadline deadline(&answer->stream->socket(), idle);
    const Result<bool> more = co_await answer->stream->Read(&answer->buffer);
    if (!more.ok()) co_return Ended::kCut;
    closed = !*more;
  }
}

// Once. An answer that is cut may have taken more than was said so far.
void InferenceExchange::Settle(const Route& route, const Answer& answer, const Passing& passing,
                               Ended ended) {
  if (std::exchange(settled_, true)) return;
  const std::optional<inference::Usage> said = passing.usage().usage();
  inference::Usage usage = said.value_or(inference::Usage{});
  const bool asked = answer.head.status < 400 && ask_->counts;
  if (asked && (!said || ended != Ended::kWhole)) {
    usage = inference::Larger(usage, inference::EstimateUsage(body_.size(), passing.bytes()));
  }
  egress_wire::InferenceRecord& record = passage_.inference;
  record.tokens_in = usage.tokens_in;
  record.tokens_out = usage.tokens_out;
  record.cost = inference::CostOf(route.price, usage);
  worker_->inference()->spending.Add(
      {.tokens = usage.tokens_in + usage.tokens_out, .cost = record.cost});
  Report(answer.head.status, answer.address);
}

void InferenceExchange::Report(int status, const std::string& address) {
  egress_wire::Record record = RecordOf(passage_);
  record.verdict = egress_wire::Verdict::kAllowed;
  record.method = call_.head.method;
  record.path = call_.head.path;
  record.status = static_cast<uint16_t>(status);
  record.address = address;
  worker_->Report(std::move(record));
}

// `shown`: to the client, in place of the reason.
asio::awaitable<bool> InferenceExchange::Refuse(int status, std::string code, std::string reason,
                                                std::string shown) {
  if (shown.empty()) shown = reason;
  const Passage refused = Refused(passage_, code, std::move(reason));
  http::Refusal refusal = RefusalOf(refused, status, &call_.head);
  if (ask_) refusal.body = inference::ErrorBody(ask_->protocol, status, code, shown);
  co_await call_.refuse(refused, std::move(refusal));
  co_return false;
}

}  // namespace

asio::awaitable<bool> ServeInference(Worker* worker, Stream* client, InferenceCall call) {
  InferenceExchange exchange(worker, client, std::move(call));
  co_return co_await exchange.Run();
}

}  // namespace odyssey::egress
