#include "common/json_rpc/json_rpc.h"

#include <utility>

namespace odyssey {
namespace {

Json Envelope() {
  Json out = Json::object();
  out["jsonrpc"] = "2.0";
  return out;
}

std::string Line(const Json& message) {
  return message.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

bool IsId(const Json& id) { return id.is_string() || id.is_number_integer() || id.is_null(); }

RpcInvalid Invalid(const Json& id, RpcCode code, const std::string& why) {
  return {IsId(id) ? id : Json(), {code, why, {}}};
}

bool IsKnown(int64_t code) {
  switch (static_cast<RpcCode>(code)) {
    case RpcCode::kParseError:
    case RpcCode::kInvalidRequest:
    case RpcCode::kMethodNotFound:
    case RpcCode::kInvalidParams:
    case RpcCode::kInternalError:
    case RpcCode::kResourceNotFound:
    case RpcCode::kHeaderMismatch:
    case RpcCode::kMissingCapability:
    case RpcCode::kUnsupportedVersion:
      return true;
  }
  return false;
}

RpcError ErrorOf(const Json& error) {
  RpcError out;
  if (!error.is_object()) return out;
  if (const auto code = error.find("code"); code != error.end() && code->is_number_integer()) {
    const auto value = code->get<int64_t>();
    if (value >= INT32_MIN && value <= INT32_MAX && IsKnown(value)) {
      out.code = static_cast<RpcCode>(value);
    }
  }
  if (const auto text = error.find("message"); text != error.end() && text->is_string()) {
    out.message = text->get<std::string>();
  }
  return out;
}

}  // namespace

RpcMessage ParseRpcMessage(std::string_view line) {
  if (line.size() > RpcLines::kMaxLine) {
    return Invalid(nullptr, RpcCode::kParseError,
                   "a message of more than " + std::to_string(RpcLines::kMaxLine) + " bytes");
  }
  bool too_deep = false;
  const Json message = Json::parse(
      line,
      [&](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > kMaxRpcDepth;
        return depth <= kMaxRpcDepth;
      },
      /*allow_exceptions=*/false);
  if (too_deep) {
    return Invalid(nullptr, RpcCode::kParseError,
                   "nested deeper than " + std::to_string(kMaxRpcDepth) + " levels");
  }
  if (message.is_discarded()) return Invalid(nullptr, RpcCode::kParseError, "not JSON");
  if (!message.is_object()) {
    return Invalid(nullptr, RpcCode::kInvalidRequest,
                   "expected one object; arrays of messages are not served");
  }
  const bool has_id = message.contains("id");
  Json id = message.value("id", Json());
  if (!IsId(id)) {
    return Invalid(nullptr, RpcCode::kInvalidRequest, "id: expected a string, an integer or null");
  }
  if (message.value("jsonrpc", Json()) != "2.0") {
    return Invalid(id, RpcCode::kInvalidRequest, "jsonrpc: expected \"2.0\"");
  }
  const auto method = message.find("method");
  if (method == message.end()) {
    if (!has_id || message.contains("result") == message.contains("error")) {
      return Invalid(id, RpcCode::kInvalidRequest, "expected a method, a result or an error");
    }
    RpcResponse response{std::move(id), message.value("result", Json()), std::nullopt};
    if (message.contains("error")) response.error = ErrorOf(message["error"]);
    return response;
  }
  if (!method->is_string()) {
    return Invalid(id, RpcCode::kInvalidRequest, "method: expected a string");
  }
  Json params = message.value("params", Json::object());
  if (params.is_null()) params = Json::object();
  if (!params.is_object()) {
    return Invalid(id, RpcCode::kInvalidParams, "params: expected an object");
  }
  auto name = method->get<std::string>();
  if (!has_id) return RpcNotification{std::move(name), std::move(params)};
  return RpcRequest{std::move(id), std::move(name), std::move(params)};
}

std::string FormatRpcRequest(const Json& id, std::string_view method, const Json& params) {
  Json out = Envelope();
  out["id"] = id;
  out["method"] = method;
  out["params"] = params;
  return Line(out);
}

std::string FormatRpcNotification(std::string_view method, const Json& params) {
  Json out = Envelope();
  out["method"] = method;
  out["params"] = params;
  return Line(out);
}

std::string FormatRpcResult(const Json& id, const Json& result) {
  Json out = Envelope();
  out["id"] = id;
  out["result"] = result;
  return Line(out);
}

std::string FormatRpcError(const Json& id, const RpcError& error) {
  Json out = Envelope();
  out["id"] = id;
  out["error"] = {{"code", static_cast<int>(error.code)}, {"message", error.message}};
  if (!error.data.is_null()) out["error"]["data"] = error.data;
  return Line(out);
}

void RpcLines::Feed(std::string_view bytes) {
  if (skipping_) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
  pending_ += bytes;
}

std::optional<std::string> RpcLines::Next() {
  for (;;) {
    const size_t end = pending_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = pending_.size();
      if (pending_.size() <= kMaxLine) return std::nullopt;
      skipping_ = true;
      searched_ = 0;
      return std::exchange(pending_, "");
    }
    std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    searched_ = 0;
    if (line.find_first_not_of(" \t\r") != std::string::npos) return line;
  }
}

}  // namespace odyssey
