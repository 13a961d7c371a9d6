#ifndef ODYSSEY_TESTS_FAKES_FAKE_HTTP_SERVER_H_
#define ODYSSEY_TESTS_FAKES_FAKE_HTTP_SERVER_H_

// An HTTP/1.1 server on a free port of 127.0.0.1 that answers every request with the bytes it was
// given, then closes the connection. One connection at a time.

#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/os/unique_fd.h"

namespace odyssey::fakes {

class FakeHttpServer final {
 public:
  enum class After { kClose, kHang };

  // `answer`: the whole response, status line and headers included. kHang: after it the connection
  // stays open until the peer or the server ends it.
  explicit FakeHttpServer(std::string answer, After after = After::kClose)
      : FakeHttpServer(std::vector<std::string>{std::move(answer)}, after) {}
  // One answer a request, the last one for all further requests.
  explicit FakeHttpServer(std::vector<std::string> answers, After after = After::kClose);
  ~FakeHttpServer();

  // "http://127.0.0.1:PORT".
  std::string url() const;
  // The latest request, headers and body.
  std::string request();
  // How many have been read.
  int requests();
  // Returns once the client has closed a connection that hangs.
  void WaitUntilPeerClosed() { closed_.get_future().wait(); }
  // Returns once the first answer has been sent.
  void WaitUntilAnswered() { answered_.get_future().wait(); }

 private:
  void Serve();
  void Answer(int connection);

  const std::vector<std::string> answers_;
  const After after_;
  UniqueFd listener_;
  UniqueFd stop_;
  int port_ = 0;
  std::mutex mutex_;
  std::string request_;  // guarded by mutex_
  size_t requests_ = 0;  // guarded by mutex_
  bool answered_once_ = false;
  std::promise<void> answered_;
  bool closed_once_ = false;
  std::promise<void> closed_;
  std::thread thread_;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FAKE_HTTP_SERVER_H_
