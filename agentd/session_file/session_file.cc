#include "agentd/session_file/session_file.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "agentd/session_file/file_time.h"

namespace odyssey::session_file {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;
using model::Message;
using model::MessageKind;

constexpr char kDefaultProvider[] = "openai";
constexpr char kFunction[] = "function";
constexpr char kText[] = "text";
constexpr std::string_view kSuffix = ".json";
constexpr std::array<size_t, 4> kDashes = {8, 13, 18, 23};
constexpr size_t kUuidBytes = 36;

// Thrown by the decoders, with nlohmann's own exceptions, and caught in DecodeSessionFile.
struct Malformed {
  std::string what;
};

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

// An object of the file, and where it stands: "turns[0].chat_history[2]".
class Object final {
 public:
  Object(const Json& json, std::string path, std::initializer_list<const char*> keys)
      : json_(json), path_(std::move(path)) {
    if (!json.is_object()) throw Malformed{Name("") + "must be an object"};
    for (const auto& [key, value] : json.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        throw Malformed{Name(key) + "unknown member"};
      }
    }
  }

  // "turns[0].turn_id: "
  std::string Name(const std::string& key) const {
    const std::string dot = path_.empty() || key.empty() ? "" : ".";
    const std::string name = path_ + dot + key;
    return (name.empty() ? "session file" : name) + ": ";
  }
  std::string PathOf(const std::string& key, size_t index) const {
    return (path_.empty() ? "" : path_ + ".") + key + "[" + std::to_string(index) + "]";
  }

