#include "ctl/explain.h"

#include "ctl/host_facts.h"
#include "ctl/sanitize.h"
#include "policy/compile/compile.h"
#include "policy/executables/finder.h"

namespace odyssey::ctl {

Status PrintPlan(const Console& console, const policy::SandboxRequest& request,
                 const std::string& state) {
  executables::Finder finder;
  ODY_ASSIGN_OR_RETURN(const compile::FoundExecutables found,
                       finder.Find(compile::SystemExecutables(request)));
  ODY_ASSIGN_OR_RETURN(const compile::Compiled compiled,
                       compile::Compile(request, GatherHostFacts(state), found));
  if (console.json) {
    console.PrintJson({{"digest", compiled.digest}, {"plan", compiled.explanation}});
    return OkStatus();
  }
  for (const std::string& line : compiled.explanation) {
    console.PrintLine(Sanitize(line, Lines::kOne));
  }
  console.PrintLine("policy digest " + compiled.digest);
  return OkStatus();
}

}  // namespace odyssey::ctl
