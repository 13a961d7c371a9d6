#ifndef ODYSSEY_POLICY_EXECUTABLES_CLOSURE_H_
#define ODYSSEY_POLICY_EXECUTABLES_CLOSURE_H_

// Everything that running some programs makes the kernel and the dynamic loader open, worked out by
// reading, without running anything.

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/compile/found_executables.h"
#include "policy/executables/companions.h"
#include "policy/executables/host_tree.h"
#include "policy/executables/library_search.h"

namespace odyssey::executables {

// Beyond these the policy names a whole system, or a tree made to be walked.
inline constexpr size_t kMaxFiles = 4096;
inline constexpr size_t kMaxDirectories = 1024;

// Where a name without a slash is looked for, in this order. The same as the PATH of commands.
inline constexpr const char* kSearchPath[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                              "/usr/bin",        "/sbin",          "/bin"};

// The file that a name stands for, canonical; "" if there is none in the system's trees.
std::string FindProgram(const HostTree& tree, const std::string& name);

class Closure final {
 public:
  // Borrowed.
  Closure(const HostTree* tree, LibrarySearch* libraries) : tree_(tree), libraries_(libraries) {}

  // A name, or an absolute path of a file or directory, with all that it needs. NOT_FOUND "missing
  // system tool: NAME"; FAILED_PRECONDITION if it cannot be run, or lies outside the system's
  // trees.
  Status Add(const std::string& entry);

  // By path; what a directory covers is left out.
  std::vector<compile::Executable> Files() const;
  std::vector<std::string> Notes() const { return {notes_.begin(), notes_.end()}; }
  // What was resolved, and to what.
  const std::map<std::string, std::string>& resolved() const { return resolved_; }
  // Of the directories that were walked, those that hold programs or libraries and those on the way
  // there: what is added to a tree is seen in one of them.
  const std::set<std::string>& watched() const { return watched_; }

 private:
  struct Wanted {
    std::string path;
    bool run = false;
    std::vector<std::string> inherited;  // DT_RPATH of those that load it
  };

  Result<std::string> Resolve(const std::string& path);
  Result<std::string> Search(const std::string& name);
  Status AddNamed(const std::string& entry, const std::string& canonical);
  void Want(const std::string& path, bool run, const std::string& why,
            std::vector<std::string> inherited = {});
  Status DrainQueue();
  Status ReadOne(const Wanted& wanted);
  void TakeElf(const Wanted& wanted, const elf::Image& image);
  Status TakeScript(const std::string& path, const elf::Image& image);
  Status TakeInterpreter(const std::string& path, const std::string& interpreter);
  void TakeCompanions(const std::string& path);
  void TakeCompanion(const std::string& path, const Companion& companion);
  Status Walk(const std::string& directory, bool run);
  Status WalkOne(const std::string& top, const std::string& at, bool run,
                 std::vector<std::string>* below);
  bool TakeMember(const std::string& path, bool run);
  void Watch(const std::string& top, std::string at);
  void Note(const std::string& line) { notes_.insert(line); }

  const HostTree* const tree_;
  LibrarySearch* const libraries_;
  std::map<std::string, compile::Executable> found_;  // by path
  std::deque<Wanted> queue_;
  std::set<std::string> notes_;
  std::map<std::string, std::string> resolved_;
  std::set<std::string> walked_;  // as a whole
  std::set<std::string> watched_;
  size_t files_read_ = 0;
  size_t directories_read_ = 0;
};

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_CLOSURE_H_
