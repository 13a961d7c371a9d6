#include "http/api/openapi.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "http/api/route_table.h"

namespace odyssey::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using shape::Json;

// Components that are named, and those that are still to be made.
class Schemas final {
 public:
  Json Ref(const Descriptor& type) {
    if (named_.insert(type.full_name()).second) todo_.push_back(&type);
    return {{"$ref", "#/components/schemas/" + type.full_name()}};
  }
  Json MakeAll() {
    Json out = Json::object();
    while (!todo_.empty()) {
      const Descriptor* type = todo_.back();
      todo_.pop_back();
      out[type->full_name()] = Of(*type);
    }
    return out;
  }

 private:
  static Json OfEnum(const EnumDescriptor& type) {
    Json names = Json::array();
    for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
    return {{"type", "string"}, {"enum", std::move(names)}};
  }

  // As protobuf's JSON mapping has it.
  Json OfValue(const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return {{"type", "boolean"}};
      case FieldDescriptor::CPPTYPE_INT32:
      case FieldDescriptor::CPPTYPE_UINT32:
        return {{"type", "integer"}};
      case FieldDescriptor::CPPTYPE_INT64:
      case FieldDescriptor::CPPTYPE_UINT64:
        return {{"type", {"string", "integer"}},
                {"description", "a number; answers have a string"}};
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return {{"type", "number"}};
      case FieldDescriptor::CPPTYPE_ENUM:
        return OfEnum(*field.enum_type());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Ref(*field.message_type());
      case FieldDescriptor::CPPTYPE_STRING:
        break;
    }
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      return {{"type", "string"}, {"contentEncoding", "base64"}};
    }
    return {{"type", "string"}};
  }

  Json OfField(const FieldDescriptor& field) {
    if (field.is_map()) {
      return {{"type", "object"},
              {"additionalProperties", OfValue(*field.message_type()->map_value())}};
    }
    if (field.is_repeated()) return {{"type", "array"}, {"items", OfValue(field)}};
    return OfValue(field);
  }

  Json Of(const Descriptor& type) {
    Json properties = Json::object();
    for (int i = 0; i < type.field_count(); ++i) {
      properties[type.field(i)->name()] = OfField(*type.field(i));
    }
    return {{"type", "object"}, {"properties", std::move(properties)}};
  }

  std::set<std::string> named_;
  std::vector<const Descriptor*> todo_;
};

