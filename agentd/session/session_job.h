#ifndef ODYSSEY_AGENTD_SESSION_SESSION_JOB_H_
#define ODYSSEY_AGENTD_SESSION_SESSION_JOB_H_

// What waits and runs in a session's queue: a turn, or an operator who holds the session.

#include <string>

#include "agentd/scheduler/strand_pool.h"
#include "agentd/turn/turn_machine.h"

namespace odyssey::session {

class SessionJob : public scheduler::Job {
 public:
  // Asks the job to end soon: kCancelled, kInterrupted, or kFailed since its deadline has passed.
  // The first request counts. Any thread.
  virtual void RequestStop(turn::Ending ending) = 0;
  // The job was taken out of the queue before it ran: ends it as RequestStop asked.
  virtual void EndWithoutRunning() = 0;
  // agentd stops, and the job was taken out of the queue before it ran: a turn stays queued in its
  // record and runs after the next start, an operator's hold ends.
  virtual void LeaveForRestart() = 0;
  // Nothing more runs for it: WaitEnded returns at once, or nearly. Any thread.
  virtual bool IsEnding() const = 0;
  // Blocks until it has ended.
  virtual void WaitEnded() = 0;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_SESSION_JOB_H_
