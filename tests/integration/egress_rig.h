#ifndef ODYSSEY_TESTS_INTEGRATION_EGRESS_RIG_H_
#define ODYSSEY_TESTS_INTEGRATION_EGRESS_RIG_H_

// odyssey-egress and its workers alone: the test stands for rpc, for the programs of cells and for
// servers, in a network namespace of its own, in which every address is local. Needs root.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/os/unique_fd.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::testing {

inline constexpr char kServerHost[] = "93.184.216.34";
inline constexpr char kBlackHole[] = "94.0.0.1";  // what is sent there is lost

// Enters the namespace, once. "": this process is in it.
const std::string& WhyNoNetwork();

// A server of kServerHost; `serve` has each connection, in a thread.
class Server final {
 public:
  Server(uint16_t port, std::function<void(int)> serve);
  ~Server();
  uint16_t port() const { return port_; }

 private:
  void Accept();
  const uint16_t port_;
  const std::function<void(int)> serve_;
  UniqueFd listener_;
  std::mutex mutex_;
  bool stop_ = false;
  std::vector<int> open_;
  std::vector<std::thread> connections_;
  std::thread accept_;
};

// What `serve` may be.
void Echo(int socket);
void AnswerRequests(int socket);                   // 200, "ok"; bodies by Content-Length
std::function<void(int)> Say(std::string answer);  // once a head has come; then it reads on

// A connection of a program.
class Client final {
 public:
  explicit Client(UniqueFd socket) : socket_(std::move(socket)) {}
  Client& Send(std::string_view bytes);
  // Until they hold `text`, or the connection ends.
  std::string Until(std::string_view text);
  // Until the end; "reset" if that is one.
  std::string Rest();
  bool HasBytes() const;  // or its end, now
  int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
};

std::string Get(uint16_t port, std::string_view path = "/");
std::string ConnectTo(std::string_view host, uint16_t port);

class Broker final {
 public:
  explicit Broker(std::vector<std::string> limits = {}, int open_files = 0);
  ~Broker();
  const std::string& socket_path() const { return socket_path_; }
  std::vector<pid_t> workers() const;

 private:
  std::string directory_, socket_path_;
  pid_t pid_ = -1;
};

// A cell as rpc has it.
class Cell final {
 public:
  Cell(const Broker& broker, const egress::NetworkPolicy& policy);
  void SetPolicy(const egress::NetworkPolicy& policy);

  Client Connect() const;  // to its proxy
  // "200", once; the connection is gone then.
  std::string StatusOf(const std::string& request) const;
  // Asks for a name that nothing allows; waits for the answer.
  void LookUp(const std::string& name) const;

  // So far, those with this code.
  size_t Count(const std::string& code);
  void WaitFor(const std::string& code, size_t count = 1);
  uint64_t suppressed();
  // Records of refusals, written or counted.
  uint64_t denied();
  const std::vector<egress_wire::Record>& records();
  // Until the records of all decisions so far are here.
  void Sync();
  // Closes the connection, as rpc does when the cell ends.
  void End() { rpc_.reset(); }

 private:
  void Receive();
  UniqueFd rpc_;
  uint64_t revision_ = 0;
  uint64_t sync_ = 0, synced_ = 0;
  uint16_t proxy_ = 0, names_ = 0;
  std::vector<egress_wire::Record> records_;
};

// Every program may reach `ports` of the host.
egress::NetworkPolicy PolicyFor(std::vector<uint16_t> ports, const std::string& host = kServerHost);

// Calls `done` until it is true; fails the test if that takes too long.
void Eventually(const std::function<bool()>& done, const std::string& what);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_EGRESS_RIG_H_
