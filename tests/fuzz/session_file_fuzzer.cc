// Reads any bytes as a session file of the original Odyssey. What is accepted is written and read
// again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agentd/session_file/session_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace session_file = odyssey::session_file;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const odyssey::Result<session_file::SessionFile> file = session_file::DecodeSessionFile(text);
  if (!file.ok()) return 0;
  for (const session_file::FileTurn& turn : file->turns) {
    ODY_CHECK(!turn.history.empty());
    ODY_CHECK(turn.history.front().kind == odyssey::model::MessageKind::kUser);
  }
  const odyssey::Result<session_file::SessionFile> again =
      session_file::DecodeSessionFile(session_file::EncodeSessionFile(*file));
  ODY_CHECK(again.ok() && *again == *file);
  return 0;
}
