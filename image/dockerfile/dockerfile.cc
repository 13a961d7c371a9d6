#include "image/dockerfile/dockerfile.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/utf8.h"
#include "image/dockerfile/word.h"

namespace odyssey::dockerfile {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownBytes = 120;

struct Keyword {
  Kind kind;
  std::string_view name;
};
constexpr Keyword kKeywords[] = {{Kind::kAdd, "ADD"},
                                 {Kind::kArg, "ARG"},
                                 {Kind::kCmd, "CMD"},
                                 {Kind::kCopy, "COPY"},
                                 {Kind::kEntrypoint, "ENTRYPOINT"},
                                 {Kind::kEnv, "ENV"},
                                 {Kind::kExpose, "EXPOSE"},
                                 {Kind::kLabel, "LABEL"},
                                 {Kind::kMaintainer, "MAINTAINER"},
                                 {Kind::kRun, "RUN"},
                                 {Kind::kShell, "SHELL"},
                                 {Kind::kStopSignal, "STOPSIGNAL"},
                                 {Kind::kUser, "USER"},
                                 {Kind::kVolume, "VOLUME"},
                                 {Kind::kWorkdir, "WORKDIR"}};

// Docker's, of which no image of ours could have the meaning.
constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
    {"HEALTHCHECK", "is not supported: nothing checks a cell's health"},
    {"ONBUILD", "is not supported: write the instruction where it is used"}};

std::string Shown(const std::string& keyword, const std::string& rest) {
  std::string text = keyword + (rest.empty() ? "" : " ") + rest;
  if (text.size() <= kShownBytes) return text;
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// Fails if one is no string; nothing if it is no JSON array at all, which makes it the shell form.
std::optional<Json> JsonArray(const std::string& text) {
  if (!text.starts_with('[')) return std::nullopt;
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return std::nullopt;
  return json;
}

bool IsStageName(std::string_view name) {
  return !name.empty() && islower(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return islower(static_cast<unsigned char>(c)) != 0 ||
                  isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
         });
}

std::string Small(std::string text) {
  for (char& c : text) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return text;
}

bool IsOctalMode(const std::string& text) {
  return text.size() >= 3 && text.size() <= 4 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
}

// Of one line: reads it into an instruction, or says why not.
class InstructionReader final {
 public:
  InstructionReader(const LogicalLine& line, char escape, Problems* problems)
      : line_(line), escape_(escape), problems_(problems), rest_(line.rest) {}

  // True if there was no problem.
  bool Read(Kind kind, Instruction* out) {
    const size_t before = problems_->size();
    out->kind = kind;
    out->line = line_.line;
    out->text = Shown(line_.keyword, line_.rest);
    out->heredocs = line_.heredocs;
    TakeFlags(kind, out);
    if (rest_.empty() && kind != Kind::kCmd && kind != Kind::kEntrypoint) {
      Refuse("nothing follows it");
    } else {
      ReadRest(kind, out);
    }
    return problems_->size() == before;
  }

  bool ReadFrom(Stage* out) {
    const size_t before = problems_->size();
    out->line = line_.line;
    out->text = Shown(line_.keyword, line_.rest);
    std::vector<std::string> words = SplitWords(rest_, escape_);
    while (!words.empty() && words.front().starts_with("--")) {
      const std::string& flag = words.front();
      if (flag.starts_with("--platform=")) {
        out->platform = flag.substr(flag.find('=') + 1);
        Check(out->platform);
      } else {
        Refuse(flag.substr(0, flag.find('=')) + ": is not known; --platform is");
      }
      words.erase(words.begin());
    }
    if (words.size() != 1 && (words.size() != 3 || Small(words[1]) != "as")) {
      Refuse("expected IMAGE [AS NAME]");
      return false;
    }
    out->base = words[0];
    Check(out->base);
    if (words.size() == 3) {
      out->name = Small(words[2]);
      if (!IsStageName(out->name)) {
        Refuse("AS " + words[2] +
               ": a name is a letter, and letters, digits, dashes, underscores and dots");
      }
    }
    return problems_->size() == before;
  }

 private:
  void Refuse(const std::string& why) {
    problems_->push_back({line_.line, line_.keyword + ": " + why});
  }

  void Check(const std::string& word) {
    if (const Status status = CheckWord(word, escape_); !status.ok()) {
      Refuse(word + ": " + status.message());
    }
  }

