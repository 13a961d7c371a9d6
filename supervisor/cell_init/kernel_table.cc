#include "supervisor/cell_init/kernel_table.h"

#include <unistd.h>

namespace odyssey::cell_init {

bool ForEachLine(int table, const std::function<bool(const std::string& line)>& visit) {
  if (lseek(table, 0, SEEK_SET) != 0) return false;
  std::string text;
  char piece[4096];
  for (ssize_t n; (n = read(table, piece, sizeof(piece))) != 0;) {
    if (n < 0) return false;
    text.append(piece, static_cast<size_t>(n));
    size_t line = 0;
    for (size_t end; (end = text.find('\n', line)) != std::string::npos; line = end + 1) {
      if (!visit(text.substr(line, end - line))) return true;
    }
    text.erase(0, line);
  }
  return true;
}

}  // namespace odyssey::cell_init
