#ifndef ODYSSEY_AGENTD_TOOL_ARGUMENTS_H_
#define ODYSSEY_AGENTD_TOOL_ARGUMENTS_H_

// The arguments of one call, checked against the tool's row of policy::kTools. Pure.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/model/tool_table.h"

namespace odyssey::tools {

using Parameters = std::span<const policy::ToolArgument>;

// The JSON schema of an object with exactly these properties.
std::string SchemaOf(Parameters parameters);

// The JSON schema of the tool's result.
std::string OutputSchemaOf(const policy::ToolRow& row);

class Arguments final {
 public:
  // INVALID_ARGUMENT names the argument: unknown, missing, empty, or of another type, and what is
  // allowed.
  static Result<Arguments> Parse(Parameters parameters, const std::string& json);

  bool Has(const char* name) const { return values_.contains(name); }
  // The value of a declared parameter; empty, false or 0 if it was left out.
  std::string String(const char* name) const;
  bool Boolean(const char* name) const;
  uint64_t Count(const char* name) const;
  std::vector<Arguments> List(const char* name) const;

 private:
  explicit Arguments(nlohmann::json values) : values_(std::move(values)) {}

  nlohmann::json values_;
};

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_ARGUMENTS_H_
