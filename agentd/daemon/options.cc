#include "agentd/daemon/options.h"

#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "agentd/daemon/metrics_listener.h"
#include "agentd/provider/model_config.h"
#include "agentd/session/approval_timeout.h"
#include "common/base/daemon_options.h"

namespace odyssey::daemon {
namespace {

constexpr uint64_t kMaxWorkers = 256;
constexpr uint64_t kMaxQueue = 100'000;
constexpr uint64_t kMaxQueueTotal = 10'000'000;
constexpr uint64_t kMaxApprovalSeconds = session::kMaxApprovalTimeoutMs / 1000;
constexpr uint64_t kMaxIdleSeconds = 30 * 24 * 3600;
constexpr uint64_t kMaxDrainSeconds = 24 * 3600;
constexpr uint64_t kMinJournalBytes = 64 * 1024;
constexpr uint64_t kMaxJournalBytes = uint64_t{1} << 50;
constexpr uint64_t kMaxKeepSeconds = uint64_t{100} * 366 * 24 * 3600;
constexpr uint64_t kMaxUid = 0xfffffffe;

Status SetGroup(const std::string& option, const std::string& value, std::string* out) {
  if (value.empty()) return InvalidArgument(option + ": needs a group's name or gid");
  *out = value;
  return OkStatus();
}

struct OfProvider {
  std::string provider, value;
};

// "PROVIDER=VALUE"; without a provider it is of openai. An address may hold '=' after its '/'.
Result<OfProvider> SplitProvider(const std::string& option, const std::string& value) {
  const size_t equals = value.find_first_of("=/");
  if (equals == std::string::npos || value[equals] == '/') return OfProvider{"openai", value};
  const Result<const provider::Provider*> row = provider::FindProvider(value.substr(0, equals));
  if (!row.ok() || !provider::HasServer(**row)) {
    return InvalidArgument(option + " " + value + ": no provider of that name has a key");
  }
  return OfProvider{std::string((*row)->name), value.substr(equals + 1)};
}

Status SetFallback(const std::string& option, const std::string& value, std::string* out) {
  if (value != "ask" && value != "deny") {
    return InvalidArgument(option + " \"" + value + "\": must be ask or deny");
  }
  *out = value;
  return OkStatus();
}

using Setter = std::function<Status(const std::string& option, const std::string& value, Options*)>;

const std::map<std::string, Setter>& Setters() {
  static const std::map<std::string, Setter> kSetters = {
      {"--state", [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->state); }},
      {"--socket", [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->socket); }},
      {"--supervisor-socket",
       [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->supervisor_socket); }},
      {"--model-key-file",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const OfProvider of, SplitProvider(o, v));
         return SetPath(o, of.value, &out->model_key_files[of.provider]);
       }},
      {"--model-base-url",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const OfProvider of, SplitProvider(o, v));
         out->model_base_urls[of.provider] = of.value;
         return OkStatus();
       }},
      {"--policy",
       [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->policy_directory); }},
      {"--prices", [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->prices); }},
      {"--allow-uid",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const uint64_t uid, ParseNumber(o, v, 0, kMaxUid));
         out->allowed_uids.insert(static_cast<uid_t>(uid));
         return OkStatus();
       }},
      {"--http-uid",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const uint64_t uid, ParseNumber(o, v, 1, kMaxUid));
         out->http_uid = static_cast<uid_t>(uid);
         return OkStatus();
       }},
      {"--allow-group",
       [](auto& o, auto& v, Options* out) { return SetGroup(o, v, &out->allow_group); }},
      {"--admin-group",
       [](auto& o, auto& v, Options* out) { return SetGroup(o, v, &out->admin_group); }},
      {"--settings", [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->settings); }},
      {"--listen-fd",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(out->listener, ParseInheritedFd(o, v));
         return OkStatus();
       }},
      {"--metrics-listen",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_RETURN_IF_ERROR(CheckMetricsAddress(o, v));
         out->metrics_listen = v;
         return OkStatus();
       }},
      {"--drain",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const uint64_t seconds, ParseNumber(o, v, 0, kMaxDrainSeconds));
         out->drain = std::chrono::seconds(seconds);
         return OkStatus();
       }},
      {"--workers",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(out->workers, ParseNumber(o, v, 1, kMaxWorkers));
         return OkStatus();
       }},
      {"--queue",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(out->queue, ParseNumber(o, v, 1, kMaxQueue));
         return OkStatus();
       }},
      {"--queue-total",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(out->queue_total, ParseNumber(o, v, 1, kMaxQueueTotal));
         return OkStatus();
       }},
      {"--idle-cell",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const uint64_t seconds, ParseNumber(o, v, 0, kMaxIdleSeconds));
         out->idle_cell = std::chrono::seconds(seconds);
         return OkStatus();
       }},
      {"--journal-max-bytes",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(out->journal_max_bytes, ParseNumber(o, v, 0, kMaxJournalBytes));
         if (out->journal_max_bytes == 0 || out->journal_max_bytes >= kMinJournalBytes) {
           return OkStatus();
         }
         return InvalidArgument(o + " \"" + v + "\": must be 0, or at least " +
                                std::to_string(kMinJournalBytes));
       }},
      {"--journal-keep",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const uint64_t seconds, ParseNumber(o, v, 0, kMaxKeepSeconds));
         out->journal_keep = std::chrono::seconds(seconds);
         return OkStatus();
       }},
      {"--approval-timeout",
       [](auto& o, auto& v, Options* out) -> Status {
         ODY_ASSIGN_OR_RETURN(const uint64_t seconds, ParseNumber(o, v, 0, kMaxApprovalSeconds));
         out->approval_timeout = std::chrono::seconds(seconds);
         return OkStatus();
       }},
      {"--approval-command",
       [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->approval_command); }},
      {"--approval-command-fallback",
       [](auto& o, auto& v, Options* out) {
         return SetFallback(o, v, &out->approval_command_fallback);
       }},
      {"--approval-webhook",
       [](auto&, auto& v, Options* out) {
         out->approval_webhook = v;
         return OkStatus();
       }},
      {"--approval-webhook-token-file",
       [](auto& o, auto& v,
          Options* out) { return SetPath(o, v, &out->approval_webhook_token_file); }},
      {"--approval-webhook-ca",
       [](auto& o, auto& v, Options* out) { return SetPath(o, v, &out->approval_webhook_ca); }},
      {"--approval-webhook-fallback", [](auto& o, auto& v, Options* out) {
         return SetFallback(o, v, &out->approval_webhook_fallback);
       }}};
  return kSetters;
}

