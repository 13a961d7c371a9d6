#include "ctl/ceiling_view.h"

#include <unistd.h>

#include "ctl/host_facts.h"
#include "ctl/sanitize.h"
#include "policy/dialect/ceiling_directory.h"

extern char** environ;

namespace odyssey::ctl {
namespace {

std::string SourceOf(const CeilingView& view) {
  if (view.ceiling == ceiling::BuiltIn()) return "built in, since there is no " + view.directory;
  return view.directory;
}

Result<CeilingView> Load(const std::string& directory, const ceiling::Owner& owner,
                         const Locations& locations) {
  CeilingView view;
  view.directory = directory;
  ODY_ASSIGN_OR_RETURN(view.ceiling, dialect::LoadCeiling(directory));
  view.asker = {owner, GatherHostFacts(locations.state).check};
  return view;
}

std::string OwnerText(const ceiling::Owner& owner) {
  return std::to_string(owner.uid) + (owner.name.empty() ? "" : " (" + owner.name + ")");
}

}  // namespace

std::vector<OptionSpec> CeilingOptionSpecs() {
  return {{.name = "ceiling",
           .kind = ValueKind::kDirectory,
           .value_name = "DIR",
           .help = "the operator's ceiling (default: that of the daemons)"},
          {.name = "user",
           .kind = ValueKind::kText,
           .value_name = "USER",
           .help = "for whom, a name or a uid (default: you)"}};
}

Result<CeilingView> LoadCeilingView(const ParsedOptions& options, const Locations& locations) {
  ceiling::Owner owner = dialect::OwnerOf(getuid());
  if (options.Has("user")) {
    ODY_ASSIGN_OR_RETURN(owner, dialect::FindOwner("--user", options.Text("user")));
  }
  std::string directory = locations.policy_directory;
  if (options.Has("ceiling")) {
    directory = options.Text("ceiling");
    if (access(directory.c_str(), F_OK) != 0) {
      return NotFound("--ceiling " + directory + ": no such directory");
    }
  }
  return Load(directory, owner, locations);
}

Result<CeilingView> LoadCeilingView(uid_t owner, const Locations& locations) {
  return Load(locations.policy_directory, dialect::OwnerOf(owner), locations);
}

std::set<std::string> GrantedSecrets(const CeilingView& view) {
  std::set<std::string> granted;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (!ceiling::LooksSecret(name)) continue;
    if (ceiling::JudgeEnv(view.ceiling, "", name, view.asker.owner).ok()) granted.insert(name);
  }
  return granted;
}

Status CheckSecrets(const CeilingView& view, const std::vector<dialect::SecretVariable>& secrets) {
  for (const auto& [target, source] : secrets) {
    const auto granted = ceiling::JudgeEnv(view.ceiling, "env." + target, source, view.asker.owner);
    ODY_RETURN_IF_ERROR(granted.status());
  }
  return OkStatus();
}

void PrintCeiling(const Console& console, const CeilingView& view,
                  const std::vector<ceiling::Ruling>& rulings) {
  const auto line = [&](const std::string& text) {
    console.PrintLine(Sanitize(text, Lines::kOne));
  };
  line("operator's ceiling for uid " + OwnerText(view.asker.owner) + ": " + SourceOf(view));
  for (const std::string& rule : ceiling::Describe(view.ceiling)) line("  " + rule);
  for (const ceiling::Ruling& ruling : rulings) {
    line("granted " + ruling.key + " " + ruling.value + " by " + ceiling::ToString(ruling.origin));
  }
  line("ceiling digest " + ceiling::Digest(view.ceiling));
}

Json CeilingAsJson(const CeilingView& view, const std::vector<ceiling::Ruling>& rulings) {
  Json granted = Json::array();
  for (const ceiling::Ruling& ruling : rulings) {
    granted.push_back(
        {{"key", ruling.key}, {"value", ruling.value}, {"rule", ceiling::ToString(ruling.origin)}});
  }
  return {{"directory", view.directory},
          {"built_in", view.ceiling == ceiling::BuiltIn()},
          {"uid", view.asker.owner.uid},
          {"digest", ceiling::Digest(view.ceiling)},
          {"rules", ceiling::Describe(view.ceiling)},
          {"granted", std::move(granted)}};
}

void AddGrant(const CeilingView& view, const policy::SandboxRequest& request,
              const std::function<bool(const ceiling::Ruling&)>& concerns,
              rules::Decision* decision) {
  const auto rulings = ceiling::Judge(view.ceiling, request, view.asker);
  if (!rulings.ok() || decision->verdict != rules::Verdict::kAllow) return;
  const ceiling::Ruling* best = nullptr;
  for (const ceiling::Ruling& ruling : *rulings) {
    if (!concerns(ruling)) continue;
    if (best == nullptr || ruling.value.size() > best->value.size()) best = &ruling;
  }
  if (best != nullptr) decision->rule += ", granted by " + ceiling::ToString(best->origin);
}

}  // namespace odyssey::ctl