  // Null: it is missing, or null.
  const Json* Find(const char* key) const {
    const auto it = json_.find(key);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  std::string TextOr(const char* key, std::string otherwise) const {
    const Json* value = Find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) throw Malformed{Name(key) + "must be a string"};
    return value->get<std::string>();
  }
  std::string Text(const char* key) const {
    if (Find(key) == nullptr) throw Malformed{Name(key) + "is missing"};
    return TextOr(key, "");
  }
  std::string NonEmpty(const char* key) const {
    std::string out = Text(key);
    if (out.empty()) throw Malformed{Name(key) + "cannot be empty"};
    return out;
  }
  std::string Uuid(const char* key) const {
    std::string out = Text(key);
    if (!IsUuid(out)) throw Malformed{Name(key) + Quoted(out) + " is not a UUID"};
    std::transform(out.begin(), out.end(), out.begin(), [](char c) {
      return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return out;
  }
  std::string Time(const char* key) const {
    const std::string text = Text(key);
    Result<std::string> out = NormalTime(text);
    if (!out.ok()) throw Malformed{Name(key) + Quoted(text) + " is " + out.status().message()};
    return *std::move(out);
  }
  // Empty: it is missing.
  const Json& List(const char* key) const {
    static const Json kEmpty = Json::array();
    const Json* value = Find(key);
    if (value == nullptr) return kEmpty;
    if (!value->is_array()) throw Malformed{Name(key) + "must be an array"};
    return *value;
  }

 private:
  const Json& json_;
  const std::string path_;
};

// Bounds and duplicates: nlohmann's parser has no bound, and keeps the last of two members.
class Checks final {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kMaxDepth) {
      throw Malformed{"session file: nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    }
    if (++values_ > kMaxValues) {
      throw Malformed{"session file: more than " + std::to_string(kMaxValues) + " JSON values"};
    }
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key && !keys_.back().insert(parsed).second) {
      throw Malformed{"session file: member " + parsed.dump() + " comes twice in an object"};
    }
    return true;
  }

 private:
  size_t values_ = 0;
  std::vector<std::set<Json>> keys_;  // of the objects that are open
};

std::vector<model::ToolUse> DecodeTools(const Object& message) {
  std::vector<model::ToolUse> out;
  const Json& calls = message.List("tool_calls");
  for (size_t i = 0; i < calls.size(); ++i) {
    const Object call(calls[i], message.PathOf("tool_calls", i),
                      {"id", "call_type", "name", "arguments"});
    const std::string type = call.TextOr("call_type", kFunction);
    if (type != kFunction) {
      throw Malformed{call.Name("call_type") + Quoted(type) + "; allowed is " + Quoted(kFunction)};
    }
    out.push_back({call.NonEmpty("id"), call.NonEmpty("name"), call.Text("arguments")});
  }
  return out;
}

MessageKind DecodeKind(const Object& message) {
  const std::string role = message.Text("role");
  const std::string name = message.TextOr("kind", kText);
  for (const model::MessageKindName& kind : model::kMessageKinds) {
    if (role == kind.role && name == kind.name) return kind.kind;
  }
  throw Malformed{message.Name("role") + Quoted(role) + " with kind " + Quoted(name) +
                  "; allowed are user and assistant with text, assistant with tool_use, tool with "
                  "tool_result"};
}

// A message with several results becomes one of each.
void DecodeMessage(const Json& json, std::string path, std::vector<Message>* out) {
  const Object message(json, std::move(path), {"role", "content", "kind", "tool_calls"});
  const MessageKind kind = DecodeKind(message);
  std::vector<model::ToolUse> tools = DecodeTools(message);
  const bool about_tools = kind == MessageKind::kToolUse || kind == MessageKind::kToolResult;
  if (about_tools == tools.empty()) {
    throw Malformed{message.Name("tool_calls") +
                    (about_tools ? "is missing or empty" : "must be empty of kind text")};
  }
  const std::string content = message.Text("content");
  if (kind != MessageKind::kToolResult) {
    out->push_back({kind, content, std::move(tools)});
    return;
  }
  for (model::ToolUse& tool : tools) out->push_back({kind, content, {std::move(tool)}});
}

// A provider refuses a call without a result, and a result without a call.
std::vector<Message> WholeCallsOf(const std::vector<Message>& history) {
  std::set<std::string> called, answered;
  for (const Message& message : history) {
    for (const model::ToolUse& tool : message.tools) {
      if (message.kind == MessageKind::kToolUse) called.insert(tool.id);
      if (message.kind == MessageKind::kToolResult && called.count(tool.id) > 0) {
        answered.insert(tool.id);
      }
    }
  }
  std::vector<Message> out;
  std::set<std::string> seen;  // results
  called.clear();
  for (Message message : history) {
    const bool had_tools = !message.tools.empty();
    std::erase_if(message.tools, [&](const model::ToolUse& tool) {
      if (answered.count(tool.id) == 0) return true;
      if (message.kind == MessageKind::kToolUse) return !called.insert(tool.id).second;
      return called.count(tool.id) == 0 || !seen.insert(tool.id).second;
    });
    if (!had_tools || !message.tools.empty()) {
      out.push_back(std::move(message));
    } else if (message.kind == MessageKind::kToolUse && !message.content.empty()) {
      out.push_back({MessageKind::kAssistant, std::move(message.content), {}});
    }
  }
  return out;
}

FileTurn DecodeTurn(const Json& json, std::string path) {
  const Object turn(json, std::move(path),
                    {"turn_id", "created_at", "chat_history", "prompt", "response"});
  FileTurn out{turn.Uuid("turn_id"), turn.Time("created_at"), {}};
  const Json& history = turn.List("chat_history");
  for (size_t i = 0; i < history.size(); ++i) {
    DecodeMessage(history[i], turn.PathOf("chat_history", i), &out.history);
  }
  const std::string prompt = turn.TextOr("prompt", ""), response = turn.TextOr("response", "");
  if (history.empty()) {
    if (prompt.empty()) throw Malformed{turn.Name("chat_history") + "is empty, and no prompt"};
    out.history = {{MessageKind::kUser, prompt, {}}};
    if (!response.empty()) out.history.push_back({MessageKind::kAssistant, response, {}});
  }
  if (out.history.front().kind != MessageKind::kUser) {
    throw Malformed{turn.Name("chat_history[0].role") +
                    "the first message of a turn is the user's"};
  }
  out.history = WholeCallsOf(out.history);
  return out;
}

SessionFile Decode(const Json& json) {
  const Object file(json, "",
                    {"id", "bundle_ref", "agent_id", "model_provider", "model_id", "model_config",
                     "created_at", "turns", "sandbox"});
  // It could ask for more than the bundle.
  if (const Json* sandbox = file.Find("sandbox"); sandbox != nullptr && !sandbox->empty()) {
    throw Malformed{file.Name("sandbox") +
                    "a session has no policy of its own; say it in the bundle, and remove it here"};
  }
  SessionFile out;
  out.id = file.Uuid("id");
  out.bundle_ref = file.NonEmpty("bundle_ref");
  out.agent_id = file.NonEmpty("agent_id");
  out.model_provider = file.TextOr("model_provider", kDefaultProvider);
  out.model_id = file.Text("model_id");
  out.created_at = file.Time("created_at");
  if (file.Find("turns") == nullptr) throw Malformed{file.Name("turns") + "is missing"};
  const Json& turns = file.List("turns");
  std::set<std::string> ids;
  for (size_t i = 0; i < turns.size(); ++i) {
    out.turns.push_back(DecodeTurn(turns[i], file.PathOf("turns", i)));
    if (!ids.insert(out.turns.back().id).second) {
      throw Malformed{file.PathOf("turns", i) + ".turn_id: " + out.turns.back().id +
                      " comes twice"};
    }
  }
  return out;
}

Ordered EncodeMessage(const Message& message) {
  Ordered calls = Ordered::array();
  for (const model::ToolUse& tool : message.tools) {
    calls.push_back(
        {{"id", tool.id}, {"call_type", kFunction}, {"name", tool.name}, {"arguments", tool.json}});
  }
  return {{"role", model::NameOf(message.kind).role},
          {"content", message.content},
          {"kind", model::NameOf(message.kind).name},
          {"tool_calls", std::move(calls)}};
}

}  // namespace

