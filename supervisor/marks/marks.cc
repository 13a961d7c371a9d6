#include "supervisor/marks/marks.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <vector>

#include "policy/pattern/name_pattern.h"
#include "supervisor/marks/git_index.h"

namespace odyssey::marks {
namespace {

using Parts = std::vector<std::string_view>;

constexpr std::string_view kShell = "shells run it when they start";
constexpr std::string_view kEditor = "settings, tasks or launch commands that an editor runs";
constexpr std::string_view kAgent = "settings, hooks, tools or instructions that an agent obeys";
constexpr std::string_view kPackages =
    "names registries, credentials or programs of a package manager";
constexpr std::string_view kCi = "a CI service runs it with the project's secrets";
constexpr std::string_view kHooks = "where projects keep hooks that git is told to run";
constexpr std::string_view kKeys = "keys, accounts, or programs that fetch them";
constexpr std::string_view kSession = "desktop sessions or service managers start what it names";
constexpr std::string_view kPath = "on the search path of programs";
constexpr std::string_view kDebugger = "a debugger or an interactive program runs its commands";
constexpr std::string_view kPython = "python runs it whenever it starts there";
constexpr std::string_view kEnvironment =
    "sets the environment, or runs commands, on entering the directory";

constexpr Row kTable[] = {
    // git: what is in .git is judged by MarkInRepository.
    {".gitmodules", "names repositories that git fetches and enters", ""},
    {".gitattributes", "names filters, and drivers of diff and merge, that git runs", ""},
    {".githooks", kHooks, ".githooks/pre-commit"},
    {".husky", kHooks, ".husky/pre-commit"},
    {".pre-commit-config.yaml", kHooks, ""},
    {"lefthook.yml", kHooks, ""},
    {"lefthook.yaml", kHooks, ""},
    {".lefthook.yml", kHooks, ""},
    {".lefthook.yaml", kHooks, ""},
    {"lefthook-local.yml", kHooks, ""},
    {".overcommit.yml", kHooks, ""},
    {".git-hooks", kHooks, ".git-hooks/pre-push"},
    {".gitconfig", "git's configuration", ""},
    {".config/git", "git's configuration", ".config/git/config"},
    {".hg", "names programs that Mercurial runs", ".hg/hgrc"},
    {".svn", "names programs that Subversion runs", ".svn/wc.db"},
    {".jj", "names programs that Jujutsu runs", ".jj/repo/config.toml"},
    // Environments.
    {".envrc", kEnvironment, ""},
    {".env", "programs and editors take their environment from it", ""},
    {".env.*", "programs and editors take their environment from it", ".env.local"},
    {"mise.toml", kEnvironment, ""},
    {".mise.toml", kEnvironment, ""},
    {"mise.*.toml", kEnvironment, "mise.local.toml"},
    {".mise.*.toml", kEnvironment, ".mise.local.toml"},
    {"mise", kEnvironment, "mise/config.toml"},
    {".mise", kEnvironment, ".mise/config.toml"},
    {".config/mise", kEnvironment, ".config/mise/config.toml"},
    {".config/mise.toml", kEnvironment, ""},
    {".tool-versions", kEnvironment, ""},
    {".sdkmanrc", kEnvironment, ""},
    {".nvmrc", kEnvironment, ""},
    {".python-version", kEnvironment, ""},
    {".ruby-version", kEnvironment, ""},
    {".autoenv.zsh", kEnvironment, ""},
    {"shell.nix", kEnvironment, ""},
    {"flake.nix", kEnvironment, ""},
    {"devenv.nix", kEnvironment, ""},
    {"devbox.json", kEnvironment, ""},
    // Editors.
    {".vscode", kEditor, ".vscode/tasks.json"},
    {"*.code-workspace", kEditor, "x.code-workspace"},
    {".vscode-server", kEditor, ".vscode-server/x"},
    {".config/Code", kEditor, ".config/Code/User/settings.json"},
    {".idea", kEditor, ".idea/workspace.xml"},
    {"*.iml", kEditor, "x.iml"},
    {".run", kEditor, ".run/x.run.xml"},
    {".fleet", kEditor, ".fleet/run.json"},
    {".zed", kEditor, ".zed/tasks.json"},
    {".helix", kEditor, ".helix/config.toml"},
    {".devcontainer", kEditor, ".devcontainer/devcontainer.json"},
    {".devcontainer.json", kEditor, ""},
    {".exrc", kEditor, ""},
    {".vim", kEditor, ".vim/plugin/x.vim"},
    {".vimrc", kEditor, ""},
    {".gvimrc", kEditor, ""},
    {"_vimrc", kEditor, ""},
    {".local.vimrc", kEditor, ""},
    {".lvimrc", kEditor, ""},
    {".nvimrc", kEditor, ""},
    {".nvim.lua", kEditor, ""},
    {".lazy.lua", kEditor, ""},
    {".config/nvim", kEditor, ".config/nvim/init.lua"},
    {".dir-locals*.el", kEditor, ".dir-locals.el"},
    {".emacs", kEditor, ""},
    {".emacs.d", kEditor, ".emacs.d/init.el"},
    {".projectile", kEditor, ""},
    {".sublime-project", kEditor, ""},
    {"*.sublime-project", kEditor, "x.sublime-project"},
    {".clangd", "names flags and programs of clangd", ""},
    {".theia", kEditor, ".theia/tasks.json"},
    {".gitpod.yml", kEditor, ""},
    // Agents.
    {".claude", kAgent, ".claude/settings.json"},
    {".claude.json", kAgent, ""},
    {"CLAUDE.md", kAgent, ""},
    {"CLAUDE.local.md", kAgent, ""},
    {"AGENTS.md", kAgent, ""},
    {"AGENT.md", kAgent, ""},
    {"GEMINI.md", kAgent, ""},
    {".codex", kAgent, ".codex/config.toml"},
    {".agents", kAgent, ".agents/x"},
    {".cursor", kAgent, ".cursor/mcp.json"},
    {".cursorrules", kAgent, ""},
    {".gemini", kAgent, ".gemini/settings.json"},
    {".windsurf", kAgent, ".windsurf/rules"},
    {".windsurfrules", kAgent, ""},
    {".continue", kAgent, ".continue/config.yaml"},
    {".continuerc.json", kAgent, ""},
    {".kiro", kAgent, ".kiro/hooks/x"},
    {".roo", kAgent, ".roo/mcp.json"},
    {".roomodes", kAgent, ""},
    {".clinerules", kAgent, ""},
    {".cline", kAgent, ".cline/x"},
    {".kilocode", kAgent, ".kilocode/mcp.json"},
    {".amazonq", kAgent, ".amazonq/mcp.json"},
    {".qwen", kAgent, ".qwen/settings.json"},
    {".factory", kAgent, ".factory/mcp.json"},
    {".junie", kAgent, ".junie/guidelines.md"},
    {".opencode", kAgent, ".opencode/x"},
    {"opencode.json*", kAgent, "opencode.json"},
    {".goosehints", kAgent, ""},
    {".aider*", kAgent, ".aider.conf.yml"},
    {".mcp.json", kAgent, ""},
    {"mcp.json", kAgent, ""},
    {".copilot", kAgent, ".copilot/x"},
    {"copilot-instructions.md", kAgent, ".github/copilot-instructions.md"},
    {".pi", kAgent, ".pi/settings.json"},
    {".trae", kAgent, ".trae/x"},
    {".augment", kAgent, ".augment/x"},
    {"odek.json", kAgent, ""},
    {".odek", kAgent, ".odek/config.json"},
    {"Dockerfile.odek", kAgent, ""},
    {"workshop.yaml", kAgent, ""},
    {"odyssey.bundle.*", kAgent, "odyssey.bundle.yaml"},
    {"agent.yaml", kAgent, ""},
    {"agent.yml", kAgent, ""},
    // Package managers and build tools that load programs from their settings.
    {".npmrc", kPackages, ""},
    {".pnpmfile.cjs", kPackages, ""},
    {".pnp.*", kPackages, ".pnp.cjs"},
    {".yarnrc", kPackages, ""},
    {".yarnrc.yml", kPackages, ""},
    {".yarn/releases", kPackages, ".yarn/releases/yarn.cjs"},
    {".yarn/plugins", kPackages, ".yarn/plugins/x.cjs"},
    {"bunfig.toml", kPackages, ""},
    {".pypirc", kPackages, ""},
    {"pip.conf", kPackages, ""},
    {".config/pip", kPackages, ".config/pip/pip.conf"},
    {"uv.toml", kPackages, ""},
    {"poetry.toml", kPackages, ""},
    {".condarc", kPackages, ""},
    {".cargo", kPackages, ".cargo/config.toml"},
    {"rust-toolchain", kPackages, ""},
    {"rust-toolchain.toml", kPackages, ""},
    {".bundle", kPackages, ".bundle/config"},
    {".gemrc", kPackages, ""},
    {".mvn", kPackages, ".mvn/jvm.config"},
    {".m2", kPackages, ".m2/settings.xml"},
    {"gradle/wrapper", kPackages, "gradle/wrapper/gradle-wrapper.jar"},
    {"gradle.properties", kPackages, ""},
    {"init.gradle*", kPackages, "init.gradle"},
    {".gradle", kPackages, ".gradle/x"},
    {".sbtopts", kPackages, ""},
    {".jvmopts", kPackages, ""},
    {".bazelrc", kPackages, ""},
    {".bazeliskrc", kPackages, ""},
    {".buckconfig", kPackages, ""},
    {"CMakeUserPresets.json", kPackages, ""},
    {".rvmrc", kPackages, ""},
    {"auth.json", kPackages, ""},
    {"NuGet.Config", kPackages, ""},
    {"Directory.Build.*", kPackages, "Directory.Build.props"},
    {".terraformrc", kPackages, ""},
    {"node_modules/.bin", kPath, "node_modules/.bin/tsc"},
    {".venv", kPath, ".venv/bin/activate"},
    {"venv/bin", kPath, "venv/bin/activate"},
    {"sitecustomize.py", kPython, ""},
    {"usercustomize.py", kPython, ""},
    {"*.pth", kPython, "x.pth"},
    {"pyvenv.cfg", kPython, ""},
    {".pythonrc*", kPython, ".pythonrc.py"},
    // CI.
    {".github/workflows", kCi, ".github/workflows/ci.yml"},
    {".github/actions", kCi, ".github/actions/x/action.yml"},
    {".gitea", kCi, ".gitea/workflows/ci.yml"},
    {".forgejo", kCi, ".forgejo/workflows/ci.yml"},
    {".gitlab-ci.yml", kCi, ""},
    {".gitlab", kCi, ".gitlab/ci.yml"},
    {".circleci", kCi, ".circleci/config.yml"},
    {".travis.yml", kCi, ""},
    {"azure-pipelines*.yml", kCi, "azure-pipelines.yml"},
    {"Jenkinsfile*", kCi, "Jenkinsfile"},
    {".drone.*", kCi, ".drone.yml"},
    {".woodpecker*", kCi, ".woodpecker.yml"},
    {"bitbucket-pipelines.yml", kCi, ""},
    {".buildkite", kCi, ".buildkite/pipeline.yml"},
    {"appveyor.yml", kCi, ""},
    {".appveyor.yml", kCi, ""},
    {"cloudbuild.yaml", kCi, ""},
    {"cloudbuild.json", kCi, ""},
    {".cirrus.yml", kCi, ""},
    {".semaphore", kCi, ".semaphore/semaphore.yml"},
    {".teamcity", kCi, ".teamcity/settings.kts"},
    {".builds", kCi, ".builds/x.yml"},
    {".build.yml", kCi, ""},
    {"netlify.toml", kCi, ""},
    {"vercel.json", kCi, ""},
    {"renovate.json*", kCi, "renovate.json"},
    // Shells, debuggers, desktop sessions, keys: where a home directory is mounted.
    {".bashrc", kShell, ""},
    {".bash_*", kShell, ".bash_profile"},
    {".profile", kShell, ""},
    {".zsh*", kShell, ".zshrc"},
    {".zprofile", kShell, ""},
    {".zlog*", kShell, ".zlogin"},
    {".oh-my-zsh", kShell, ".oh-my-zsh/custom/x.zsh"},
    {".config/fish", kShell, ".config/fish/config.fish"},
    {".cshrc", kShell, ""},
    {".tcshrc", kShell, ""},
    {".kshrc", kShell, ""},
    {".login", kShell, ""},
    {".inputrc", kShell, ""},
    {".tmux.conf", kShell, ""},
    {".screenrc", kShell, ""},
    {".gdbinit", kDebugger, ""},
    {".lldbinit*", kDebugger, ".lldbinit"},
    {".psqlrc", kDebugger, ""},
    {".sqliterc", kDebugger, ""},
    {".irbrc", kDebugger, ""},
    {".pryrc", kDebugger, ""},
    {".Rprofile", kDebugger, ""},
    {".Renviron", kDebugger, ""},
    {".perldb", kDebugger, ""},
    {".jshellrc", kDebugger, ""},
    {".vagrant", kDebugger, ".vagrant/x"},
    {"*.desktop", kSession, "x.desktop"},
    {".config/autostart", kSession, ".config/autostart/x.desktop"},
    {".config/systemd", kSession, ".config/systemd/user/x.service"},
    {".local/share/systemd", kSession, ".local/share/systemd/user/x.service"},
    {".xprofile", kSession, ""},
    {".xsession*", kSession, ".xsession"},
    {".xinitrc", kSession, ""},
    {".pam_environment", kSession, ""},
    {".config/environment.d", kSession, ".config/environment.d/x.conf"},
    {"Library/LaunchAgents", kSession, "Library/LaunchAgents/x.plist"},
    {".local/bin", kPath, ".local/bin/git"},
    {".ssh", kKeys, ".ssh/config"},
    {".gnupg", kKeys, ".gnupg/gpg-agent.conf"},
    {".netrc", kKeys, ""},
    {".git-credentials", kKeys, ""},
    {".aws", kKeys, ".aws/config"},
    {".azure", kKeys, ".azure/config"},
    {".config/gcloud", kKeys, ".config/gcloud/properties"},
    {".kube", kKeys, ".kube/config"},
    {".docker", kKeys, ".docker/config.json"},
    {".config/gh", kKeys, ".config/gh/hosts.yml"},
    {".vault-token", kKeys, ""},
    {"crontab", "cron runs what it names", ""},
};

// In a repository everything is marked but this: data that git neither runs nor takes paths from.
constexpr std::string_view kRepositoryData[] = {
    "objects",        "refs",
    "logs",           "packed-refs",
    "COMMIT_EDITMSG", "ORIG_HEAD",
    "FETCH_HEAD",     "MERGE_HEAD",
    "MERGE_MSG",      "MERGE_MODE",
    "SQUASH_MSG",     "AUTO_MERGE",
    "description",    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",    "info/exclude",
    "TAG_EDITMSG",    "shallow",
    "info/refs",      "index",
    "HEAD",           "objects/info/commit-graph",
};
// Of that, by exception.
constexpr std::string_view kRepositoryMeaning[] = {"objects/info/alternates",
                                                   "objects/info/http-alternates"};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

Parts Split(std::string_view path) {
  Parts parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The components of `pattern` one after another somewhere in `path`, both in lower case.
bool Contains(const Parts& path, const Parts& pattern) {
  for (size_t i = 0; i + pattern.size() <= path.size(); ++i) {
    size_t same = 0;
    while (same < pattern.size() && pattern::NameMatches(path[i + same], pattern[same])) ++same;
    if (same == pattern.size()) return true;
  }
  return false;
}

struct Pattern {
  std::string text;  // in lower case
  Parts parts;
  std::string_view reason;
};

const std::vector<Pattern>& Patterns() {
  static const std::vector<Pattern> patterns = [] {
    std::vector<Pattern> out(std::size(kTable));
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].text = Lowered(kTable[i].pattern);
      out[i].parts = Split(out[i].text);
      out[i].reason = kTable[i].reason;
    }
    return out;
  }();
  return patterns;
}

// Names that file systems or git may take for ".git": other case, and what HFS+ and NTFS leave out.
bool IsGitName(std::string_view name) {
  std::string plain;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    // U+200C to U+200F, U+202A to U+202E, U+206A to U+206F, U+FEFF: HFS+ ignores them.
    if ((byte == 0xe2 || byte == 0xef) && i + 2 < name.size()) {
      i += 2;
    } else if (byte < 0x80) {
      plain.push_back(Lower(name[i]));
    } else {
      return false;
    }
  }
  while (!plain.empty() && (plain.back() == '.' || plain.back() == ' ')) plain.pop_back();
  const std::string base = plain.substr(0, plain.find(':'));
  return base == ".git" || base == "git~1";
}

