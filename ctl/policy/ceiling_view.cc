#include "ctl/policy/ceiling_view.h"

#include <string>
#include <utility>

#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

std::string SourceOf(const answer::CeilingText& ceiling) {
  if (ceiling.built_in) return "built in, since there is no " + ceiling.directory;
  return ceiling.directory;
}

std::string OwnerText(const ceiling::Owner& owner) {
  return std::to_string(owner.uid) + (owner.name.empty() ? "" : " (" + owner.name + ")");
}

}  // namespace

void PrintCeiling(const Console& console, const ceiling::Owner& owner,
                  const answer::CeilingText& ceiling, const std::vector<answer::Granted>& granted) {
  const auto line = [&](const std::string& text) {
    console.PrintLine(Sanitize(text, Lines::kOne));
  };
  line("operator's ceiling for uid " + OwnerText(owner) + ": " + SourceOf(ceiling));
  for (const std::string& rule : ceiling.rules) line("  " + rule);
  for (const answer::Granted& one : granted) {
    line("granted " + one.key + " " + one.value + " by " + one.rule);
  }
  line("ceiling digest " + ceiling.digest);
}

Json CeilingAsJson(const ceiling::Owner& owner, const answer::CeilingText& ceiling,
                   const std::vector<answer::Granted>& granted) {
  Json list = Json::array();
  for (const answer::Granted& one : granted) {
    list.push_back({{"key", one.key}, {"value", one.value}, {"rule", one.rule}});
  }
  return {{"directory", ceiling.directory},
          {"built_in", ceiling.built_in},
          {"uid", owner.uid},
          {"digest", ceiling.digest},
          {"rules", ceiling.rules},
          {"granted", std::move(list)}};
}

}  // namespace odyssey::ctl
