#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_REPOSITORY_SEARCH_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_REPOSITORY_SEARCH_H_

// Looks for git repositories in a tree, nearest first, within bounds that do not grow with it. An
// earlier cell may have made what it sees: it follows no link, and reads names, types, and the HEAD
// of what looks like a repository.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::cell_guard {

// A thousand directories take a few milliseconds if the host has them in memory.
struct SearchBounds {
  size_t directories = 1024;  // that are looked at
  size_t entries = 16384;     // that are read
  size_t entries_of_one = 4096;
  size_t leaf_entries = 8192;  // that are read in directories without directories in them
  size_t depth = 16;
  size_t path_bytes = 1024;
  size_t repositories = 64;
};

enum class RepositoryKind {
  kDirectory,  // ".git", or a repository without a working tree
  kFile,       // a ".git" that leads to a repository elsewhere
  kLink        // a ".git" that is a symbolic link
};

struct FoundRepository {
  std::string path;  // relative to the tree; "" is the tree itself
  RepositoryKind kind = RepositoryKind::kDirectory;
  friend bool operator==(const FoundRepository&, const FoundRepository&) = default;
};

struct SearchResult {
  std::vector<FoundRepository> found;
  // Directories, relative to the tree, that the caller could not read, and that he could enter, or
  // open to himself.
  std::vector<std::string> closed;
  bool finished = true;  // no bound was reached
};

// An entry of a directory that a search reads; valid while it is told.
struct SeenEntry {
  int directory;
  const std::string& path;  // of the directory, relative to the tree
  std::string_view name;
  unsigned char type;  // DT_UNKNOWN or another of readdir(3)'s
  bool made_by_tools;  // in what tools fill: node_modules and its like
};
// False ends the search, as a bound does. An entry may be told twice. The first of a directory is
// ".", told before anything in it is read.
using OnEntry = std::function<bool(const SeenEntry&)>;

// With `on_entry` also those directories are read in which there can be no repository: to the bound
// of their entries, at which the search goes on without them, unfinished.
SearchResult FindRepositories(int tree, const SearchBounds& bounds = {},
                              const OnEntry& on_entry = nullptr);

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_REPOSITORY_SEARCH_H_