bool LeadsOut(std::string_view path, std::string_view target) {
  if (target.empty() || target[0] == '/') return true;
  long depth = static_cast<long>(std::count(path.begin(), path.end(), '/'));
  for (const std::string_view part : Split(target)) {
    if (part == "..") --depth;
    if (depth < 0) return true;
    if (part != ".." && part != "." && !part.empty()) ++depth;
  }
  return false;
}

std::string MarkOfKind(const Seen& seen) {
  switch (seen.mode & S_IFMT) {
    case S_IFLNK:
      return LeadsOut(seen.path, seen.link_target) ? "a link that leads out of the directory" : "";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    case S_IFSOCK:
      return "a socket, at which a process of the cell may listen";
    case S_IFIFO:
      return "a named pipe: a program that opens it waits for a process of the cell";
    default:
      break;
  }
  if ((seen.mode & (S_ISUID | S_ISGID)) != 0)
    return "it runs with the rights of its owner or group";
  return "";
}

bool IsBelow(std::string_view path, std::string_view directory) {
  return path.substr(0, directory.size()) == directory &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Where a path is in a repository called .git, or nothing: npos.
size_t BelowGit(const Parts& parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (IsGitName(parts[i])) return i + 1;
  }
  return std::string_view::npos;
}

std::string JoinFrom(const Parts& parts, size_t first) {
  std::string out;
  for (size_t i = first; i < parts.size(); ++i) {
    if (!out.empty()) out += '/';
    out += parts[i];
  }
  return out;
}

