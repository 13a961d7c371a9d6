#ifndef ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_ASK_H_
#define ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_ASK_H_

// What a request to inference.local asks of a model, whichever of the three protocols it speaks.

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "supervisor/wire/inference_wire.h"

namespace odyssey::egress::inference {

using egress_wire::RouteProtocol;

inline constexpr uint64_t kMaxBodyBytes = 10 << 20;

struct Ask {
  RouteProtocol protocol = RouteProtocol::kOpenAi;
  // "/v1/chat/completions"; of Gemini what follows the model: "generateContent".
  std::string_view operation;
  bool lists_models = false;  // GET: answered from the routes
  bool counts = true;         // its answer costs tokens
  bool stream = false;
  // OpenAI sends the usage of a stream only to those who ask for it.
  bool usage_on_request = false;
  bool asks_for_usage = false;
  std::string model;
};

struct AskRefusal {
  int status = 0;
  std::string code;  // of a Record
  std::string reason;
};

// The path in its one spelling, decoded.
std::variant<Ask, AskRefusal> ReadTarget(std::string_view method, std::string_view path);

// The body of a request that does not list models; completes `*ask`.
std::optional<AskRefusal> ReadBody(std::string_view body, Ask* ask);

// Letters, digits, and `._-:/@+`; at most kMaxModelBytes. `/` is none of a Gemini model.
bool IsModelName(std::string_view name, RouteProtocol protocol);

}  // namespace odyssey::egress::inference

#endif  // ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_ASK_H_
