#include "agentd/tool/arguments.h"

#include <algorithm>

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

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

std::string NamesOf(const Parameters& parameters) {
  std::string out;
  for (const Parameter& parameter : parameters) {
    out += (out.empty() ? "" : ", ") + std::string(parameter.name);
  }
  return out;
}

}  // namespace

std::string SchemaOf(const Parameters& parameters) {
  Json required = Json::array();
  Json properties = Json::object();
  for (const Parameter& parameter : parameters) {
    properties[parameter.name] = {{"type", TypeOf(parameter.kind)},
                                  {"description", parameter.description}};
    if (parameter.need == Need::kRequired) required.push_back(parameter.name);
  }
  return Json{{"type", "object"},
              {"properties", properties},
              {"required", required},
              {"additionalProperties", false}}
      .dump();
}

Result<Arguments> Arguments::Parse(const Parameters& parameters, const std::string& json) {
  Json values = Json::parse(json, nullptr, false);
  if (!values.is_object()) return InvalidArgument("not a JSON object");
  for (const auto& [key, value] : values.items()) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const Parameter& p) { return key == p.name; });
    if (parameter == parameters.end()) {
      return InvalidArgument("unknown argument \"" + key + "\"; allowed: " + NamesOf(parameters));
    }
    if (!HasKind(value, parameter->kind)) {
      return InvalidArgument("argument \"" + key + "\" must be of type " + TypeOf(parameter->kind) +
                             ", not " + value.type_name());
    }
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.need == Need::kRequired && !values.contains(parameter.name)) {
      return InvalidArgument("missing argument \"" + std::string(parameter.name) + "\"");
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