bool IsObjectName(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string MarkOfHead(std::string_view content) {
  while (!content.empty() && content.back() == '\n') content.remove_suffix(1);
  constexpr std::string_view kReference = "ref: refs/";
  const bool reference = content.substr(0, kReference.size()) == kReference &&
                         StaysInTree(content.substr(5)) &&
                         content.find('\n') == std::string_view::npos;
  return reference || IsObjectName(content) ? "" : "no HEAD that git writes";
}

bool Mentions(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// The value of a top-level key as it is written, roughly: from its name to the next key's line.
// Enough to tell whether it is the same as before.
std::string Section(std::string_view text, std::string_view key) {
  const std::string quoted = '"' + std::string(key) + '"';
  const size_t begin = text.find(quoted);
  if (begin == std::string_view::npos) return "";
  const size_t open = text.find_first_of("{[\"", begin + quoted.size());
  if (open == std::string_view::npos) return std::string(text.substr(begin));
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[') ++depth;
    if (text[i] == '}' || text[i] == ']') --depth;
    if (depth <= 0) return std::string(text.substr(begin, i - begin + 1));
  }
  return std::string(text.substr(begin));
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::span<const Row> Table() { return kTable; }

std::string MarkInRepository(std::string_view below) {
  // A repository of a submodule or a linked working tree inside another one.
  constexpr std::string_view kNested[] = {"modules/"};
  for (const std::string_view nested : kNested) {
    if (below.substr(0, nested.size()) != nested) continue;
    for (size_t slash = nested.size(); slash != std::string_view::npos;) {
      slash = below.find('/', slash);
      if (slash == std::string_view::npos) break;
      if (MarkInRepository(below.substr(++slash)).empty()) return "";
    }
  }
  for (const std::string_view meaning : kRepositoryMeaning) {
    if (IsBelow(below, meaning)) return "says where git takes objects from";
  }
  for (const std::string_view data : kRepositoryData) {
    if (IsBelow(below, data)) return "";
  }
  return "git runs or obeys it: hooks, configuration, or the state of an operation";
}

std::string MarkOf(const Seen& seen) {
  if (std::string mark = MarkOfKind(seen); !mark.empty()) return mark;
  const std::string lower = Lowered(seen.path);
  const Parts given = Split(seen.path);
  const size_t below = BelowGit(given);
  if (below == given.size() && !S_ISDIR(seen.mode)) {
    return "it leads git to a repository, or takes one away";
  }
  if (below < given.size()) {
    if (std::string mark = MarkInRepository(JoinFrom(given, below)); !mark.empty()) return mark;
    return "";
  }
  const Parts parts = Split(lower);
  for (const Pattern& row : Patterns()) {
    if (Contains(parts, row.parts)) return std::string(row.reason);
  }
  return "";
}

bool WantsContent(std::string_view path) {
  const std::string_view name = NameOf(path);
  return name == "HEAD" || name == "index" || name == "package.json" || name == "composer.json" ||
         name == "commondir" || name == "gitdir" || name.substr(0, 12) == "sharedindex.";
}

std::string MarkByContent(std::string_view path, std::string_view old_content,
                          std::string_view new_content) {
  const std::string_view name = NameOf(path);
  const Parts parts = Split(path);
  const size_t below = BelowGit(parts);
  const bool in_git = below < parts.size();  // not the directory itself
  // Of the repository itself, or of a submodule's; those of logs and remotes name commits.
  const bool own = in_git && (below + 1 == parts.size() || parts[below] == "modules");
  if (name == "HEAD") return own ? MarkOfHead(new_content) : "";
  if (in_git && (name == "index" || name.substr(0, 12) == "sharedindex.")) {
    const bool stays =
        IndexStaysInTree(new_content, kSha1Bytes) || IndexStaysInTree(new_content, kSha256Bytes);
    return stays ? "" : "an index whose paths lead out of the working tree or into .git";
  }
  if (!in_git && (name == "commondir" || name == "gitdir")) {
    return "it leads git to another repository";
  }
  if (name == "package.json" || name == "composer.json") {
    for (const std::string_view key :
         {"scripts", "bin", "workspaces", "packageManager", "pnpm", "config", "overrides",
          "resolutions", "simple-git-hooks", "husky", "lint-staged"}) {
      if (Section(old_content, key) == Section(new_content, key)) continue;
      // What only a new file says of its own is read with it; what runs by itself is marked.
      return "\"" + std::string(key) + "\" of " + std::string(name) +
             " changes: a package manager runs or obeys it";
    }
    if (Mentions(new_content, {"\"file:", "\"link:", "\"git+", "\"http:", "\"https:"}) &&
        Section(old_content, "dependencies") != Section(new_content, "dependencies")) {
      return "it takes packages from elsewhere than the registry";
    }
  }
  return "";
}

}  // namespace odyssey::marks
