#include "supervisor/rpc/found_repositories.h"

#include <algorithm>
#include <string>

#include "common/base/utf8.h"
#include "policy/plan/plan_check.h"

namespace odyssey::supervisor {
namespace {

using cell::RepositoryState;

bool IsSearched(const std::string& path, const cell::Configure& confinement) {
  const auto& trees = confinement.searched;
  return std::any_of(trees.begin(), trees.end(),
                     [&](const std::string& tree) { return plan::IsWithin(path, tree); });
}

bool IsGuardOfPlan(const std::string& path, const cell::Configure& confinement) {
  const auto& guards = confinement.guards;
  return std::any_of(guards.begin(), guards.end(),
                     [&](const cell::Guard& guard) { return guard.path == path; });
}

// Of a repository, or where one lies. Else it is a protected name.
bool IsGit(std::string_view path) {
  constexpr std::string_view kGit = "/.git";
  return path.size() >= kGit.size() && path.substr(path.size() - kGit.size()) == kGit;
}

std::string Line(const cell::Repository& repository) {
  const std::string path = SanitizeUtf8(repository.path);
  switch (repository.state) {
    case RepositoryState::kGuarded:
      return path + ": guarded: a repository that was found when the cell started";
    case RepositoryState::kReadOnly:
      return path + ": read-only: " +
             (IsGit(path) ? "leads to a repository" : "programs of the host obey it") +
             ", found when the cell started";
    case RepositoryState::kUnguarded:
      return path +
             ": NOT guarded, for want of FUSE: what git obeys in it is read-only only where " +
             "it existed when the cell started, and sockets and named pipes in it can be reached";
    case RepositoryState::kOpen:
      return path + ": NOT protected: a symbolic link, or a file with another name";
    case RepositoryState::kUnfinished:
      return path +
             ": NOT searched as a whole, it is too large: of the repositories in it, and of the " +
             "names that programs of the host obey, those that are not named here are protected " +
             "only if `protect` names them; sockets and named pipes that are not named can be " +
             "reached";
    case RepositoryState::kCovered:
      return path +
             ": out of reach: a socket or named pipe of the host, or a directory that could not " +
             "be searched for them";
    case RepositoryState::kUnwatched:
      return path +
             ": NOT watched as a whole: sockets and pipes that the host makes in it while the cell "
             "lives can be reached";
  }
  return "";
}

}  // namespace

void ExplainRepository(const cell::Repository& repository, compile::Compiled* compiled) {
  cell::Configure& confinement = compiled->confinement;
  const bool known = IsGuardOfPlan(repository.path, confinement);
  if (!known && !IsSearched(repository.path, confinement)) return;
  const std::string line = Line(repository);
  auto& lines = compiled->explanation;
  if (std::count(lines.begin(), lines.end(), line) != 0) return;
  lines.push_back(line);
  switch (repository.state) {
    case RepositoryState::kCovered:
      compiled->covered.push_back(repository.path);
      return;
    case RepositoryState::kOpen:
    case RepositoryState::kUnfinished:
    case RepositoryState::kUnwatched:
      return;
    case RepositoryState::kReadOnly:
      if (IsGit(repository.path)) break;
      compiled->kept_names.push_back(repository.path);
      return;
    case RepositoryState::kGuarded:
    case RepositoryState::kUnguarded:
      break;
  }
  if (!known) confinement.guards.push_back({.path = repository.path, .git = {""}});
}

void NoteSince(const cell::Repository& repository, const compile::Compiled& compiled,
               std::vector<cell::Repository>* since) {
  const bool is_news = repository.state == RepositoryState::kCovered ||
                       repository.state == RepositoryState::kUnwatched;
  if (!is_news || !IsSearched(repository.path, compiled.confinement)) return;
  if (std::count(since->begin(), since->end(), repository) != 0) return;
  if (since->size() == kMaxSaidSince) {
    const auto is_covered = [](const auto& each) {
      return each.state == RepositoryState::kCovered;
    };
    const auto oldest = std::find_if(since->begin(), since->end(), is_covered);
    if (oldest == since->end()) return;
    since->erase(oldest);
  }
  since->push_back(repository);
}

std::vector<std::string> ExplanationWith(const std::vector<cell::Repository>& since,
                                         const compile::Compiled& compiled) {
  std::vector<std::string> lines = compiled.explanation;
  for (const cell::Repository& each : since) {
    std::string line = Line(each);
    if (std::count(lines.begin(), lines.end(), line) == 0) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> CoveredIn(const std::vector<cell::Repository>& since) {
  std::vector<std::string> paths;
  for (const cell::Repository& each : since) {
    if (each.state == RepositoryState::kCovered) paths.push_back(each.path);
  }
  return paths;
}

}  // namespace odyssey::supervisor
