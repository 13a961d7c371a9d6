#include "ctl/daemon/agentd_options.h"

#include <filesystem>
#include <system_error>

#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

constexpr uint32_t kMsPerSecond = 1000;

std::string Absolute(const std::string& path) {
  std::error_code error;
  std::string out = std::filesystem::absolute(path, error).string();
  return error ? path : out;
}

std::string ArgumentOf(const OptionSpec& option, const std::string& typed) {
  switch (option.kind) {
    case ValueKind::kDuration:
      return std::to_string((*ParseDurationMs(typed) + uint64_t{kMsPerSecond - 1}) / kMsPerSecond);
    case ValueKind::kAge:
      return std::to_string(*ParseAgeS(typed));
    case ValueKind::kSize:
      return std::to_string(*ParseSize(typed));
    case ValueKind::kFile:
    case ValueKind::kDirectory:
      return Absolute(typed);
    default:
      return typed;
  }
}

}  // namespace

const std::vector<OptionSpec>& AgentdOptions() {
  static const std::vector<OptionSpec> kOptions = {
      {.name = "workers",
       .kind = ValueKind::kText,
       .value_name = "N",
       .help = "turns that run at the same time (4)"},
      {.name = "queue",
       .kind = ValueKind::kText,
       .value_name = "N",
       .help = "turns that may wait in one session (128)"},
      {.name = "queue-total",
       .kind = ValueKind::kText,
       .value_name = "N",
       .help = "turns that may wait in all sessions together (10000)"},
      {.name = "idle-cell",
       .kind = ValueKind::kText,
       .value_name = "SECONDS",
       .help =
           "without work after which a session's cell is ended; its files stay (900; 0: never)"},
      {.name = "admin-group",
       .kind = ValueKind::kText,
       .value_name = "GROUP",
       .help = "its members may connect too, and list, read, stop and remove every session and "
               "answer its approvals; a name or a gid"},
      {.name = "drain",
       .kind = ValueKind::kDuration,
       .value_name = "DURATION",
       .help = "what running turns get to end when the daemons are stopped, in seconds rounded "
               "up (default: nothing); a second signal or `down` stops at once"},
      {.name = "journal-max-bytes",
       .kind = ValueKind::kSize,
       .value_name = "SIZE",
       .help = "of a session's events; those of its oldest turns go first (64m)"},
      {.name = "journal-keep",
       .kind = ValueKind::kAge,
       .value_name = "AGE",
       .help = "how long a session's events are kept, such as 30d (default: for ever)"},
      {.name = "model-key-file",
       .kind = ValueKind::kText,
       .value_name = "[PROVIDER=]FILE",
       .help = "an absolute path: the key for a provider (openai), read as agentd's user; else "
               "PROVIDER_API_KEY",
       .repeatable = true},
      {.name = "model-base-url",
       .kind = ValueKind::kText,
       .value_name = "[PROVIDER=]URL",
       .help = "its server (openai); else PROVIDER_BASE_URL",
       .repeatable = true},
      {.name = "approval-timeout",
       .kind = ValueKind::kDuration,
       .value_name = "DURATION",
       .help = "deny a request for approval that has no answer by then, in seconds rounded up "
               "(default: never)"},
      {.name = "approval-command",
       .kind = ValueKind::kFile,
       .value_name = "PATH",
       .help = "a program that answers each request for approval, as agentd's user"},
      {.name = "approval-command-fallback",
       .kind = ValueKind::kChoice,
       .value_name = "HOW",
       .help = "what becomes of a request that it does not answer: deny (default) or ask",
       .choices = {"deny", "ask"}},
      {.name = "approval-webhook",
       .kind = ValueKind::kText,
       .value_name = "URL",
       .help = "a server that answers each request for approval, by POST; https, or http on "
               "loopback"},
      {.name = "approval-webhook-token-file",
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help = "its bearer token, which signs each request too; read as agentd's user"},
      {.name = "approval-webhook-ca",
       .kind = ValueKind::kFile,
       .value_name = "FILE",
       .help = "the only authorities whose certificates it may have, in PEM"},
      {.name = "approval-webhook-fallback",
       .kind = ValueKind::kChoice,
       .value_name = "HOW",
       .help = "what becomes of a request that it does not answer: deny (default) or ask",
       .choices = {"deny", "ask"}},
  };
  return kOptions;
}

std::vector<std::string> AgentdArguments(const ParsedOptions& options) {
  std::vector<std::string> out;
  for (const OptionSpec& option : AgentdOptions()) {
    for (const std::string& typed : options.All(option.name)) {
      out.push_back("--" + std::string(option.name));
      out.push_back(ArgumentOf(option, typed));
    }
  }
  return out;
}

}  // namespace odyssey::ctl
