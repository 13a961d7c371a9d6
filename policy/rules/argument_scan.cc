#include "policy/rules/argument_scan.h"

#include <algorithm>

#include "policy/rules/shell_split.h"

namespace odyssey::rules {
namespace {

class Scanner final {
 public:
  Scanner(const Program& program, const std::vector<std::string>& words, ScanOrder order)
      : program_(program), words_(words), order_(order) {}

  Arguments Scan() {
    size_t positionals = program_.positionals;
    while (at_ < words_.size()) {
      const std::string& word = words_[at_];
      if (word == "--") {
        ++at_;
        break;
      }
      if (IsOption(word)) {
        Option(word);
        continue;
      }
      if (order_ == ScanOrder::kStop && positionals-- == 0) break;
      Operand(word);
    }
    if (order_ == ScanOrder::kPermute) {
      for (; at_ < words_.size(); ++at_) out_.operands.push_back(at_);
    } else if (at_ > 0 && at_ <= words_.size() && words_[at_ - 1] == "--") {
      // Operands after "--" that are not the command yet.
      const size_t left =
          program_.positionals - std::min<size_t>(out_.operands.size(), program_.positionals);
      at_ = std::min(at_ + left, words_.size());
    }
    out_.rest = std::min(at_, words_.size());
    return std::move(out_);
  }

 private:
  bool IsOption(const std::string& word) const {
    KnownOption known;
    if (word == "-") return FindOption(program_, word, &known);
    return word.size() > 1 && word[0] == '-';
  }

  void Operand(const std::string& word) {
    if (Has(program_, kBareCluster) && at_ == 1) {
      ++at_;
      return BareCluster(word);
    }
    out_.operands.push_back(at_++);
  }

  void Option(const std::string& word) {
    ++at_;
    if (HasUnknown(word)) out_.unknown_option = true;
    const bool whole = word.substr(0, 2) == "--" || word == "-" || Has(program_, kWholeWords);
    if (!whole) return Cluster(word);
    const size_t equals = word.find('=');
    KnownOption known;
    const std::string name = word.substr(0, equals);
    if (!FindOption(program_, name, &known)) {
      out_.unknown_option = true;
      return;
    }
    if (equals != std::string::npos) return Found(known, name, word.substr(equals + 1));
    if (known.takes_value && known.role != 'e') return Found(known, name, NextWord());
    Found(known, name, "");
  }

  void Cluster(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      KnownOption known;
      const std::string name = std::string("-") + word[i];
      if (!FindOption(program_, name, &known)) {
        out_.unknown_option = true;
        continue;
      }
      if (!known.takes_value && !known.optional_value) {
        Found(known, name, "");
        continue;
      }
      std::string value = word.substr(i + 1);
      if (known.role == 'e') value.clear();
      if (value.empty() && known.takes_value && known.role != 'e') value = NextWord();
      return Found(known, name, value);
    }
  }

  // tar xf ARCHIVE: the values follow in the order of the letters.
  void BareCluster(const std::string& word) {
    for (const char c : word) {
      KnownOption known;
      const std::string name = std::string("-") + c;
      if (!FindOption(program_, name, &known)) continue;
      Found(known, name, known.takes_value ? NextWord() : "");
    }
  }

  std::string NextWord() { return at_ < words_.size() ? words_[at_++] : ""; }

  void Found(const KnownOption& known, const std::string& name, const std::string& value) {
    if (known.role == '\0') return;
    out_.options.push_back({known.role, name, value, at_});
    if (known.role != 'e') return;
    while (at_ < words_.size() && words_[at_] != ";" && words_[at_] != "+") ++at_;
    if (at_ < words_.size()) ++at_;
  }

  const Program& program_;
  const std::vector<std::string>& words_;
  const ScanOrder order_;
  size_t at_ = 1;
  Arguments out_;
};

}  // namespace

Arguments ScanArguments(const Program& program, const std::vector<std::string>& words,
                        ScanOrder order) {
  return Scanner(program, words, order).Scan();
}

}  // namespace odyssey::rules
