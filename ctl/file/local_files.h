#ifndef ODYSSEY_CTL_FILE_LOCAL_FILES_H_
#define ODYSSEY_CTL_FILE_LOCAL_FILES_H_

// Files of this side that are put into a cell, and files of a cell that are written here. What
// comes out of a cell is not trusted: neither its names nor its sizes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/file/named_place.h"

namespace odyssey::ctl {

struct FileToPut {
  std::string path;                         // here, as it was given
  std::shared_ptr<const NamedPlace> place;  // null: stdin
  std::string name;                         // in the inbox or directory
};

struct FilesToPut {
  std::vector<FileToPut> files;
  std::vector<std::string> skipped;  // a warning each
};

// What a file is named in an inbox: as it was given, if that is a relative path without ".."; else
// the last component.
std::string InboxName(const std::string& path);

// Regular files; what is missing, a symbolic link or behind one that a cell could have made, a
// directory or anything else is skipped with a warning. INVALID_ARGUMENT if two have the same name.
Result<FilesToPut> ChooseFiles(const std::vector<std::string>& paths);

// A file here by its path, and what it is named below the directory that it is copied to.
struct ListedFile {
  std::string path, name;
};

struct ListedFiles {
  std::vector<ListedFile> files;
  std::vector<std::string> skipped;  // a warning each
};

// Files by their last component, and of a directory all that is below it, as DIRECTORY/…; "DIR/."
// is what is in DIR. Skips as ChooseFiles does, directories excepted. INVALID_ARGUMENT if two have
// the same name.
Result<ListedFiles> ListFiles(const std::vector<std::string>& paths);
// These as ChooseFiles would have them, with a descriptor each; what has changed since is skipped.
FilesToPut OpenListed(const ListedFile* first, const ListedFile* last);

// The file that was chosen, whatever its path leads to now.
Result<UniqueFd> OpenFileToPut(const FileToPut& file, uint32_t* mode);

// A directory here that files are written into: below it only, through no link, over nothing. Nor
// is it reached through a link that a cell could have made.
class Destination final {
 public:
  // Makes `path` if it is missing. FAILED_PRECONDITION: a link on the way, or it is no directory.
  static Result<Destination> Open(const std::string& path);
  // Nothing came: removes the directory again, if Open made it and it is empty.
  void Discard();

  // A new file and the directories on the way to it. INVALID_ARGUMENT for a path that leads out,
  // ALREADY_EXISTS if anything has its name. The mode is `mode` once it is finished.
  Status Begin(const std::string& path, uint32_t mode);
  Status Add(std::string_view bytes);
  Status Finish();
  // Removes what there is of the file.
  void Abandon();

 private:
  explicit Destination(UniqueFd root) : root_(std::move(root)) {}
  static Result<Destination> Make(const std::string& path, Walk walk);

  UniqueFd root_;
  UniqueFd made_in_;        // where it was made, if it was missing,
  std::string made_;        // and its name there
  UniqueFd parent_, file_;  // of the file under way
  std::string name_;
  uint32_t mode_ = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_LOCAL_FILES_H_
