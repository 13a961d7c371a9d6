#include "policy/dialect/mcp_server.h"

#include <algorithm>

#include "common/base/control.h"
#include "policy/dialect/sha256_digest.h"
#include "policy/model/own_variables.h"

namespace odyssey::dialect {
namespace {

constexpr uint64_t kMaxTimeoutSeconds = 3600;
constexpr size_t kMaxUrl = 2048;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// So that mcp__SERVER__TOOL has one reading: the server's name ends at the first "__".
bool IsServerName(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return IsLowerOrDigit(c) || c == '_' || c == '-'; });
  return plain && !name.empty() && name.size() <= kMaxMcpServerName &&
         name.find("__") == std::string_view::npos && IsLowerOrDigit(name.front()) &&
         name.back() != '_';
}

bool IsVariable(std::string_view name) {
  return !name.empty() && !IsDigit(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

// A token of RFC 9110.
bool IsHeaderName(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return IsLetter(c) || IsDigit(c) || kOthers.find(c) != std::string_view::npos;
  });
}

// What the client of the protocol sends itself.
bool IsOwnHeader(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::string_view kOwn[] = {"accept",     "content-type",      "content-length",
                                       "host",       "mcp-session-id",    "mcp-protocol-version",
                                       "connection", "transfer-encoding", "expect"};
  return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
}

void ReadCommand(MapReader* map, McpServerSpec* server) {
  for (const Text& word : map->Strings("command")) server->command.push_back(word.value);
  if (map->Any("command") == nullptr) return;
  if (server->command.empty() || server->command.front().empty()) {
    map->source().Invalid(map->Any("command")->line, map->KeyOf("command"),
                          "must be the words of a command, the program first");
  }
}

void ReadEnv(MapReader* map, McpServerSpec* server) {
  for (const auto& [key, text] : map->StringMap("env")) {
    if (!IsVariable(key.name)) {
      map->source().Invalid(text.line, text.key,
                            "`" + key.name + "` is no name of a variable: letters, digits and _");
    } else if (policy::IsOwnVariable(key.name)) {
      map->source().Invalid(text.line, text.key, policy::kOwnVariableRule);
    }
    server->env[key.name] = text.value;
  }
}

void ReadUrl(MapReader* map, McpServerSpec* server) {
  const std::optional<Text> url = map->String("url");
  if (!url) return;
  server->url = url->value;
  const bool http = url->value.rfind("https://", 0) == 0 || url->value.rfind("http://", 0) == 0;
  const bool plain = std::all_of(url->value.begin(), url->value.end(),
                                 [](char c) { return c > 0x20 && c < 0x7f; });
  // curl gives braces and brackets a meaning of its own.
  const bool globs = url->value.find_first_of("{}[]\\") != std::string::npos;
  if (!http || !plain || globs || url->value.size() > kMaxUrl) {
    map->source().Invalid(url->line, url->key,
                          "must be https://HOST/PATH or http://HOST/PATH, without spaces, braces "
                          "and brackets: `" +
                              url->value + "`");
  }
}

void ReadHeaders(MapReader* map, McpServerSpec* server) {
  for (const auto& [key, text] : map->StringMap("headers")) {
    if (!IsHeaderName(key.name) || IsOwnHeader(key.name)) {
      map->source().Invalid(text.line, text.key,
                            "`" + key.name + "` is no header that a server may be sent here");
    } else if (HasControl(text.value)) {
      map->source().Invalid(text.line, text.key, "must not hold a control character");
    } else if (const Status split = SplitHeader(text.value).status(); !split.ok()) {
      map->source().Invalid(text.line, text.key, split.message());
    }
    server->headers[key.name] = text.value;
  }
}

void ReadPins(MapReader* map, McpServerSpec* server) {
  for (const auto& [key, text] : map->StringMap("pins")) {
    if (!IsSha256Digest(text.value)) {
      map->source().Invalid(text.line, text.key,
                            "must be sha256: and 64 hex digits, as `odyssey-ctl tool list SESSION` "
                            "prints them");
    }
    const std::vector<std::string>& tools = server->tools;
    if (!tools.empty() && std::find(tools.begin(), tools.end(), key.name) == tools.end()) {
      map->source().Invalid(text.line, text.key, "pins `" + key.name + "`, which is not in tools");
    }
    server->pins[key.name] = text.value;
  }
}

// The keys of one way to reach a server mean nothing for the other.
void CheckWay(MapReader* map) {
  const bool command = map->Any("command") != nullptr, url = map->Any("url") != nullptr;
  if (command == url) {
    map->source().Invalid(map->line(), map->key(), "needs one of command and url");
    return;
  }
  const auto refuse = [&](const char* key, const char* with) {
    const Node* node = map->Any(key);
    if (node == nullptr) return;
    map->source().Invalid(node->line, map->KeyOf(key), std::string("is for a server with ") + with);
  };
  if (command) {
    refuse("headers", "url");
  } else {
    refuse("env", "command");
    refuse("cwd", "command");
  }
}

}  // namespace

std::vector<McpServerSpec> ReadMcpServers(MapReader* map, Origins* origins) {
  std::vector<McpServerSpec> servers;
  for (auto& [key, entry] : map->MapOfMaps("mcp_servers", kMaxMcpServers)) {
    McpServerSpec server;
    server.name = key.name;
    if (!IsServerName(key.name)) {
      entry.source().Invalid(key.line, entry.key(),
                             "the name of a server has 1 to 32 of a-z, 0-9, - and single _, begins "
                             "with a letter or digit and does not end with _");
    }
    origins->Add("mcp_servers." + key.name, entry.source().At(key.line, entry.key()));
    ReadCommand(&entry, &server);
    ReadEnv(&entry, &server);
    if (const std::optional<Text> cwd = entry.String("cwd")) server.cwd = cwd->value;
    ReadUrl(&entry, &server);
    ReadHeaders(&entry, &server);
    CheckWay(&entry);
    for (const Text& tool : entry.Strings("tools")) server.tools.push_back(tool.value);
    ReadPins(&entry, &server);
    server.timeout_ms = static_cast<uint32_t>(
        entry.Whole("timeout", kMcpTimeoutMs / 1000, 1, kMaxTimeoutSeconds) * 1000);
    entry.Finish();
    servers.push_back(std::move(server));
  }
  return servers;
}

Result<std::vector<HeaderPiece>> SplitHeader(std::string_view value) {
  std::vector<HeaderPiece> out;
  while (!value.empty()) {
    const size_t at = value.find("${");
    if (at != 0) {
      out.push_back({false, std::string(value.substr(0, at))});
      if (at == std::string_view::npos) break;
      value.remove_prefix(at);
      continue;
    }
    const size_t end = value.find('}');
    const std::string_view name =
        end == std::string_view::npos ? std::string_view() : value.substr(2, end - 2);
    if (!IsVariable(name)) {
      return InvalidArgument("`${` begins a reference to a variable: ${NAME}");
    }
    out.push_back({true, std::string(name)});
    value.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace odyssey::dialect
