#ifndef ODYSSEY_HTTP_FRONT_EXCHANGE_H_
#define ODYSSEY_HTTP_FRONT_EXCHANGE_H_

// One request and its answer, between a connection and odyssey-agentd. Destroying it cancels its
// calls: so does a client that goes. Of the loop's thread alone.

#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/upstream/agent_link.h"
#include "http/api/route_table.h"

namespace odyssey::front {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Frames of events that were made last: many subscribers of a session get the same.
class EventFrames final {
 public:
  // The frame of the event with this id, which `make` makes where it is not kept.
  std::shared_ptr<const std::string> Get(const std::string& id,
                                         const std::function<std::string()>& make);

 private:
  std::map<std::string, std::shared_ptr<const std::string>> frames_;
  std::deque<std::string> ids_;  // oldest first
};

class McpHost;

// What all exchanges share.
struct Backend {
  boost::asio::io_context* loop = nullptr;
  upstream::AgentLink* link = nullptr;
  McpHost* mcp = nullptr;
  EventFrames frames;
};

// Header fields of the Model Context Protocol; empty: it is not there.
struct McpFields {
  std::string session_id, version, method, name;
  bool takes_events = false;  // Accept has text/event-stream
};

// A request that was read whole, and may be made.
struct Request {
  const api::Route* route = nullptr;
  std::map<std::string, std::string> of_path, query;
  std::string body, token, last_event_id;
  McpFields mcp;
};

// The connection of an exchange. What comes after Reply, EndStream or AbortStream is left out, and
// the exchange is destroyed once the client has taken the answer.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void Reply(unsigned status, std::string_view content_type, std::string body,
                     const Fields& fields) = 0;
  virtual void BeginStream(std::string_view content_type, const Fields& fields) = 0;
  virtual void Write(std::string_view bytes) = 0;
  // Of Write, that the client has not taken.
  virtual size_t pending_bytes() const = 0;
  virtual void EndStream() = 0;
  // The client sees that the answer is cut.
  virtual void AbortStream() = 0;
};

// While more is pending nothing is read from odyssey-agentd, which holds back in turn.
inline constexpr size_t kMaxPendingBytes = 64 * 1024;

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // Both are borrowed and outlive it.
  Exchange(Request request, Backend* backend, Responder* responder)
      : request_(std::move(request)), backend_(backend), responder_(responder) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  virtual void Start() = 0;
  // The client has taken all that was written.
  virtual void OnWritable() {}

 protected:
  // A call of it has made progress.
  virtual void OnProgress() = 0;

  std::shared_ptr<upstream::AgentCall> Open(const std::string& path, int deadline_ms);
  // With one request and no other.
  std::shared_ptr<upstream::AgentCall> Call(const std::string& path, int deadline_ms,
                                            const google::protobuf::MessageLite& request);
  // The request of the route's call, from all parts of this one. False: the answer is that it
  // cannot be made.
  bool Fill(google::protobuf::Message* request);
  // Of the path, as ours.
  std::string SessionId() const;
  void Fail(const Status& status);
  void FailWith(unsigned http_status, const Status& status);
  void ReplyJson(std::string body);

  const Request request_;
  Backend* const backend_;
  Responder* const responder_;
};

// Never null. Its Start answers.
std::shared_ptr<Exchange> NewExchange(Request request, Backend* backend, Responder* responder);

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_EXCHANGE_H_
