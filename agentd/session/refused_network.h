#ifndef ODYSSEY_AGENTD_SESSION_REFUSED_NETWORK_H_
#define ODYSSEY_AGENTD_SESSION_REFUSED_NETWORK_H_

// What becomes of the destinations that the cell's policy has refused to a command: by the rules of
// Network each stays refused, is opened, or is asked about. Opens nothing itself. One thread at a
// time; lives as long as the turn.

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentd/session/granted_cell.h"
#include "agentd/session/turn_setup.h"
#include "agentd/tool/tool.h"
#include "common/base/status.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::session {

// Of one command; the others stay refused.
inline constexpr size_t kMaxOpenedDestinations = 8;

class RefusedNetwork final {
 public:
  // `cell`, in which the commands run, is borrowed.
  explicit RefusedNetwork(const GrantedCell* cell) : cell_(cell) {}

  // Before everything else: whose rules.
  void Use(std::shared_ptr<const TurnSetup> setup) { setup_ = std::move(setup); }

  // A call has ended so.
  void Begin(tools::ToolResult result);
  // A result waits: between Begin and TakeResult.
  bool has_result() const { return result_.has_value(); }

  // The verdict of the rule on the next destination that is to be opened: allow or ask. Nothing:
  // none is left. Of a turn each destination is there once.
  std::optional<rules::Verdict> Next();
  // Of that destination.
  const std::string& rule() const { return rule_; }
  const tools::GrantRequest& wanted() const { return wanted_; }

  // What became of it. `until`: words for its end.
  void Opened(const std::string& until);
  void StaysRefused(const std::string& why);

  // The result, with what became of them.
  tools::ToolResult TakeResult();

 private:
  const rules::Rule* RuleFor(const tools::RefusedDestination& destination) const;

  struct Fate {
    std::string destination;
    bool reachable = false;
    std::string words;  // until when, or why not
  };

  const GrantedCell* const cell_;
  std::shared_ptr<const TurnSetup> setup_;
  std::optional<tools::ToolResult> result_;
  std::deque<tools::RefusedDestination> left_;
  std::vector<Fate> fates_;
  std::set<std::string> seen_;  // of the turn: each that a rule opens or asks about
  std::string rule_;
  tools::GrantRequest wanted_;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_REFUSED_NETWORK_H_
