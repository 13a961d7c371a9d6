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

}  // namespace

std::string SchemaOf(Parameters parameters) {
  Json required = Json::array();
  Json properties = Json::object();
  for (const ToolArgument& parameter : parameters) {
    properties[parameter.name] = {{"type", TypeOf(parameter.kind)},
                                  {"description", parameter.description}};
    if (parameter.need != Need::kOptional) required.push_back(parameter.name);
  }
  return Json{{"type", "object"},
              {"properties", properties},
              {"required", required},
              {"additionalProperties", false}}
      .dump();
}

Result<Arguments> Arguments::Parse(Parameters parameters, const std::string& json) {
  Json values = Json::parse(json, nullptr, false);
  if (!values.is_object()) return InvalidArgument("not a JSON object");
  for (const auto& [key, value] : values.items()) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const ToolArgument& p) { return key == p.name; });
    if (parameter == parameters.end()) {
      return InvalidArgument("unknown argument \"" + key + "\"; allowed: " + NamesOf(parameters));
    }
    if (!HasKind(value, parameter->kind)) {
      return InvalidArgument("argument \"" + key + "\" must be of type " + TypeOf(parameter->kind) +
                             ", not " + value.type_name());
    }
  }
  for (const ToolArgument& parameter : parameters) {
    const std::string name = parameter.name;
    if (parameter.need != Need::kOptional && !values.contains(name)) {
      return InvalidArgument("missing argument \"" + name + "\"");
    }
    if (parameter.need == Need::kFilled && values[name] == "") {
      return InvalidArgument(name + " cannot be empty");
    }
  }
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

}  // namespace odyssey::tools
