#include "ctl/tui/viewers.h"

#include <algorithm>

#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"
#include "ctl/bundle/bundle_archive.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kDescription = 100;
constexpr char kNoBundle[] = "no installed bundle is chosen: /bundle install [path], /bundles";

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string ModelOf(const agent::v1::BundleAgent& agent) {
  return agent.model_provider() + "/" + agent.model_id();
}

Viewer BundleViewer(const agent::v1::ListBundlesResponse& bundles) {
  Viewer out = {.header = {"BUNDLE", "FOR", "DIGEST"},
                .empty = "no bundles installed: /bundle install [path] installs one"};
  for (const agent::v1::Bundle& bundle : bundles.bundles()) {
    out.rows.push_back({NameOf(bundle),
                        {Safe(NameOf(bundle)), bundle.shared() ? "every user" : "its owner",
                         Shorten(Safe(bundle.digest()), 19)}});
  }
  return out;
}

Viewer SessionViewer(const agent::v1::ListSessionsResponse& sessions) {
  Viewer out = {.header = {"SESSION", "AGENT", "BUNDLE", "MESSAGES", "CREATED"},
                .empty = "no sessions: the first message makes one"};
  for (const agent::v1::Session& session : sessions.sessions()) {
    out.rows.push_back(
        {session.id(),
         {Shorten(Safe(session.id()), 12), Safe(session.agent_id()), Safe(session.bundle_ref()),
          std::to_string(session.message_count()), Safe(session.created_at().substr(0, 16))}});
  }
  return out;
}

Viewer AgentViewer(const std::optional<agent::v1::Bundle>& bundle, const std::string& chosen) {
  Viewer out = {.header = {"AGENT", "MODEL", "DESCRIPTION"}, .empty = kNoBundle};
  if (!bundle) return out;
  for (const agent::v1::BundleAgent& agent : bundle->agents()) {
    const bool is_next = chosen.empty() ? agent.is_default() : chosen == agent.id();
    if (is_next) out.selected = out.rows.size();
    out.rows.push_back({agent.id(),
                        {Safe(agent.id()), Safe(ModelOf(agent)),
                         Shorten(Safe(agent.description()), kDescription)}});
  }
  return out;
}

Viewer ModelViewer(const std::optional<agent::v1::Bundle>& bundle) {
  Viewer out = {.header = {"MODEL", "AGENTS"}, .empty = kNoBundle};
  if (!bundle) return out;
  for (const agent::v1::BundleAgent& agent : bundle->agents()) {
    const auto known = std::find_if(out.rows.begin(), out.rows.end(), [&](const Viewer::Row& row) {
      return row.id == ModelOf(agent);
    });
    if (known != out.rows.end()) {
      known->cells[1] += " " + Safe(agent.id());
    } else {
      out.rows.push_back({ModelOf(agent), {Safe(ModelOf(agent)), Safe(agent.id())}});
    }
  }
  return out;
}

Viewer SkillViewer(const std::optional<agent::v1::Bundle>& bundle) {
  Viewer out = {.header = {"SKILL", "DESCRIPTION"},
                .empty = bundle ? "the bundle has no skills" : kNoBundle};
  if (!bundle) return out;
  const Json manifest = Json::parse(bundle->manifest(), nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("skills")) return out;
  for (const Json& skill : manifest["skills"]) {
    if (!skill.is_object()) continue;
    const std::string about = TextOf(skill, "description");
    out.rows.push_back(
        {TextOf(skill, "name"),
         {Safe(TextOf(skill, "name")),
          Shorten(Safe(about.empty() ? TextOf(skill, "path") : about), kDescription)}});
  }
  return out;
}

Viewer ThemeViewer(const std::vector<std::string>& themes, const std::string& chosen) {
  Viewer out = {.header = {"THEME", ""}};
  for (const std::string& theme : themes) {
    if (theme == chosen) out.selected = out.rows.size();
    out.rows.push_back({theme, {theme, theme == chosen ? "in use" : ""}});
  }
  return out;
}

}  // namespace odyssey::ctl
