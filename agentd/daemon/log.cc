#include "agentd/daemon/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::daemon {
namespace {

constexpr char kJournalSocket[] = "/run/systemd/journal/socket";

bool IsKey(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '_' ? '_' : static_cast<char>(c - 'a' + 'A');
  return out;
}

// Whether stderr is the stream that systemd connected to the journal.
bool StderrIsTheJournal() {
  const char* const stream = getenv("JOURNAL_STREAM");  // "device:inode"
  struct stat info;
  if (stream == nullptr || fstat(STDERR_FILENO, &info) != 0) return false;
  return stream == std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

// The connected socket; -1: there is no journal.
int JournalSocket() {
  static const int fd = [] {
    UniqueFd made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, kJournalSocket, sizeof(kJournalSocket));
    const bool connected =
        made && StderrIsTheJournal() &&
        connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    return connected ? made.release() : -1;
  }();
  return fd;
}

}  // namespace

std::string JournalEntry(Priority priority, std::string_view line) {
  std::string out =
      "SYSLOG_IDENTIFIER=odyssey-agentd\nPRIORITY=" + std::to_string(static_cast<int>(priority)) +
      "\nMESSAGE=" + std::string(line) + "\n";
  while (!line.empty()) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) break;
    const size_t space = line.rfind(' ', equals);
    const std::string_view key =
        line.substr(space == std::string_view::npos ? 0 : space + 1,
                    equals - (space == std::string_view::npos ? 0 : space + 1));
    line.remove_prefix(equals + 1);
    const bool quoted = !line.empty() && line.front() == '"';
    if (quoted) line.remove_prefix(1);
    const size_t end = std::min(line.find(quoted ? '"' : ' '), line.size());
    if (IsKey(key)) out += "ODYSSEY_" + Upper(key) + "=" + std::string(line.substr(0, end)) + "\n";
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return out;
}

void Log(Priority priority, std::string_view fields) {
  std::string line;
  for (const char c : fields) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  if (const int journal = JournalSocket(); journal >= 0) {
    const std::string entry = JournalEntry(priority, line);
    if (send(journal, entry.data(), entry.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
  }
  // One write, so that lines of two threads do not mix. Nobody to tell if it fails.
  (void)WriteAll(STDERR_FILENO,
                 "<" + std::to_string(static_cast<int>(priority)) + ">agentd: " + line + "\n");
}

}  // namespace odyssey::daemon
