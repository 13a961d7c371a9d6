#ifndef ODYSSEY_AGENTD_MODEL_RENDER_H_
#define ODYSSEY_AGENTD_MODEL_RENDER_H_

// A scenario's texts with values in place of their references. Pure.

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "agentd/scenario/template.h"
#include "common/base/status.h"

namespace odyssey::model {

// What names stand for.
using Scope = std::map<std::string, nlohmann::json>;

// The value of a template that is exactly one reference is the value itself; of any other, a
// string. FAILED_PRECONDITION: a reference without a value, a filter that does not fit it, or a
// result larger than kMaxRenderedBytes.
inline constexpr size_t kMaxRenderedBytes = 4 * 1024 * 1024;
Result<nlohmann::json> Render(const scenario::Template& text, const Scope& scope);
Result<std::string> RenderText(const scenario::Template& text, const Scope& scope);

// A value as text: a string as it is, null as nothing, anything else as JSON.
std::string TextOf(const nlohmann::json& value);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_RENDER_H_
