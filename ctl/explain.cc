#include "ctl/explain.h"

#include "ctl/host_facts.h"
#include "ctl/sanitize.h"
#include "policy/compile/compile.h"

namespace odyssey::ctl {

Status PrintPlan(const Console& console, const policy::SandboxRequest& request,
                 const std::string& state) {
  ODY_ASSIGN_OR_RETURN(const compile::Compiled compiled,
                       compile::Compile(request, GatherHostFacts(state)));
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
