#include "supervisor/cell_init/kernel_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace odyssey::cell_init {

UniqueFd OpenTable(const char* path) { return UniqueFd(open(path, O_RDONLY | O_CLOEXEC)); }

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

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    const size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return words;
}

uint32_t NumberIn(std::string_view word) {
  uint32_t number = 0;
  (void)std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

// "sockets: used 7".
std::optional<uint32_t> SocketsUsed(int table) {
  std::optional<uint32_t> used;
  (void)ForEachLine(table, [&](const std::string& line) {
    const auto words = WordsOf(line);
    if (words.size() == 3 && words[1] == "used") used = NumberIn(words[2]);
    return false;
  });
  return used;
}

}  // namespace odyssey::cell_init