// "GET /sessions/{session_id}/run-sync" → "getSessionsRunSync"; a name in braces is left out, but
// for a second method of the path.
std::string OperationId(const Route& route) {
  std::string out(route.method);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  bool upper = true;
  for (const char c : route.path) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      if (c == '{') out += "By";
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string TagOf(const Route& route) {
  const std::string_view first = route.path.substr(1, route.path.find('/', 1) - 1);
  if (first == "bundles" || first == "sessions" || first == "approvals") return std::string(first);
  return "server";
}

Json Content(std::string_view type, Json schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

Json ParametersOf(const Route& route) {
  Json out = Json::array();
  for (size_t at = route.path.find('{'); at != std::string_view::npos;
       at = route.path.find('{', at + 1)) {
    const size_t end = route.path.find('}', at);
    out.push_back({{"name", std::string(route.path.substr(at + 1, end - at - 1))},
                   {"in", "path"},
                   {"required", true},
                   {"schema", {{"type", "string"}}}});
  }
  for (const Parameter& each : route.query) {
    out.push_back({{"name", std::string(each.name)},
                   {"in", "query"},
                   {"required", each.required},
                   {"description", std::string(each.summary)},
                   {"schema", {{"type", "string"}}}});
  }
  if (route.act == Act::kEvents) {
    out.push_back({{"name", "Last-Event-ID"},
                   {"in", "header"},
                   {"required", false},
                   {"description", "events after this one; wins over `after`"},
                   {"schema", {{"type", "string"}}}});
  }
  return out;
}

Json BodyOf(const Route& route, Schemas* schemas) {
  const bool file = route.act == Act::kImport;
  Json schema = {{"type", "object"}};
  if (!route.request_schema.empty()) {
    schema = Json::parse(route.request_schema);
  } else if (const auto* method = MethodOf(route)) {
    schema = schemas->Ref(*method->input_type());
  }
  return {{"required", file || !route.request_schema.empty()},
          {"content", Content(file ? "application/octet-stream" : "application/json", schema)}};
}

Json AnswerOf(const Route& route, Schemas* schemas) {
  Json schema = {{"type", "object"}};
  const auto* method = MethodOf(route);
  if (!route.answer_schema.empty()) {
    schema = Json::parse(route.answer_schema);
  } else if (method != nullptr && route.act == Act::kList) {
    schema = {{"type", "array"}, {"items", schemas->Ref(*method->output_type())}};
  } else if (method != nullptr) {
    schema = schemas->Ref(*method->output_type());
  }
  return {{"description", "done"}, {"content", Content(route.content_type, std::move(schema))}};
}

Json OperationOf(const Route& route, Schemas* schemas) {
  Json out = {{"operationId", OperationId(route)},
              {"summary", std::string(route.summary)},
              {"tags", {TagOf(route)}}};
  if (route.is_open) out["security"] = Json::array();
  const Json parameters = ParametersOf(route);
  if (!parameters.empty()) out["parameters"] = parameters;
  if (HasJsonBody(route) || route.act == Act::kImport) {
    out["requestBody"] = BodyOf(route, schemas);
  }
  Json& responses = out["responses"];
  const bool nothing = route.act == Act::kRemove || route.act == Act::kSignOut ||
                       (route.act == Act::kMcp && route.method == "DELETE");
  if (nothing) {
    responses["204"] = {{"description", "done"}};
  } else if (route.act != Act::kElsewhere) {
    responses["200"] = AnswerOf(route, schemas);
  }
  if (route.act == Act::kElsewhere) {
    responses["501"] = {{"$ref", "#/components/responses/Error"}};
  }
  responses["4XX"] = {{"$ref", "#/components/responses/Error"}};
  responses["default"] = {{"$ref", "#/components/responses/Error"}};
  return out;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string MakeDocument() {
  Schemas schemas;
  Json paths = Json::object();
  for (const Route& route : Routes()) {
    paths[std::string(route.path)][Lower(route.method)] = OperationOf(route, &schemas);
  }
  const Json error = Json::parse(R"({"type":"object","required":["error"],"properties":{"error":{
"type":"object","required":["code","message"],"properties":{"code":{"type":"string",
"description":"the name of google.rpc.Code"},"message":{"type":"string"},"field":{"type":"string"},
"value":{"type":"string"},"allowed":{"type":"string"},"path":{"type":"string"},
"errno":{"type":"integer"},"hint":{"type":"string"}}}}})");
  Json made = schemas.MakeAll();
  made["Error"] = error;
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Odyssey"},
        {"version", ODYSSEY_VERSION},
        {"summary", "Sessions of agents, their tools and approvals"},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"servers", {{{"url", "/"}}}},
      {"security", {{{"bearer", Json::array()}}, {{"cookie", Json::array()}}}},
      {"tags",
       {{{"name", "bundles"}, {"description", "installed bundles"}},
        {{"name", "sessions"}, {"description", "sessions and their turns"}},
        {{"name", "approvals"}, {"description", "what agents ask a person"}},
        {{"name", "server"}, {"description", "the server, and a browser's way in"}}}},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes",
         {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
          {"cookie", {{"type", "apiKey"}, {"in", "cookie"}, {"name", "odyssey"}}}}},
        {"responses",
         {{"Error",
           {{"description", "what is wrong"},
            {"content", Content("application/json", {{"$ref", "#/components/schemas/Error"}})}}}}},
        {"schemas", std::move(made)}}}};
  return document.dump(1) + "\n";
}

}  // namespace

const std::string& OpenApiDocument() {
  static const std::string kDocument = MakeDocument();
  return kDocument;
}

}  // namespace odyssey::api