  // Those at the beginning. Another one than those of COPY and ADD would change what is made.
  void TakeFlags(Kind kind, Instruction* out) {
    const bool takes_any = kind == Kind::kRun || kind == Kind::kCopy || kind == Kind::kAdd;
    if (!takes_any) return;
    while (rest_.starts_with("--")) {
      const size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
      const std::string flag = rest_.substr(0, end);
      rest_.erase(0, rest_.find_first_not_of(" \t", end));
      const size_t equals = std::min(flag.find('='), flag.size());
      const std::string name = flag.substr(2, equals - 2);
      const std::string value = equals < flag.size() ? flag.substr(equals + 1) : "";
      if (kind == Kind::kRun) {
        Refuse("--" + name + ": no option of RUN is supported");
        continue;
      }
      const bool known =
          name == "chown" || name == "chmod" || (name == "from" && kind == Kind::kCopy);
      if (!known) {
        Refuse(
            "--" + name + ": is not supported; " +
            (kind == Kind::kCopy ? "--from, --chown and --chmod are" : "--chown and --chmod are"));
      } else if (value.empty()) {
        Refuse("--" + name + ": expected --" + name + "=VALUE");
      } else if (!out->flags.emplace(name, value).second) {
        Refuse("--" + name + ": is said twice");
      } else {
        Check(value);
        const bool literal = value.find('$') == std::string::npos;
        if (name == "from" && !literal) Refuse("--from=" + value + ": variables are not replaced");
        if (name == "chmod" && literal && !IsOctalMode(value)) {
          Refuse("--chmod=" + value + ": expected three or four octal digits");
        }
      }
    }
  }

  void ReadRest(Kind kind, Instruction* out) {
    switch (kind) {
      case Kind::kRun:
      case Kind::kCmd:
      case Kind::kEntrypoint:
        return ReadCommand(kind, out);
      case Kind::kShell:
        if (!TakeJson(out)) Refuse("expected a JSON array, [\"PROGRAM\", \"ARGUMENT\"]");
        if (out->json && out->words.empty()) Refuse("the array is empty");
        return;
      case Kind::kEnv:
      case Kind::kLabel:
        return ReadPairs(out);
      case Kind::kArg:
        return ReadArguments(out);
      case Kind::kCopy:
      case Kind::kAdd:
        return ReadCopy(kind, out);
      case Kind::kVolume:
        if (TakeJson(out)) {
          if (out->words.empty()) Refuse("the array is empty");
          return;
        }
        return ReadWords(out);
      case Kind::kExpose:
        return ReadWords(out);
      case Kind::kUser:
      case Kind::kStopSignal:
        if (SplitWords(rest_, escape_).size() != 1) Refuse("expected one word");
        [[fallthrough]];
      case Kind::kWorkdir:
      case Kind::kMaintainer:
        out->words = {rest_};
        if (kind != Kind::kMaintainer) Check(rest_);
        return;
    }
  }

  // False: it is no JSON array.
  bool TakeJson(Instruction* out) {
    const std::optional<Json> json = JsonArray(rest_);
    if (!json) return false;
    out->json = true;
    for (const Json& item : *json) {
      if (!item.is_string()) {
        Refuse("expected strings in the JSON array");
        return true;
      }
      out->words.push_back(item.get<std::string>());
      if (out->words.back().find('\0') != std::string::npos) Refuse("a string has a NUL");
    }
    return true;
  }

  void ReadWords(Instruction* out) {
    out->words = SplitWords(rest_, escape_);
    for (const std::string& word : out->words) Check(word);
  }

  void ReadCommand(Kind kind, Instruction* out) {
    if (TakeJson(out)) {
      if (kind == Kind::kRun && out->words.empty()) Refuse("the array is empty");
      return;
    }
    if (rest_.empty()) return Refuse("nothing follows it");
    out->words = {rest_};
    const bool script = out->heredocs.size() == 1 && rest_ == out->heredocs[0].written;
    if (script && out->heredocs[0].content.starts_with("#!")) {
      Refuse("a here-document that begins with #! is not supported; write RUN PROGRAM <<EOF");
    }
  }

  void AddPair(const std::string& name, const std::string& value, Instruction* out) {
    Check(name);
    Check(value);
    out->pairs.emplace_back(name, value);
  }

