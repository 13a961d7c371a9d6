#ifndef ODYSSEY_AGENTD_TOOL_ARGUMENTS_H_
#define ODYSSEY_AGENTD_TOOL_ARGUMENTS_H_

// The arguments of one call, checked against the tool's own table of them. Pure.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::tools {

enum class Kind { kString, kBoolean, kCount };
enum class Need { kRequired, kOptional };

struct Parameter {
  const char* name;
  Kind kind;
  Need need;
  const char* description;
};

using Parameters = std::vector<Parameter>;

// The JSON schema of an object with exactly these properties.
std::string SchemaOf(const Parameters& parameters);

class Arguments final {
 public:
  // INVALID_ARGUMENT names the argument: unknown, missing, or of another type, and what is allowed.
  static Result<Arguments> Parse(const Parameters& parameters, const std::string& json);

  // The value of a declared parameter; empty, false or 0 if it was left out.
  std::string String(const char* name) const;
  bool Boolean(const char* name) const;
  uint64_t Count(const char* name) const;

 private:
  explicit Arguments(nlohmann::json values) : values_(std::move(values)) {}

  nlohmann::json values_;
};

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_ARGUMENTS_H_
