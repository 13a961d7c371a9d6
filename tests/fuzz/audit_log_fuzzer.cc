// odyssey-ctl checks logs that somebody may have changed, and rpc reads the end of its own after a
// crash: whatever the lines are, no crash; and what is called a record is one, byte for byte.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/audit/chain.h"
#include "common/audit/record.h"
#include "common/base/status.h"

namespace audit = odyssey::audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)audit::ParsePosition(bytes);
  audit::Chain chain(audit::Position{}, audit::ParseHead(bytes));
  chain.BeginFile("fuzz", 1);
  std::string_view rest = bytes;
  uint64_t records = 0;
  for (size_t newline; (newline = rest.find('\n')) != std::string_view::npos;) {
    const std::string_view line = rest.substr(0, newline);
    const auto parsed = audit::ParseLine(line);
    if (parsed.ok()) {
      ++records;
      ODY_CHECK(parsed->hash.size() == audit::kHashDigits && audit::IsTypeName(parsed->type));
      (void)audit::HashMatches(line);
    }
    chain.Add(line);
    rest.remove_prefix(newline + 1);
  }
  chain.Unfinished(rest.size());
  chain.Finish();
  ODY_CHECK(chain.records() == records);

  // And what is written from any text reads back.
  audit::Position position;
  const std::string line = audit::EncodeLine(
      audit::Record("exec").Text("text", bytes).Texts("argv", {std::string(bytes)}), {}, &position);
  const auto parsed = audit::ParseLine(line);
  ODY_CHECK(parsed.ok() && parsed->seq == 1 && audit::HashMatches(line));
  ODY_CHECK(line.find('\n') == std::string::npos);
  return 0;
}
