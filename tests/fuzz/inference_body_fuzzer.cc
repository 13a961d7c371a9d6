// The body of a request to a model is whatever a command sends: no crash, and what is accepted is
// rewritten into JSON that has the route's model, and as many members as before or one more.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/egress/json.h"
#include "supervisor/egress/inference/routes.h"

using odyssey::egress::Json;
using odyssey::egress::ParseJson;
namespace inference = odyssey::egress::inference;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  for (const char* path : {"/v1/chat/completions", "/v1/messages"}) {
    inference::Ask ask = std::get<inference::Ask>(inference::ReadTarget("POST", path));
    if (inference::ReadBody(body, &ask)) continue;
    inference::Route route;
    route.protocol = ask.protocol;
    route.model = "large";
    const inference::Outgoing out = inference::Rewrite(route, ask, {}, {}, body);
    const auto before = ParseJson(body);
    const auto after = ParseJson(out.body);
    ODY_CHECK(after.ok() && after->IsObject());
    ODY_CHECK(after->Find("model")->text == "large");
    const bool adds = out.hides_usage && before->Find("stream_options") == nullptr;
    ODY_CHECK(after->keys.size() == before->keys.size() + (adds ? 1 : 0));
    if (out.hides_usage) {
      ODY_CHECK(after->Find("stream_options")->Find("include_usage")->kind == Json::Kind::kBool);
    }
  }
  return 0;
}
