// A DNS query is whatever a command sends to its cell's resolver: no crash, a bounded name, and an
// answer that is no longer than the question.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/cell_init/dns_query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  const auto refused = odyssey::cell_init::RefuseQuery(query);
  if (!refused) return 0;
  ODY_CHECK(refused->name.size() < 255);
  ODY_CHECK(refused->reply.size() <= size);
  ODY_CHECK(!odyssey::cell_init::RefuseQuery(refused->reply));
  return 0;
}
