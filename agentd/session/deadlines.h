#ifndef ODYSSEY_AGENTD_SESSION_DEADLINES_H_
#define ODYSSEY_AGENTD_SESSION_DEADLINES_H_

// The deadlines of all turns, watched by one thread. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace odyssey::session {

class Deadlines final {
 public:
  // `on_due` is called once for each id that is due, by the thread of this object.
  explicit Deadlines(std::function<void(const std::string& id)> on_due);
  // Stops.
  ~Deadlines();

  // Of an id that is added again the earlier time counts.
  void Add(const std::string& id, std::chrono::milliseconds after);
  void Remove(const std::string& id);
  // Returns when `on_due` is not running and will not be called again.
  void Stop();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void Watch(const std::stop_token& stop);

  const std::function<void(const std::string& id)> on_due_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // All below: guarded by mutex_.
  std::set<std::pair<Time, std::string>> due_;  // the next one first
  std::map<std::string, Time> times_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_DEADLINES_H_
