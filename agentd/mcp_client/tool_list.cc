#include "agentd/mcp_client/tool_list.h"

#include <algorithm>
#include <utility>

#include "common/base/sha256.h"
#include "common/base/utf8.h"
#include "policy/model/tool_table.h"

namespace odyssey::mcp_client {
namespace {

using Sorted = nlohmann::json;  // keys in one order, whatever order a server chooses

constexpr char kDigestOf[] = "odyssey.mcp_tool/v1";
constexpr size_t kShownName = 80;

bool IsOfferedName(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return plain && name.size() <= kMaxToolName;
}

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Sorted SortedOf(const Json& value) { return Sorted::parse(value.dump(), nullptr, false); }

}  // namespace

std::string OfferedName(const std::string& server, const std::string& tool) {
  return std::string(policy::kServedPrefix) + server + "__" + tool;
}

std::string DigestOf(const dialect::McpServerSpec& server, const ToolDefinition& tool) {
  const Sorted way = server.command.empty() ? Sorted(server.url) : Sorted(server.command);
  const Sorted all = {kDigestOf, way, tool.name, tool.description,
                      Sorted::parse(tool.input_schema, nullptr, false)};
  return "sha256:" + Sha256Hex(all.dump(-1, ' ', true, Sorted::error_handler_t::replace));
}

std::string DefinitionText(const ToolDefinition& tool) {
  const Sorted schema = Sorted::parse(tool.input_schema, nullptr, false);
  return tool.name + "\n" + tool.description + "\n" +
         schema.dump(2, ' ', false, Sorted::error_handler_t::replace) + "\n";
}

bool ToolList::IsWanted(const std::string& name) const {
  const std::vector<std::string>& wanted = server_->tools;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

Status ToolList::Add(const Json& tool) {
  if (!tool.is_object()) return InvalidArgument("tools/list: a tool is no object");
  ToolDefinition out;
  out.server = server_->name;
  out.name = TextOf(tool, "name");
  if (!IsWanted(out.name)) return OkStatus();
  if (tools_.size() + refused_.size() >= kMaxTools) {
    return ResourceExhausted("tools/list: more than " + std::to_string(kMaxTools) +
                             " tools; name those that the agents need in mcp_servers." +
                             server_->name + ".tools");
  }
  out.offered_name = OfferedName(server_->name, out.name);
  out.description = TextOf(tool, "description");
  const auto schema = tool.find("inputSchema");
  const bool has_schema = schema != tool.end() && schema->is_object();
  out.input_schema = has_schema ? SortedOf(*schema).dump() : "{}";
  bytes_ += out.description.size() + out.input_schema.size();
  if (bytes_ > kMaxDefinitionBytes) {
    return ResourceExhausted(
        "tools/list: descriptions and schemas of more than " + std::to_string(kMaxDefinitionBytes) +
        " bytes; name the tools that the agents need in mcp_servers." + server_->name + ".tools");
  }
  const auto refuse = [&](std::string why) {
    refused_.push_back({SanitizeUtf8(out.name.substr(0, kShownName)), std::move(why), out.digest});
    return OkStatus();
  };
  if (!IsOfferedName(out.offered_name)) {
    return refuse("its name for the model, mcp__" + server_->name + "__ and its own, may have " +
                  std::to_string(kMaxToolName) + " letters, digits, _ and -");
  }
  if (!has_schema) return refuse("its inputSchema is no object");
  const auto same = [&](const ToolDefinition& other) { return other.name == out.name; };
  if (std::any_of(tools_.begin(), tools_.end(), same)) return refuse("it is listed twice");
  out.digest = DigestOf(*server_, out);
  const auto pin = server_->pins.find(out.name);
  out.pinned = pin != server_->pins.end();
  if (out.pinned && pin->second != out.digest) {
    return refuse("its digest is " + out.digest + ", and mcp_servers." + server_->name + ".pins." +
                  out.name + " is " + pin->second);
  }
  tools_.push_back(std::move(out));
  return OkStatus();
}

Result<std::string> ToolList::AddPage(const Json& result) {
  const auto tools = result.is_object() ? result.find("tools") : result.end();
  if (tools == result.end() || !tools->is_array()) {
    return InvalidArgument("tools/list: the answer has no list of tools");
  }
  listed_ += tools->size();
  if (listed_ > kMaxListedTools) {
    return ResourceExhausted("tools/list: more than " + std::to_string(kMaxListedTools) + " tools");
  }
  for (const Json& tool : *tools) ODY_RETURN_IF_ERROR(Add(tool));
  return TextOf(result, "nextCursor");
}

}  // namespace odyssey::mcp_client
