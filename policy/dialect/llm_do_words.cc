#include "policy/dialect/llm_do_words.h"

#include <utility>

namespace odyssey::dialect::llm_do {

Result<std::vector<std::string>> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'';
    if (escapes && i + 1 == text.size()) {
      return InvalidArgument("nothing after `\\`");
    }
    if (escapes) {
      const char next = text[++i];
      if (quote == '"' && next != '"' && next != '\\') word += c;
      word += next;
      open = true;
    } else if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote != '\0') return InvalidArgument("a quote is not closed");
  if (open) words.push_back(std::move(word));
  return words;
}

}  // namespace odyssey::dialect::llm_do
