// Answers of models are whatever a server sends: no crash, and the usage and what the client
// receives do not depend on how the answer is cut into pieces. Nothing is added to it, and but for
// events that have usage alone nothing is left out.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/egress/inference/usage.h"

using odyssey::egress::inference::AnswerForm;
using odyssey::egress::inference::UsageReader;

namespace {

struct Read {
  std::string out;
  std::optional<odyssey::egress::inference::Usage> usage;
  friend bool operator==(const Read&, const Read&) = default;
};

Read InPieces(AnswerForm form, bool hides, std::string_view input, size_t size) {
  UsageReader reader(form, hides);
  Read read;
  for (size_t at = 0; at < input.size(); at += size) {
    reader.Push(input.substr(at, size), &read.out);
  }
  reader.Finish(&read.out);
  read.usage = reader.usage();
  return read;
}

bool IsWithin(std::string_view part, std::string_view whole) {
  size_t at = 0;
  for (const char c : whole) at += at < part.size() && part[at] == c ? 1 : 0;
  return at == part.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const AnswerForm form : {AnswerForm::kWhole, AnswerForm::kEvents}) {
    for (const bool hides : {false, true}) {
      const Read whole = InPieces(form, hides, input, std::max<size_t>(size, 1));
      ODY_CHECK(whole == InPieces(form, hides, input, 1));
      ODY_CHECK(whole == InPieces(form, hides, input, 5));
      ODY_CHECK(IsWithin(whole.out, input));
      if (!hides || form == AnswerForm::kWhole) ODY_CHECK(whole.out == input);
    }
  }
  return 0;
}