Result<SessionFile> DecodeSessionFile(std::string_view text) {
  if (text.size() > kMaxFileBytes) {
    return InvalidArgument("session file: larger than " + std::to_string(kMaxFileBytes) + " bytes");
  }
  Checks checks;
  try {
    return Decode(Json::parse(text, [&checks](int depth, Json::parse_event_t event, Json& parsed) {
      return checks(depth, event, parsed);
    }));
  } catch (const Json::exception& error) {
    return InvalidArgument(std::string("session file: ") + error.what());
  } catch (const Malformed& error) {
    return InvalidArgument(error.what);
  }
}

std::string EncodeSessionFile(const SessionFile& file) {
  Ordered turns = Ordered::array();
  for (const FileTurn& turn : file.turns) {
    Ordered history = Ordered::array();
    for (const Message& message : turn.history) history.push_back(EncodeMessage(message));
    turns.push_back({{"turn_id", turn.id},
                     {"created_at", turn.created_at},
                     {"chat_history", std::move(history)}});
  }
  const Ordered out = {{"id", file.id},
                       {"bundle_ref", file.bundle_ref},
                       {"agent_id", file.agent_id},
                       {"model_provider", file.model_provider},
                       {"model_id", file.model_id},
                       {"model_config", nullptr},
                       {"created_at", file.created_at},
                       {"turns", std::move(turns)}};
  return out.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

bool IsUuid(std::string_view text) {
  if (text.size() != kUuidBytes) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = std::find(kDashes.begin(), kDashes.end(), i) != kDashes.end();
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

bool IsSessionFileName(std::string_view name) {
  return name.size() == kUuidBytes + kSuffix.size() && name.substr(kUuidBytes) == kSuffix &&
         IsUuid(name.substr(0, kUuidBytes));
}

std::string UuidOf(std::string_view id) {
  std::string out(id.substr(id.find('_') + 1));
  for (const size_t dash : kDashes) out.insert(std::min(dash, out.size()), "-");
  return out;
}

std::string IdOf(std::string_view prefix, std::string_view uuid) {
  std::string out(uuid);
  std::erase(out, '-');
  return std::string(prefix) + "_" + out;
}

}  // namespace odyssey::session_file
