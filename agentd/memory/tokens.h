#ifndef ODYSSEY_AGENTD_MEMORY_TOKENS_H_
#define ODYSSEY_AGENTD_MEMORY_TOKENS_H_

// How many tokens a text has, estimated without the model's tokenizer. Errs high, so that what is
// bounded by it fits: for prose, code, JSON, digits, base64 and the scripts of Asia alike. Pure.
//
// A token of today's models is 4 to 5 letters of English prose, 1 to 3 digits, a few characters of
// punctuation, and 1 to 2 of Chinese, Japanese or Korean, which have 3 bytes each in UTF-8. Counted
// are: a third of a token for a letter or white space, one for each other ASCII character and for
// each letter of a run longer than a word, half of one for each byte that is not ASCII.

#include <cstdint>
#include <string_view>
#include <vector>

#include "agentd/model/chat.h"
#include "agentd/model/model_client.h"

namespace odyssey::memory {

inline constexpr size_t kLongestWord = 20;        // letters
inline constexpr uint64_t kTokensOfEnvelope = 8;  // role and marks, of a message and of a call

uint64_t EstimateTokens(std::string_view text);
uint64_t EstimateTokens(const model::Message& message);
uint64_t EstimateTokens(const std::vector<model::Message>& messages);
// Of the whole request: system prompt, tools and messages.
uint64_t EstimateTokens(const model::ModelRequest& request);

// What a provider reported of an earlier request, over the estimate of it, corrects the next ones.
class TokenScale final {
 public:
  TokenScale() = default;  // no correction
  // Bounded to a quarter and four times: a provider may report anything. 0 of either: none.
  TokenScale(uint64_t reported, uint64_t estimated);
  explicit TokenScale(uint32_t permille) : TokenScale(permille, 1000) {}

  uint64_t Correct(uint64_t estimated) const;  // rounds up
  uint32_t permille() const { return permille_; }

 private:
  uint32_t permille_ = 1000;
};

}  // namespace odyssey::memory

#endif  // ODYSSEY_AGENTD_MEMORY_TOKENS_H_
