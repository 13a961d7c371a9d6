// The peer of a connection of HTTP/2 is a command of a cell, or a server. Whatever it sends: events
// of a stream come in their order, each stream is closed once, no more is held than the windows and
// heads allow, and how the bytes are cut changes nothing. The first byte of the input says which
// side reads it, and whether what arrives is answered.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "supervisor/egress/h2/session.h"
#include "supervisor/egress/http/head_scanner.h"

namespace {

namespace h2 = odyssey::egress::h2;
using odyssey::egress::http::Fields;
using Kind = h2::Event::Kind;

constexpr std::string_view kMagic = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const h2::Session::Time kNow{std::chrono::seconds(1000)};

class Reader final {
 public:
  Reader(h2::Side side, bool answers) : session_(side), side_(side), answers_(answers) {
    if (side == h2::Side::kServer) {
      session_.Receive(kMagic, kNow);
      return;
    }
    const Fields get = {
        {":method", "GET"}, {":scheme", "https"}, {":authority", "h"}, {":path", "/"}};
    for (int i = 0; i < 3; ++i) {
      const h2::StreamId stream = session_.Request(get, i != 0, h2::Indexing::kAllowed);
      if (stream != 0) open_.insert(stream);
    }
    while (!session_.TakeOutput().empty()) Check();
  }

  void Receive(std::string_view bytes) {
    session_.Receive(bytes, kNow);
    Check();
    while (!session_.TakeOutput().empty()) Check();
    ODY_CHECK(session_.streams() <= h2::kMaxStreams);
  }

  // Without a word in between.
  void ReceiveCut(std::string_view bytes, size_t piece) {
    for (size_t at = 0; at < bytes.size(); at += piece) {
      session_.Receive(bytes.substr(at, piece), kNow);
      Check();
    }
  }

  const std::string& violation() const { return session_.violation(); }

  // What happened, with the bodies that came to their end.
  std::vector<std::string> seen;

 private:
  void Check() {
    for (const h2::Event& event : session_.TakeEvents()) {
      CheckOrder(event);
      if (event.kind == Kind::kData) held_[event.stream] += event.bytes.size();
      if (event.kind == Kind::kClosed) held_.erase(event.stream);
      size_t held = 0;
      for (const auto& [stream, bytes] : held_) held += bytes;
      ODY_CHECK(held <= static_cast<size_t>(h2::kConnectionWindow));
      Note(event);
      if (answers_) Answer(event);
    }
  }

  void CheckOrder(const h2::Event& event) {
    const bool begins = event.kind == Kind::kRequest || event.kind == Kind::kUnreadable;
    ODY_CHECK(!begins || side_ == h2::Side::kServer);
    if (begins) ODY_CHECK(open_.insert(event.stream).second);
    if (begins && event.ended) ended_.insert(event.stream);
    if (event.kind == Kind::kData || event.kind == Kind::kEnd) {
      ODY_CHECK(open_.count(event.stream) == 1 && ended_.count(event.stream) == 0);
    }
    if (event.kind == Kind::kEnd) ended_.insert(event.stream);
    if (event.kind == Kind::kRequest) {
      ODY_CHECK(event.request.fields.size() <= odyssey::egress::http::kMaxFields);
      ODY_CHECK(!event.request.path.empty() && !event.request.authority.written.empty());
    }
    if (event.kind != Kind::kClosed) return;
    ODY_CHECK(closed_.insert(event.stream).second);
    open_.erase(event.stream);
  }

  void Note(const h2::Event& event) {
    if (event.kind == Kind::kTaken) return;
    // How much of a body came before what is wrong with it depends on the pieces.
    if (event.kind == Kind::kData) {
      bodies_[event.stream] += event.bytes;
      return;
    }
    std::string text = std::to_string(static_cast<int>(event.kind)) + "/" +
                       std::to_string(event.stream) + "/" + event.request.method +
                       event.request.path;
    if (event.kind == Kind::kEnd) text += bodies_[event.stream];
    seen.push_back(std::move(text));
  }

  void Answer(const h2::Event& event) {
    if (event.kind == Kind::kData) {
      session_.Credit(event.stream, event.bytes.size());
      held_[event.stream] = 0;
    }
    if (event.kind == Kind::kUnreadable) session_.Respond(event.stream, {{":status", "400"}}, true);
    if (event.kind != Kind::kRequest) return;
    session_.Respond(event.stream, {{":status", "200"}}, false);
    session_.Send(event.stream, event.request.path);
    session_.End(event.stream, {{"x-t", "1"}});
    session_.ResetOnceEnded(event.stream);
  }

  h2::Session session_;
  const h2::Side side_;
  const bool answers_;
  std::set<h2::StreamId> open_, ended_, closed_;
  std::map<h2::StreamId, size_t> held_;
  std::map<h2::StreamId, std::string> bodies_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const h2::Side side = (data[0] & 1) != 0 ? h2::Side::kClient : h2::Side::kServer;
  const bool answers = (data[0] & 2) != 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Reader talking(side, answers);
  for (size_t at = 0; at < bytes.size(); at += 13) talking.Receive(bytes.substr(at, 13));
  Reader pieces(side, false), whole(side, false);
  pieces.ReceiveCut(bytes, 1);
  whole.ReceiveCut(bytes, bytes.size() + 1);
  // libnghttp2 counts a CONTINUATION again for each piece that its head arrives in.
  if (!pieces.violation().starts_with("Too many CONT")) ODY_CHECK(pieces.seen == whole.seen);
  return 0;
}
