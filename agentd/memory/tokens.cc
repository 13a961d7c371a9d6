#include "agentd/memory/tokens.h"

#include <algorithm>
#include <cmath>

namespace odyssey::memory {
namespace {

constexpr uint64_t kSixths = 6;  // of a token
constexpr uint64_t kLetter = 2;
constexpr uint64_t kOther = 6;
constexpr uint64_t kByte = 3;

constexpr uint32_t kLeastPermille = 250;
constexpr uint32_t kMostPermille = 4000;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

uint64_t EstimateTokens(std::string_view text) {
  uint64_t sixths = 0;
  size_t run = 0;  // of letters and digits
  for (const char c : text) {
    const bool letter = IsLetter(c);
    run = letter || (c >= '0' && c <= '9') ? run + 1 : 0;
    if (static_cast<unsigned char>(c) >= 0x80) {
      sixths += kByte;
    } else if ((letter && run <= kLongestWord) || IsSpace(c)) {
      sixths += kLetter;
    } else {
      sixths += kOther;
    }
  }
  return (sixths + kSixths - 1) / kSixths;
}

uint64_t EstimateTokens(const model::Message& message) {
  uint64_t tokens = kTokensOfEnvelope + EstimateTokens(message.content);
  for (const model::ToolUse& tool : message.tools) {
    tokens += kTokensOfEnvelope + EstimateTokens(tool.name) + EstimateTokens(tool.json);
  }
  return tokens;
}

uint64_t EstimateTokens(const std::vector<model::Message>& messages) {
  uint64_t tokens = 0;
  for (const model::Message& message : messages) tokens += EstimateTokens(message);
  return tokens;
}

uint64_t EstimateTokens(const model::ModelRequest& request) {
  uint64_t tokens = EstimateTokens(request.system) + EstimateTokens(request.earlier) +
                    EstimateTokens(request.messages);
  for (const model::ToolSpec& tool : request.tools) {
    tokens += kTokensOfEnvelope + EstimateTokens(tool.name) + EstimateTokens(tool.description) +
              EstimateTokens(tool.parameters_json);
  }
  // Of the latest turn alone, from the end: a replay of an earlier one is not sent.
  for (auto message = request.messages.rbegin(); message != request.messages.rend(); ++message) {
    if (message->kind == model::MessageKind::kUser) break;
    tokens += EstimateTokens(message->replay);
  }
  return tokens;
}

TokenScale::TokenScale(uint64_t reported, uint64_t estimated) {
  if (reported == 0 || estimated == 0) return;
  // As a floating-point number: a provider may report any.
  const double permille = static_cast<double>(reported) * 1000 / static_cast<double>(estimated);
  permille_ = static_cast<uint32_t>(
      std::clamp(std::ceil(permille), double{kLeastPermille}, double{kMostPermille}));
}

uint64_t TokenScale::Correct(uint64_t estimated) const {
  return (estimated * permille_ + 999) / 1000;
}

}  // namespace odyssey::memory
