#ifndef ODYSSEY_TESTS_FAKES_FAKE_HTTP_SERVER_H_
#define ODYSSEY_TESTS_FAKES_FAKE_HTTP_SERVER_H_

// An HTTP/1.1 server on a free port of 127.0.0.1 that answers every request with the bytes it was
// given, then closes the connection. One connection at a time.

#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "common/os/unique_fd.h"

namespace odyssey::fakes {

class FakeHttpServer final {
 public:
  enum class After { kClose, kHang };

  // `answer`: the whole response, status line and headers included. kHang: after it the connection
  // stays open until the peer or the server ends it.
  explicit FakeHttpServer(std::string answer, After after = After::kClose);
  ~FakeHttpServer();

  // "http://127.0.0.1:PORT".
  std::string url() const;
  // The latest request, headers and body.
  std::string request();
  // Returns once the first answer has been sent.
  void WaitUntilAnswered() { answered_.get_future().wait(); }

 private:
  void Serve();
  void Answer(int connection);

  const std::string answer_;
  const After after_;
  UniqueFd listener_;
  UniqueFd stop_;
  int port_ = 0;
  std::mutex mutex_;
  std::string request_;  // guarded by mutex_
  bool answered_once_ = false;
  std::promise<void> answered_;
  std::thread thread_;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FAKE_HTTP_SERVER_H_
