#include "ctl/settings/setting.h"

namespace odyssey::ctl {
namespace {

constexpr uint64_t kMsPerSecond = 1000;
constexpr uint64_t kSecondsPerDay = 24 * 3600;

Setting Path(std::string_view key, std::string_view option, std::string_view fallback,
             std::string_view help) {
  return {.key = key,
          .option = {.name = option, .kind = ValueKind::kFile, .value_name = "PATH", .help = help},
          .fallback = fallback};
}

Setting Directory(std::string_view key, std::string_view option, std::string_view fallback,
                  std::string_view help) {
  return {
      .key = key,
      .option = {.name = option, .kind = ValueKind::kDirectory, .value_name = "DIR", .help = help},
      .of_services = true,
      .fallback = fallback};
}

Setting Users(std::string_view key, std::string_view option, std::string_view fallback,
              std::string_view help) {
  return {.key = key,
          .option = {.name = option,
                     .kind = ValueKind::kText,
                     .value_name = "USER",
                     .help = help,
                     .repeatable = true},
          .shape = Shape::kList,
          .is_user = true,
          .fallback = fallback};
}

Setting Count(std::string_view key, std::string_view option, std::string_view fallback,
              uint64_t most, std::string_view help) {
  return {.key = key,
          .option = {.name = option,
                     .kind = ValueKind::kNumber,
                     .value_name = "N",
                     .help = help,
                     .min = 1,
                     .max = most},
          .of_up = true,
          .fallback = fallback};
}

// Of kDuration or kAge.
Setting Time(std::string_view key, std::string_view option, ValueKind kind,
             std::string_view fallback, uint64_t most_s, std::string_view help) {
  const bool is_age = kind == ValueKind::kAge;
  return {.key = key,
          .option = {.name = option,
                     .kind = kind,
                     .value_name = is_age ? "AGE" : "DURATION",
                     .help = help,
                     .max = is_age ? most_s : most_s * kMsPerSecond,
                     .zero = true},
          .of_up = true,
          .fallback = fallback};
}

// What becomes of a request for approval that a program does not answer.
Setting Fallback(std::string_view key, std::string_view option, std::string_view needs) {
  return {.key = key,
          .option = {.name = option,
                     .kind = ValueKind::kChoice,
                     .value_name = "HOW",
                     .help = "what becomes of a request that it does not answer: deny (default) "
                             "or ask",
                     .choices = {"deny", "ask"}},
          .of_up = true,
          .needs = needs};
}

Setting OfUp(Setting setting, std::string_view needs = "") {
  setting.of_up = true;
  setting.needs = needs;
  return setting;
}

Setting OfServices(Setting setting) {
  setting.of_services = true;
  return setting;
}

Setting OfRpc(Setting setting) {
  setting.of_rpc = true;
  return setting;
}

Setting Text(std::string_view key, std::string_view option, std::string_view value_name,
             std::string_view help) {
  return {
      .key = key,
      .option = {.name = option, .kind = ValueKind::kText, .value_name = value_name, .help = help}};
}

Setting Names(std::string_view key, std::string_view option, std::string_view help) {
  Setting out = Text(key, option, "NAME", help);
  out.shape = Shape::kList;
  out.option.repeatable = true;
  return out;
}

Setting Group(std::string_view key, std::string_view option, std::string_view fallback,
              std::string_view help) {
  Setting out = Text(key, option, "GROUP", help);
  out.fallback = fallback;
  return out;
}

Setting Map(Setting setting) {
  setting.shape = Shape::kMap;
  setting.option.repeatable = true;
  return setting;
}

Setting Reloaded(Setting setting) {
  setting.reloaded = true;
  return setting;
}

DaemonSettings Supervisor() {
  return {
      "supervisor",
      "odyssey-supervisor",
      {Directory("state", "state", "/var/lib/odyssey/supervisor",
                 "cells' directories, approvals of projects, the audit log"),
       Directory("run", "run", "/run/odyssey", "where supervisor.sock is"),
       {.key = "rpc_user",
        .option = {.name = "rpc-user",
                   .kind = ValueKind::kText,
                   .value_name = "USER",
                   .help = "the user that serves clients, not root"},
        .is_user = true,
        .of_services = true,
        .fallback = "odyssey-rpc"},
       OfServices(
           Users("client_users", "client-uid", "odyssey-agentd", "may connect, beside root")),
       {.key = "uid_base",
        .option = {.name = "uid-base",
                   .kind = ValueKind::kNumber,
                   .value_name = "UID",
                   .help = "owns cells' directories; live cells have uids above it",
                   .min = 65536,
                   .max = 0xfffffffe},
        .of_services = true,
        .fallback = "1879048192"},
       Directory("bundle_store", "bundle-store", "/var/lib/odyssey/agentd/bundles/trees",
                 "the trees of installed bundles, which cells share"),
       Directory("policy", "policy", "/etc/odyssey/policy.d", "the operator's ceiling"),
       {.key = "audit_keep_bytes",
        .option = {.name = "audit-keep-bytes",
                   .kind = ValueKind::kSize,
                   .value_name = "SIZE",
                   .help = "what stays of the audit log, at least 64k; its oldest files go first "
                           "(default: all)",
                   .min = 64 * 1024,
                   .zero = true},
        .of_up = true,
        .of_rpc = true,
        .fallback = "0"},
       OfRpc(Time("audit_keep", "audit-keep", ValueKind::kAge, "0", 100 * 366 * kSecondsPerDay,
                  "how old records of the audit log grow, such as 90d; its oldest files go first "
                  "(default: any age)")),
       {.key = "pool_cells",
        .option = {.name = "pool-cells",
                   .kind = ValueKind::kNumber,
                   .value_name = "N",
                   .help = "cells made ahead of need, at most, for policies that are asked for "
                           "again and again (of the services 4, of up 0: none)",
                   .max = 64,
                   .zero = true},
        .of_up = true,
        .of_rpc = true,
        .fallback = "4"},
       {.key = "pool_idle",
        .option = {.name = "pool-idle",
                   .kind = ValueKind::kDuration,
                   .value_name = "DURATION",
                   .help = "how long the supervisor keeps such a cell that no request claims, in "
                           "seconds rounded up (60s)",
                   .min = 1,
                   .max = 600 * kMsPerSecond},
        .of_up = true,
        .of_rpc = true,
        .fallback = "60s"},
       OfServices(Path("danger_grants", "danger-grants", "/etc/odyssey/danger_full_access",
                       "users who may run commands without a cell"))}};
}

DaemonSettings Egress() {
  return {"egress",
          "odyssey-egress",
          {Directory("run", "run", "/run/odyssey", "egress/ there has its sockets"),
           OfServices(Users("client_users", "client-uid", "odyssey-rpc", "may connect for cells")),
           Directory("state", "state", "/var/lib/odyssey/egress", "users' secrets"),
           Directory("config", "config", "/etc/odyssey", "where inference.yaml is"),
           Path("certificates", "certificates", "/etc/ssl/certs/ca-certificates.crt",
                "authorities whose servers are trusted, in PEM"),
           OfUp(Text("upstream_proxy", "upstream-proxy", "ADDRESS:PORT",
                     "reach what cells connect to through this proxy, by CONNECT")),
           OfUp(Path("upstream_proxy_authorization", "upstream-proxy-authorization", "",
                     "its USER:PASSWORD, in a file"),
                "upstream_proxy"),
           Map(Text("limits", "limit", "NAME=N", "bounds of what one cell may take"))}};
}

DaemonSettings Agentd() {
  DaemonSettings out = {
      "agentd",
      "odyssey-agentd",
      {Directory("state", "state", "/var/lib/odyssey/agentd",
                 "sessions, journals and installed bundles"),
       OfServices(Path("socket", "socket", "/run/odyssey/agentd.sock", "where it serves")),
       OfServices(Path("supervisor_socket", "supervisor-socket", "/run/odyssey/supervisor.sock",
                       "where odyssey-supervisor serves")),
       Directory("policy", "policy", "/etc/odyssey/policy.d", "the operator's ceiling"),
       OfServices(Path("prices", "prices", "/etc/odyssey/prices.yaml", "what models cost")),
       Reloaded(Users("allow_users", "allow-uid", "", "may use sessions, beside root")),
       Reloaded(OfUp(Group("allow_group", "allow-group", "odyssey",
                           "its members may use sessions; a name or a gid"))),
       {.key = "http_user",
        .option = {.name = "http-uid",
                   .kind = ValueKind::kText,
                   .value_name = "USER",
                   .help =
                       "the user of odyssey-http, such as odyssey-http: each of its calls needs "
                       "a token (default: none)"},
        .is_user = true,
        .of_services = true},
       OfUp(Group("admin_group", "admin-group", "",
                  "its members may connect too, and list, read, stop and remove every session and "
                  "answer its approvals; a name or a gid")),
       OfUp(Text(
           "metrics_listen", "metrics-listen", "ADDRESS:PORT",
           "serve metrics to Prometheus by HTTP, on an address of 127.0.0.0/8, for every user of "
           "this host to read (default: nowhere)")),
       Count("workers", "workers", "4", 256, "turns that run at the same time (4)"),
       Count("queue", "queue", "128", 100'000, "turns that may wait in one session (128)"),
       Count("queue_total", "queue-total", "10000", 10'000'000,
             "turns that may wait in all sessions together (10000)"),
       Time("idle_cell", "idle-cell", ValueKind::kDuration, "15m", 30 * kSecondsPerDay,
            "without work after which a session's cell is ended; its files stay (15m; 0: "
            "never)"),
       Time("drain", "drain", ValueKind::kDuration, "60s", kSecondsPerDay,
            "what running turns get to end when agentd is stopped, in seconds rounded up; "
            "a second signal stops at once"),
       {.key = "journal_max_bytes",
        .option = {.name = "journal-max-bytes",
                   .kind = ValueKind::kSize,
                   .value_name = "SIZE",
                   .help = "of a session's events; those of its oldest turns go first (64m; 0: no "
                           "bound)",
                   .min = 64 * 1024,
                   .max = uint64_t{1} << 50,
                   .zero = true},
        .of_up = true,
        .fallback = "64m"},
       Time("journal_keep", "journal-keep", ValueKind::kAge, "0", 100 * 366 * kSecondsPerDay,
            "how long a session's events are kept, such as 30d (0: for ever)"),
       Reloaded(Map(
           OfUp(Text("model_key_files", "model-key-file", "[PROVIDER=]FILE",
                     "an absolute path: the key for a provider (openai), read as agentd's user; "
                     "else PROVIDER_API_KEY")))),
       Reloaded(Map(OfUp(Text("model_base_urls", "model-base-url", "[PROVIDER=]URL",
                              "its server (openai); else PROVIDER_BASE_URL")))),
       Time("approval_timeout", "approval-timeout", ValueKind::kDuration, "0", 7 * kSecondsPerDay,
            "deny a request for approval that has no answer by then, in seconds rounded up "
            "(0: never)"),
       OfUp(Path("approval_command", "approval-command", "",
                 "a program that answers each request for approval, as agentd's user")),
       Fallback("approval_command_fallback", "approval-command-fallback", "approval_command"),
       OfUp(Text("approval_webhook", "approval-webhook", "URL",
                 "a server that answers each request for approval, by POST; https, or http on "
                 "loopback")),
       OfUp(Path("approval_webhook_token_file", "approval-webhook-token-file", "",
                 "its bearer token, which signs each request too; read as agentd's user"),
            "approval_webhook"),
       OfUp(Path("approval_webhook_ca", "approval-webhook-ca", "",
                 "the only authorities whose certificates it may have, in PEM"),
            "approval_webhook"),
       Fallback("approval_webhook_fallback", "approval-webhook-fallback", "approval_webhook")}};
  return out;
}

DaemonSettings Http() {
  return {"http",
          "odyssey-http",
          {OfServices(Path("agentd_socket", "agentd-socket", "/run/odyssey/agentd.sock",
                           "where odyssey-agentd serves")),
           Text("listen", "listen", "ADDRESS:PORT",
                "where to serve, in numbers; for the services odyssey-http.socket says it "
                "(127.0.0.1:8472)"),
           Names("host_names", "host-name",
                 "what clients may call this server, beside 127.0.0.1, localhost and [::1]"),
           {.key = "non_loopback",
            .option = {.name = "non-loopback",
                       .kind = ValueKind::kChoice,
                       .value_name = "HOW",
                       .help = "whether an address that other hosts reach may be served, without "
                               "TLS: deny (default) or allow",
                       .choices = {"deny", "allow"}}},
           Text("mcp_bundle", "mcp-bundle", "BUNDLE",
                "the bundle whose tools /mcp serves; /mcp/BUNDLE serves any one"),
           OfServices(Path("address_file", "address-file", "/run/odyssey/http/address",
                           "where the address is written, for odyssey-ctl web"))}};
}

}  // namespace

const std::vector<DaemonSettings>& AllSettings() {
  static const std::vector<DaemonSettings> kAll = {Supervisor(), Egress(), Agentd(), Http()};
  return kAll;
}

}  // namespace odyssey::ctl
