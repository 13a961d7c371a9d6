#ifndef ODYSSEY_HTTP_CONSOLE_CONSOLE_FILES_H_
#define ODYSSEY_HTTP_CONSOLE_CONSOLE_FILES_H_

// The files of the web console, which the build writes into the program (make_files.py): what a
// browser gets is of the same build as the routes that it calls, and no path of the host is opened.

#include <string_view>

namespace odyssey::console {

struct File {
  std::string_view name;  // "app.js"
  std::string_view content_type;
  std::string_view bytes;
};

// Null: there is none of this name. Pure.
const File* FindFile(std::string_view name);

}  // namespace odyssey::console

#endif  // ODYSSEY_HTTP_CONSOLE_CONSOLE_FILES_H_