  void ReadPairs(Instruction* out) {
    const std::vector<std::string> words = SplitWords(rest_, escape_);
    const bool legacy = words[0].find('=') == std::string::npos;
    if (legacy) {
      const size_t end = rest_.find_first_of(" \t");
      const size_t value = rest_.find_first_not_of(" \t", end);
      if (end == std::string::npos || value == std::string::npos) {
        return Refuse(words[0] + ": expected NAME=VALUE");
      }
      AddPair(rest_.substr(0, end), rest_.substr(value), out);
    } else {
      for (const std::string& word : words) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0) {
          Refuse(word + ": expected NAME=VALUE");
        } else {
          AddPair(word.substr(0, equals), word.substr(equals + 1), out);
        }
      }
    }
    if (out->kind != Kind::kEnv) return;
    for (const auto& [name, value] : out->pairs) {
      if (name.find('\0') != std::string::npos || value->find('\0') != std::string::npos) {
        Refuse("has a NUL");
      }
    }
  }

  void ReadArguments(Instruction* out) {
    for (const std::string& word : SplitWords(rest_, escape_)) {
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (!IsVariableName(name)) {
        Refuse(word + ": expected NAME or NAME=VALUE");
      } else if (equals == std::string::npos) {
        out->pairs.emplace_back(name, std::nullopt);
      } else {
        Check(word.substr(equals + 1));
        out->pairs.emplace_back(name, word.substr(equals + 1));
      }
    }
  }

  void ReadCopy(Kind kind, Instruction* out) {
    if (!TakeJson(out)) ReadWords(out);
    if (out->words.size() < 2) return Refuse("expected a source and a destination");
    if (!out->heredocs.empty() && out->flags.count("from") != 0) {
      Refuse("--from: a here-document is no file of an image");
    }
    if (kind == Kind::kCopy) return;
    for (size_t i = 0; i + 1 < out->words.size(); ++i) {
      const std::string& source = out->words[i];
      const bool remote = source.find("://") != std::string::npos || source.starts_with("git@");
      if (remote) {
        Refuse(source + ": nothing is fetched; get it by RUN, with a network that reaches it");
      }
    }
  }

  const LogicalLine& line_;
  const char escape_;
  Problems* const problems_;
  std::string rest_;
};

const Keyword* FindKeyword(const std::string& name) {
  for (const Keyword& keyword : kKeywords) {
    if (keyword.name == name) return &keyword;
  }
  return nullptr;
}

void RefuseKeyword(const LogicalLine& line, Problems* problems) {
  for (const auto& [name, why] : kRefused) {
    if (line.keyword != name) continue;
    problems->push_back({line.line, line.keyword + ": " + std::string(why)});
    return;
  }
  problems->push_back({line.line, Shown(line.keyword, "") + ": is no instruction"});
}

}  // namespace

std::string_view KeywordOf(Kind kind) {
  for (const Keyword& keyword : kKeywords) {
    if (keyword.kind == kind) return keyword.name;
  }
  return {};
}

Dockerfile ParseDockerfile(std::string_view text, Problems* problems) {
  Dockerfile out;
  if (text.size() > kMaxDockerfileBytes) {
    problems->push_back({1, "has more than " + std::to_string(kMaxDockerfileBytes) + " bytes"});
    return out;
  }
  // Its texts become those of a configuration, which is JSON.
  for (size_t begin = 0, line = 1; begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (!IsValidUtf8(text.substr(begin, end - begin))) {
      problems->push_back({static_cast<int>(line), "is not UTF-8"});
    }
    begin = end + 1;
  }
  if (!problems->empty()) return out;
  const LogicalLines lines = SplitLogicalLines(text, problems);
  out.escape = lines.escape;
  std::set<std::string> names;
  for (const LogicalLine& line : lines.lines) {
    InstructionReader reader(line, out.escape, problems);
    if (line.keyword == "FROM") {
      Stage stage;
      reader.ReadFrom(&stage);
      if (!stage.name.empty() && !names.insert(stage.name).second) {
        problems->push_back({line.line, "FROM: AS " + stage.name + ": is the name of two stages"});
      }
      out.stages.push_back(std::move(stage));
      continue;
    }
    const Keyword* const keyword = FindKeyword(line.keyword);
    if (keyword == nullptr) {
      RefuseKeyword(line, problems);
      continue;
    }
    Instruction instruction;
    if (!reader.Read(keyword->kind, &instruction)) continue;
    if (!out.stages.empty()) {
      out.stages.back().instructions.push_back(std::move(instruction));
    } else if (instruction.kind == Kind::kArg) {
      out.arguments.push_back(std::move(instruction));
    } else {
      problems->push_back({line.line, line.keyword + ": no FROM is above it"});
    }
  }
  if (out.stages.empty() && problems->empty()) problems->push_back({1, "has no FROM"});
  std::stable_sort(problems->begin(), problems->end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  return out;
}

}  // namespace odyssey::dockerfile
