#include "policy/compile/protection.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "common/base/refusal.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using plan::IsWithin;

// Not here: what a project's people read as part of its changes and run by their own decision
// (Makefile, package.json, CLAUDE.md, CI files). `protect` adds those that a policy cares for.
constexpr ProtectedName kProjectNames[] = {
    {".git/hooks", "git runs the programs in it"},
    {".git/config", "names programs that git runs: fsmonitor, sshCommand, filters, aliases"},
    {".git/config.worktree", "the same as .git/config"},
    {".git/commondir", "leads git to another configuration and other hooks"},
    {".githooks", "hooks of the project that git is configured to run"},
    {".husky", "hooks of the project that git is configured to run"},
    {".pre-commit-config.yaml", "names programs that git's hooks run"},
    {"lefthook.yml", "names programs that git's hooks run"},
    {"lefthook.yaml", "names programs that git's hooks run"},
    {".lefthook.yml", "names programs that git's hooks run"},
    {".lefthook.yaml", "names programs that git's hooks run"},
    {".hg/hgrc", "names programs that Mercurial runs"},
    {".jj/repo/config.toml", "names programs that Jujutsu runs"},
    {".envrc", "direnv runs it in a shell that enters the directory"},
    {"mise.toml", "mise runs its commands in a shell that enters the directory"},
    {".mise.toml", "the same as mise.toml"},
    {"mise/config.toml", "the same as mise.toml"},
    {".mise/config.toml", "the same as mise.toml"},
    {".config/mise.toml", "the same as mise.toml"},
    {".config/mise/config.toml", "the same as mise.toml"},
    {"mise.local.toml", "the same as mise.toml"},
    {".mise.local.toml", "the same as mise.toml"},
    {".vscode", "settings and tasks that name programs the editor runs"},
    {".idea", "settings and tasks that name programs the editor runs"},
    {".zed", "settings and tasks that name programs the editor runs"},
    {".devcontainer", "commands that an editor runs on the host to make a container"},
    {".devcontainer.json", "the same as .devcontainer"},
    {".exrc", "an editor runs it"},
    {".nvimrc", "an editor runs it"},
    {".nvim.lua", "an editor runs it"},
    {".lazy.lua", "an editor runs it"},
    {".dir-locals.el", "an editor runs it"},
    {".claude", "settings, hooks and tools of an agent on the host"},
    {".codex", "settings, hooks and tools of an agent on the host"},
    {".agents", "settings, hooks and tools of an agent on the host"},
    {".cursor", "settings, hooks and tools of an agent on the host"},
    {".gemini", "settings, hooks and tools of an agent on the host"},
    {".windsurf", "settings, hooks and tools of an agent on the host"},
    {".continue", "settings, hooks and tools of an agent on the host"},
    {".kiro", "settings, hooks and tools of an agent on the host"},
    {".roo", "settings, hooks and tools of an agent on the host"},
    {".kilocode", "settings, hooks and tools of an agent on the host"},
    {".amazonq", "settings, hooks and tools of an agent on the host"},
    {".qwen", "settings, hooks and tools of an agent on the host"},
    {".factory", "settings, hooks and tools of an agent on the host"},
    {".junie", "settings, hooks and tools of an agent on the host"},
    {".opencode", "settings, hooks and tools of an agent on the host"},
    {"opencode.json", "settings, hooks and tools of an agent on the host"},
    {".aider.conf.yml", "names programs that agents on the host start"},
    {".mcp.json", "names programs that agents on the host start"},
    {"odek.json", "settings of agents' sandboxes"},
    {"workshop.yaml", "settings of agents' sandboxes"},
    {"odyssey.bundle.json5", "says what Odyssey itself lets the next session do"},
    {"odyssey.bundle.yaml", "the same as odyssey.bundle.json5"},
    {"odyssey.bundle.yml", "the same as odyssey.bundle.json5"},
    {"agent.yaml", "says which tools of a bundle's agent need no approval"},
    {"agent.yml", "the same as agent.yaml"},
    {".npmrc", "names the registry and the shell of npm"},
    {".pnpmfile.cjs", "pnpm runs it"},
    {".pnp.cjs", "node loads it into every program that yarn starts"},
    {".pnp.loader.mjs", "the same as .pnp.cjs"},
    {".yarnrc", "names the program that yarn runs in its own place"},
    {".yarnrc.yml", "the same as .yarnrc"},
    {"bunfig.toml", "bun loads what it names into every program"},
    {".yarn/releases", "programs that yarn runs in its own place"},
    {".yarn/plugins", "yarn runs them"},
    {".pypirc", "says where packages are published, and as whom"},
    {".cargo/config", "names programs that cargo runs: linker, wrapper, runner"},
    {".cargo/config.toml", "the same as .cargo/config"},
    {"rust-toolchain.toml", "names the directory from which cargo and rustc are run"},
    {"rust-toolchain", "the same as rust-toolchain.toml"},
    {".bundle/config", "names sources and flags of native extensions of bundler"},
    {".mvn", "extensions and options of Java that Maven runs with"},
};

