// The grant file decides whom the host is given to. Whatever is in it: no crash, a bounded list of
// words that are a user's name or uid, never root's; and an error says none of its bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/host_runner/grants.h"

namespace {

namespace host = odyssey::host_runner;

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

void CheckWord(const std::string& word) {
  ODY_CHECK(!word.empty() && word.size() <= host::kMaxNameBytes && word != "root" &&
            word[0] != '0');
  ODY_CHECK(std::all_of(word.begin(), word.end(), IsPrintable));
  ODY_CHECK(word.find_first_of(" \t#*,:/") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grants = host::ParseGrants(text);
  if (!grants.ok()) {
    const std::string& message = grants.status().message();
    ODY_CHECK(!message.empty() && std::all_of(message.begin(), message.end(), IsPrintable));
    return 0;
  }
  ODY_CHECK(size <= host::kMaxGrantBytes && grants->size() <= host::kMaxGrants);
  std::string again;
  for (const std::string& word : *grants) {
    CheckWord(word);
    again += word + "\n";
  }
  ODY_CHECK(*host::ParseGrants(again) == *grants);
  ODY_CHECK(!host::Names(*grants, {.uid = 0, .gid = 0, .name = "root"}));
  return 0;
}