// One program answers; an option of one that is not there would do nothing.
Status CheckApprovalOptions(const Options& options) {
  if (!options.approval_command.empty() && !options.approval_webhook.empty()) {
    return InvalidArgument("--approval-webhook: excludes --approval-command; give one");
  }
  for (const auto& [option, value, needed, given] :
       {std::tuple{"--approval-command-fallback", options.approval_command_fallback,
                   "--approval-command", options.approval_command},
        {"--approval-webhook-fallback", options.approval_webhook_fallback, "--approval-webhook",
         options.approval_webhook},
        {"--approval-webhook-token-file", options.approval_webhook_token_file, "--approval-webhook",
         options.approval_webhook},
        {"--approval-webhook-ca", options.approval_webhook_ca, "--approval-webhook",
         options.approval_webhook}}) {
    if (!value.empty() && given.empty()) {
      return InvalidArgument(std::string(option) + ": needs " + needed);
    }
  }
  return OkStatus();
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options out;
  ODY_ASSIGN_OR_RETURN(const AskedOfDaemon asked,
                       ReadDaemonOptions(
                           arguments, [](auto& option) { return Setters().count(option) != 0; },
                           [&out](auto& option, auto& value) -> Status {
                             ODY_RETURN_IF_ERROR(Setters().at(option)(option, value, &out));
                             out.given[option].push_back(value);
                             return OkStatus();
                           }));
  out.help = asked == AskedOfDaemon::kHelp;
  out.version = asked == AskedOfDaemon::kVersion;
  if (asked != AskedOfDaemon::kRun) return out;
  for (const auto& [option, value] :
       std::map<std::string, std::string>{{"--state", out.state},
                                          {"--socket", out.socket},
                                          {"--supervisor-socket", out.supervisor_socket}}) {
    if (value.empty()) return InvalidArgument(option + ": is required");
  }
  ODY_RETURN_IF_ERROR(CheckApprovalOptions(out));
  return out;
}

