#include "agentd/tool/arguments.h"

#include <algorithm>

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;
using Kind = policy::ArgumentKind;
using Need = policy::ArgumentNeed;
using policy::ToolArgument;

const char* TypeOf(Kind kind) {
  switch (kind) {
    case Kind::kString:
      return "string";
    case Kind::kBoolean:
      return "boolean";
    case Kind::kCount:
      return "integer";
    case Kind::kList:
      return "array";
  }
  return "string";
}

bool HasKind(const Json& value, Kind kind) {
  switch (kind) {
    case Kind::kString:
      return value.is_string();
    case Kind::kBoolean:
      return value.is_boolean();
    case Kind::kCount:
      return value.is_number_unsigned();
    case Kind::kList:
      return value.is_array();
  }
  return false;
}

std::string NamesOf(Parameters parameters) {
  std::string out;
  for (const ToolArgument& parameter : parameters) {
    out += (out.empty() ? "" : ", ") + std::string(parameter.name);
  }
  return out;
}

Json ObjectSchema(Parameters parameters) {
  Json required = Json::array();
  Json properties = Json::object();
  for (const ToolArgument& parameter : parameters) {
    Json& property = properties[parameter.name];
    property = {{"type", TypeOf(parameter.kind)}, {"description", parameter.description}};
    if (parameter.kind == Kind::kList) property["items"] = ObjectSchema(parameter.items);
    if (parameter.need != Need::kOptional) required.push_back(parameter.name);
  }
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

bool IsEmpty(const Json& value) { return value == "" || value == Json::array(); }

// `where` is what a message begins with: "", or "edits[1]: ".
Status CheckObject(Parameters parameters, const Json& values, const std::string& where) {
  if (!values.is_object()) return InvalidArgument(where + "not a JSON object");
  for (const auto& [key, value] : values.items()) {
    const auto parameter =
        std::find_if(parameters.begin(), parameters.end(),
                     [&name = key](const ToolArgument& p) { return name == p.name; });
    if (parameter == parameters.end()) {
      return InvalidArgument(where + "unknown argument \"" + key +
                             "\"; allowed: " + NamesOf(parameters));
    }
    if (!HasKind(value, parameter->kind)) {
      return InvalidArgument(where + "argument \"" + key + "\" must be of type " +
                             TypeOf(parameter->kind) + ", not " + value.type_name());
    }
    for (size_t i = 0; parameter->kind == Kind::kList && i < value.size(); ++i) {
      ODY_RETURN_IF_ERROR(
          CheckObject(parameter->items, value[i], where + key + "[" + std::to_string(i) + "]: "));
    }
  }
  for (const ToolArgument& parameter : parameters) {
    const auto found = values.find(parameter.name);
    const std::string name = parameter.name;
    if (parameter.need != Need::kOptional && found == values.end()) {
      return InvalidArgument(where + "missing argument \"" + name + "\"");
    }
    if (parameter.need == Need::kFilled && IsEmpty(*found)) {
      return InvalidArgument(where + name + " cannot be empty");
    }
  }
  return OkStatus();
}

}  // namespace

std::string SchemaOf(Parameters parameters) { return ObjectSchema(parameters).dump(); }

std::string OutputSchemaOf(const policy::ToolRow& row) {
  return Json{{"type", "object"}, {"properties", Json::parse(row.output)}}.dump();
}

Result<Arguments> Arguments::Parse(Parameters parameters, const std::string& json) {
  Json values = Json::parse(json, nullptr, false);
  ODY_RETURN_IF_ERROR(CheckObject(parameters, values, ""));
  return Arguments(std::move(values));
}

std::string Arguments::String(const char* name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? "" : it->get<std::string>();
}

bool Arguments::Boolean(const char* name) const {
  const auto it = values_.find(name);
  return it != values_.end() && it->get<bool>();
}

uint64_t Arguments::Count(const char* name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? 0 : it->get<uint64_t>();
}

std::vector<Arguments> Arguments::List(const char* name) const {
  std::vector<Arguments> out;
  const auto it = values_.find(name);
  if (it == values_.end()) return out;
  for (const Json& item : *it) out.push_back(Arguments(item));
  return out;
}

}  // namespace odyssey::tools