// Where agents keep working trees below their own protected directory, as .claude/worktrees/x: such
// a tree is work like any other.
constexpr std::string_view kWorkingTrees = "/worktrees/";

// Of a repository without a working tree, "project.git", which is laid out as .git is.
constexpr ProtectedName kRepositoryNames[] = {
    {"hooks", "git runs the programs in it"},
    {"config", "names programs that git runs"},
    {"config.worktree", "names programs that git runs"},
    {"commondir", "leads git to another configuration and other hooks"},
};

constexpr ProtectedName kHomeNames[] = {
    {".gitconfig", "git's configuration for every repository"},
    {".config/git", "git's configuration for every repository"},
    {".bashrc", "a shell runs it"},
    {".bash_profile", "a shell runs it"},
    {".bash_login", "a shell runs it"},
    {".bash_logout", "a shell runs it"},
    {".profile", "a shell runs it"},
    {".zshenv", "a shell runs it"},
    {".zprofile", "a shell runs it"},
    {".zshrc", "a shell runs it"},
    {".zlogin", "a shell runs it"},
    {".config/fish", "a shell runs it"},
    {".xprofile", "desktop sessions run it"},
    {".xsession", "desktop sessions run it"},
    {".config/autostart", "desktop sessions start what it names"},
    {".config/systemd", "the user's service manager starts what it names"},
    {".local/bin", "on the search path of programs"},
    {".cargo/bin", "on the search path of programs"},
    {".ssh", "keys, logins, passwords, and programs that read them"},
    {".gnupg", "keys, logins, passwords, and programs that read them"},
    {".netrc", "keys, logins, passwords, and programs that read them"},
    {".aws", "keys, logins, passwords, and programs that read them"},
    {".kube", "keys, logins, passwords, and programs that read them"},
    {".docker", "keys, logins, passwords, and programs that read them"},
    {".config/pip", "names the registry of pip"},
    {".vim", "an editor runs it"},
    {".vimrc", "an editor runs it"},
    {".config/nvim", "an editor runs it"},
    {".emacs", "an editor runs it"},
    {".emacs.d", "an editor runs it"},
    {".config/Code/User", "settings and tasks of the editor"},
    {".claude.json", "settings of an agent on the host"},
    {".odek", "settings of an agent on the host, which need no approval"},
};

// The protected names of one tree, relative to it, as they are collected.
struct Kept {
  std::set<std::string> inside;
  const ProtectedName* itself = nullptr;  // the tree is this, or lies in it
};

