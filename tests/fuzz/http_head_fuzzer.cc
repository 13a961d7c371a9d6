// What odyssey-http parses itself of a client: a target, the fields that say who is calling, and a
// JSON body. A target that is read is matched; what passes as a token goes into another protocol's
// header, so it is words alone; frames of events keep any data within themselves.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/api/route_table.h"
#include "http/head/access.h"
#include "http/head/request_target.h"
#include "http/shape/event_message.h"
#include "http/shape/message_body.h"

namespace odyssey {
namespace {

void Require(bool condition) {
  if (!condition) abort();
}

bool IsWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void CheckAccess(std::string_view text) {
  const size_t half = text.size() / 2;
  const std::string_view one = text.substr(0, half), other = text.substr(half);
  const std::set<std::string> names = head::LoopbackNames();
  const Status may = head::CheckHostAndOrigin({.host = one, .origin = other}, names);
  if (may.ok()) {
    Require(names.count(head::NameOfHost(one)) != 0);
    Require(other.empty() || other.size() > one.size());
  }
  for (const auto& fields :
       {head::AccessFields{.authorization = text}, head::AccessFields{.cookie = text}}) {
    const Result<head::Credential> found = head::FindCredential(fields);
    if (!found.ok()) continue;
    Require(!found->token.empty() && std::all_of(found->token.begin(), found->token.end(), IsWord));
  }
}

void CheckTarget(std::string_view text, std::string_view body) {
  const Result<head::RequestTarget> target = head::ParseTarget(text);
  if (!target.ok()) return;
  for (const std::string& segment : target->segments) {
    Require(!segment.empty() && segment != ".." && segment.find('/') == std::string::npos);
  }
  for (const char* method : {"GET", "POST", "DELETE"}) {
    const api::Match match = api::FindRoute(method, target->segments);
    if (match.route == nullptr || match.route->rpc.empty()) continue;
    if (match.route->act == api::Act::kExec || match.route->act == api::Act::kImport) continue;
    const auto request = api::NewMessage(*api::MethodOf(*match.route)->input_type());
    const Result<shape::Json> object = shape::ParseObject(body);
    if (object.ok() && api::HasJsonBody(*match.route)) {
      (void)api::ReadBody(*match.route, *object, request.get());
    }
    (void)api::FillFields(*match.route, match.of_path, target->query, request.get());
  }
}

// A client cuts a stream at empty lines, and reads "id" and "event" of lines that begin so.
void CheckFrame(std::string_view text) {
  const std::string frame = shape::EventFrame("1", text);
  Require(frame.rfind("id: 1\ndata: ", 0) == 0);
  Require(frame.find('\r') == std::string::npos);
  Require(frame.find("\n\n") == frame.size() - 2);
  for (size_t at = frame.find('\n'); at + 2 < frame.size(); at = frame.find('\n', at + 1)) {
    Require(frame.compare(at + 1, 6, "data: ") == 0);
  }
}

}  // namespace
}  // namespace odyssey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(text.find('\n'), text.size());
  odyssey::CheckAccess(text.substr(0, line));
  odyssey::CheckTarget(text.substr(0, line), text.substr(std::min(line + 1, text.size())));
  odyssey::CheckFrame(text);
  return 0;
}