std::string Usage() {
  return "usage: odyssey-agentd --state DIR --socket PATH --supervisor-socket PATH [OPTION…]\n"
         "\n"
         "  --state DIR               sessions, journals and installed bundles; made if missing\n"
         "  --socket PATH             where to serve\n"
         "  --supervisor-socket PATH  where odyssey-supervisor serves\n"
         "  --allow-uid UID           may connect, beside this process's own uid and 0; "
         "repeatable\n"
         "  --http-uid UID            may connect too: odyssey-http's, not root's; each call of it "
         "needs a user's\n"
         "                            token (none; docs/HTTP.md)\n"
         "  --allow-group GROUP       its members may connect too; a name or a gid (none)\n"
         "  --admin-group GROUP       its members may connect too, and list, read, stop and remove "
         "every session\n"
         "                            and answer its approvals; a name or a gid (none)\n"
         "  --drain N                 seconds that running turns get to end at SIGTERM (0)\n"
         "  --metrics-listen ADDRESS:PORT\n"
         "                            serves GET /metrics to Prometheus by HTTP, on 127.0.0.0/8; "
         "every "
         "user\n"
         "                            of this host can read it (none; docs/METRICS.md)\n"
         "  --workers N               turns that run at the same time (4)\n"
         "  --queue N                 turns that may wait in one session (128)\n"
         "  --queue-total N           turns that may wait in all sessions together (10000)\n"
         "  --model-key-file [PROVIDER=]FILE\n"
         "                            the key for a provider (openai); else PROVIDER_API_KEY; "
         "repeatable\n"
         "  --model-base-url [PROVIDER=]URL\n"
         "                            its server (openai); else PROVIDER_BASE_URL; repeatable\n"
         "  --policy DIR              the operator's ceiling (/etc/odyssey/policy.d)\n"
         "  --prices FILE             what models cost (/etc/odyssey/prices.yaml); may be missing\n"
         "  --approval-timeout N      seconds until an unanswered approval is denied (0: never)\n"
         "  --idle-cell N             seconds without work after which a session's cell is ended; "
         "its "
         "files stay\n"
         "                            (900; 0: never)\n"
         "  --journal-max-bytes N     of a session's events; the oldest turns' go first (67108864; "
         "0: no bound)\n"
         "  --journal-keep N          seconds that a session's events are kept (0: for ever)\n"
         "  --approval-command PATH   answers each request for approval (docs/APPROVALS.md)\n"
         "  --approval-command-fallback deny|ask\n"
         "                            what it does not answer (deny)\n"
         "  --approval-webhook URL    answers each request for approval by POST\n"
         "  --approval-webhook-token-file FILE\n"
         "                            its bearer token, also the key of the signature\n"
         "  --approval-webhook-ca FILE\n"
         "                            the only authorities whose certificates are trusted, in PEM\n"
         "  --approval-webhook-fallback deny|ask\n"
         "                            what it does not answer (deny)\n"
         "  --listen-fd N             a listening socket that was inherited, in place of making "
         "--socket\n"
         "  --settings DIR            where SIGHUP reads options anew, by odyssey-start\n"
         "  --version, --help\n";
}

}  // namespace odyssey::daemon