// `anchor` is a project or a home; `source` the tree. By path: only what the two share matters.
void Collect(std::string_view source, std::string_view anchor, std::span<const ProtectedName> names,
             Kept* kept) {
  if (IsWithin(anchor, source)) {
    std::string below(anchor.substr(source.size()));
    if (!below.empty()) below = below.substr(1) + "/";
    for (const ProtectedName& name : names) kept->inside.insert(below + std::string(name.path));
    return;
  }
  if (!IsWithin(source, anchor) || anchor == "/") return;
  const std::string_view rest = source.substr(anchor.size() + 1);
  for (const ProtectedName& name : names) {
    const bool itself = IsWithin(rest, name.path);
    if (itself && rest.substr(name.path.size()).rfind(kWorkingTrees, 0) != 0) kept->itself = &name;
    if (name.path != rest && IsWithin(name.path, rest)) {
      kept->inside.emplace(name.path.substr(rest.size() + 1));
    }
  }
}

// By its name: "project.git" and "project/.git".
bool IsGitDirectory(std::string_view path) {
  const size_t dot = path.rfind(".git");
  return dot != std::string_view::npos && dot + 4 == path.size();
}

void CollectProject(std::string_view source, std::string_view project, Kept* kept) {
  Collect(source, project, kProjectNames, kept);
  if (IsGitDirectory(project)) Collect(source, project, kRepositoryNames, kept);
}

std::string_view ParentOf(std::string_view path) { return path.substr(0, path.rfind('/')); }

// A tree is a project. So may be each directory above it, and each other writable tree inside it.
Kept CollectDefaults(const std::string& source, const std::vector<Entry>& trees,
                     const std::vector<std::string>& homes) {
  Kept kept;
  for (std::string_view above = source; !above.empty(); above = ParentOf(above)) {
    CollectProject(source, above, &kept);
  }
  for (const Entry& other : trees) {
    if (IsWithin(other.source, source)) CollectProject(source, other.source, &kept);
  }
  for (const std::string& home : homes) {
    Collect(source, home, kHomeNames, &kept);
    if (IsWithin(home, source)) CollectProject(source, home, &kept);
  }
  return kept;
}

// Relative path → access. What is protected, and the directories on the way to it: a mount point
// cannot be renamed or removed, but a directory that holds one could be, so each is one too.
std::map<std::string, Access> WithParents(const std::set<std::string>& inside) {
  std::map<std::string, Access> parts;
  for (const std::string& path : inside) {
    std::vector<std::string> parents;
    bool covered = false;
    for (size_t slash = path.find('/'); slash != std::string::npos && !covered;
         slash = path.find('/', slash + 1)) {
      parents.push_back(path.substr(0, slash));
      covered = inside.count(parents.back()) != 0;
    }
    if (covered) continue;
    for (std::string& parent : parents) parts.emplace(std::move(parent), Access::kReadWrite);
    parts[path] = Access::kReadOnly;
  }
  return parts;
}

// Mounts inside the tree, and the directories above them, have their entries already; in what is
// read-only nothing is left to protect.
void AddPart(Entry part, std::vector<Entry>* entries) {
  Entry* around = nullptr;
  for (Entry& entry : *entries) {
    const bool host = entry.kind == EntryKind::kHostTree || entry.kind == EntryKind::kPart;
    if (!host || !IsWithin(part.target, entry.target)) continue;
    if (around == nullptr || entry.target.size() > around->target.size()) around = &entry;
  }
  if (around->target == part.target) {
    around->access = std::min(around->access, part.access);
  } else if (around->access == Access::kReadWrite) {
    entries->push_back(std::move(part));
  }
}

void AddParts(const Entry& tree, const std::set<std::string>& inside, Compiled* out) {
  std::string names;
  for (const auto& [path, access] : WithParents(inside)) {
    AddPart({.kind = EntryKind::kPart,
             .target = tree.target + "/" + path,
             .access = access,
             .executable = tree.executable},
            &out->plan.entries);
    if (access == Access::kReadOnly) names += " " + path;
  }
  if (names.empty()) return;
  out->explanation.push_back(tree.target + ": read-only in it, where it exists:" + names);
}

