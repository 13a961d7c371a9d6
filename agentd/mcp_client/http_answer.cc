#include "agentd/mcp_client/http_answer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "agentd/mcp_client/connection.h"
#include "agentd/tool/tool.h"
#include "common/base/utf8.h"

namespace odyssey::mcp_client {
namespace {

// Begins the line of facts: no header of a server can begin a line of curl's.
constexpr std::string_view kFacts = "\nodyssey-mcp ";
constexpr char kWriteOut[] = "%{stderr}\nodyssey-mcp %{http_code} %header{mcp-session-id}\n";
constexpr size_t kBeginningBytes = 300;
constexpr size_t kMaxSessionId = 1024;
constexpr uint32_t kSecondsAfterUs = 5;

// For sh.
std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string HeaderForShell(const std::string& name,
                           const std::vector<dialect::HeaderPiece>& value) {
  std::string out = Quoted(name + ": ");
  for (const dialect::HeaderPiece& piece : value) {
    // Ends the line where the cell has no such variable.
    out += piece.is_variable ? "\"${" + piece.text + ":?is not set in the cell}\""
                             : Quoted(piece.text);
  }
  return out;
}

bool IsSessionId(std::string_view text) {
  return text.size() <= kMaxSessionId &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::vector<std::string> PostCommand(const dialect::McpServerSpec& server, const HttpTerms& terms) {
  // After us: who gives up first says why.
  const std::string seconds = std::to_string((terms.timeout_ms + 999) / 1000 + kSecondsAfterUs);
  // -q: no file of the cell says more. No redirect is followed, whatever it is to.
  std::vector<std::string> words = {kCurl,
                                    "-q",
                                    "-sS",
                                    "--no-buffer",
                                    "--max-time",
                                    seconds,
                                    "--proto",
                                    "=http,https",
                                    "--data-binary",
                                    "@-",
                                    "-w",
                                    kWriteOut,
                                    "-H",
                                    "Expect:",
                                    "-H",
                                    "Content-Type: application/json",
                                    "-H",
                                    "Accept: application/json, text/event-stream"};
  const auto add = [&](const std::string& header) {
    words.emplace_back("-H");
    words.push_back(header);
  };
  if (!terms.version.empty()) add("MCP-Protocol-Version: " + terms.version);
  if (!terms.session_id.empty()) add("Mcp-Session-Id: " + terms.session_id);
  std::string for_shell;
  bool has_variable = false;
  for (const auto& [name, value] : server.headers) {
    const auto pieces = dialect::SplitHeader(value);
    if (!pieces.ok()) continue;  // the manifest was refused
    has_variable = has_variable || std::any_of(pieces->begin(), pieces->end(),
                                               [](const auto& piece) { return piece.is_variable; });
    for_shell += " -H " + HeaderForShell(name, *pieces);
  }
  if (!has_variable) {
    for (const auto& [name, value] : server.headers) add(name + ": " + value);
    words.push_back(server.url);
    return words;
  }
  std::string line = "exec";
  for (const std::string& word : words) line += " " + Quoted(word);
  return {tools::kPlainShell, "-c", line + for_shell + " " + Quoted(server.url)};
}

Status HttpBody::Push(std::string_view bytes, const Sink& sink) {
  bytes_ += bytes.size();
  if (bytes_ > kMaxMessageBytes) {
    return ResourceExhausted("an answer of more than " + std::to_string(kMaxMessageBytes) +
                             " bytes");
  }
  if (beginning_.size() < kBeginningBytes) {
    beginning_ += bytes.substr(0, kBeginningBytes - beginning_.size());
  }
  if (kind_ == Kind::kUnknown) {
    const size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return OkStatus();
    bytes.remove_prefix(first);
    kind_ = bytes.front() == '{' || bytes.front() == '[' ? Kind::kJson : Kind::kEvents;
  }
  if (kind_ == Kind::kJson) {
    json_ += bytes;
    return OkStatus();
  }
  return events_.Push(bytes, [&](std::string_view data) { return sink(std::string(data)); });
}

Status HttpBody::Finish(const Sink& sink) {
  if (kind_ == Kind::kJson) return sink(json_);
  if (kind_ == Kind::kUnknown) return OkStatus();
  return events_.Finish([&](std::string_view data) { return sink(std::string(data)); });
}

HttpFacts ReadFacts(std::string_view standard_error) {
  HttpFacts out;
  const size_t at = standard_error.rfind(kFacts);
  const std::string_view said = standard_error.substr(0, at);
  const size_t end = said.find_last_not_of(" \t\r\n");
  if (end != std::string_view::npos) out.complaint = SanitizeUtf8(said.substr(0, end + 1));
  if (at == std::string_view::npos) return out;
  std::string_view facts = standard_error.substr(at + kFacts.size());
  facts = facts.substr(0, facts.find('\n'));
  const size_t space = std::min(facts.find(' '), facts.size());
  std::from_chars(facts.data(), facts.data() + space, out.status);
  const std::string_view id = facts.substr(std::min(space + 1, facts.size()));
  if (IsSessionId(id)) out.session_id = id;
  return out;
}

}  // namespace odyssey::mcp_client