// A guard's sockets and pipes are not the host's.
void ExplainDirectWrites(const Entry& tree, const policy::SandboxRequest& request, Compiled* out) {
  out->explanation.push_back(
      tree.target +
      ": written directly: under names that are not there at the start the cell can plant what git "
      "or an editor obeys" +
      (request.deny.empty() ? ", and reach what listens at a socket or named pipe in it" : "") +
      "; `writes: review` keeps its changes apart");
}

Status CheckProtect(const std::vector<std::string>& protect) {
  if (protect.size() > kMaxProtect) {
    return Refused(Code::kInvalidArgument, "protect", "",
                   std::to_string(protect.size()) + " paths; at most " +
                       std::to_string(kMaxProtect) + " are allowed");
  }
  for (size_t i = 0; i < protect.size(); ++i) {
    if (!protect[i].empty() && plan::IsNormalizedAbsolute("/" + protect[i])) continue;
    return Refused(Code::kInvalidArgument, "protect[" + std::to_string(i) + "]", protect[i],
                   "a normalised path relative to a writable directory is allowed");
  }
  return OkStatus();
}

Status RefuseTree(const Entry& tree, const ProtectedName& name) {
  return Refused(
      Code::kPermissionDenied, tree.target == plan::kWorkspacePath ? "workspace" : "mounts",
      tree.source,
      "may not be written: " + std::string(name.path) + " is protected (" + std::string(name.why) +
          "); read-only is allowed, or PROTECTION_NONE (\"none\") and what to `protect` instead");
}

std::vector<Entry> WritableTrees(const std::vector<Entry>& entries) {
  std::vector<Entry> trees;
  std::copy_if(entries.begin(), entries.end(), std::back_inserter(trees), [](const Entry& entry) {
    return entry.kind == EntryKind::kHostTree && entry.access == Access::kReadWrite &&
           entry.changes.empty();
  });
  return trees;
}

// One of "name:x:uid:gid:comment:home:shell".
std::string_view Field(std::string_view line, int wanted) {
  for (int field = 0; field < wanted; ++field) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return {};
    line.remove_prefix(colon + 1);
  }
  return line.substr(0, line.find(':'));
}

bool MayLogIn(std::string_view uid) {
  constexpr std::string_view kNobody = "65534";
  return uid == "0" || (uid.size() >= 4 && uid != kNobody);  // from 1000 on
}

}  // namespace

std::span<const ProtectedName> ProjectNames() { return kProjectNames; }

std::span<const ProtectedName> HomeNames() { return kHomeNames; }

std::vector<std::string> HomeDirectories(std::string_view passwd) {
  std::set<std::string> homes;
  while (!passwd.empty()) {
    const std::string_view line = passwd.substr(0, passwd.find('\n'));
    passwd.remove_prefix(std::min(line.size() + 1, passwd.size()));
    const std::string_view home = Field(line, 5);
    if (MayLogIn(Field(line, 2)) && home != "/" && plan::IsNormalizedAbsolute(home)) {
      homes.emplace(home);
    }
  }
  return {homes.begin(), homes.end()};
}

Status AddProtection(const policy::SandboxRequest& request, const HostFacts& facts, Compiled* out) {
  ODY_RETURN_IF_ERROR(CheckProtect(request.protect));
  const std::vector<Entry> trees = WritableTrees(out->plan.entries);
  for (const Entry& tree : trees) {
    Kept kept;
    if (request.protection == policy::Protection::kDefault) {
      kept = CollectDefaults(tree.source, trees, facts.homes);
      if (kept.itself != nullptr) return RefuseTree(tree, *kept.itself);
    }
    kept.inside.insert(request.protect.begin(), request.protect.end());
    AddParts(tree, kept.inside, out);
    ExplainDirectWrites(tree, request, out);
  }
  return OkStatus();
}

}  // namespace odyssey::compile
