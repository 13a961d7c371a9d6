#include "policy/explain/command.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/explain/words.h"

namespace odyssey::explain {
namespace {

constexpr size_t kMaxText = 64 * 1024;  // of arguments that are looked through
constexpr std::string_view kBlanks = " \t";

// By any of these a command may go elsewhere.
constexpr std::string_view kMovingWords[] = {"cd",   "pushd",  "popd",    "chdir",    "fchdir",
                                             "eval", "chroot", "execdir", "directory"};

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool MayMove(std::string_view text) {
  if ((" " + std::string(text)).find(" -C") != std::string::npos) return true;
  return std::any_of(std::begin(kMovingWords), std::end(kMovingWords),
                     [&](std::string_view word) { return HasWord(text, word); });
}

// True if all of it runs where it begins to: one list of && and pipes, nothing after a failure and
// nothing beside.
bool IsOneChain(std::string_view script) {
  if (script.find_first_of(";\n") != script.npos || script.find("||") != script.npos) return false;
  for (size_t at = script.find('&'); at != script.npos; at = script.find('&', at + 1)) {
    if (script.substr(at, 2) == "&&") {
      ++at;
      continue;
    }
    const bool redirects = (at > 0 && (script[at - 1] == '>' || script[at - 1] == '<')) ||
                           script.substr(at, 2) == "&>";
    if (!redirects) return false;
  }
  return true;
}

void SkipBlanks(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(kBlanks), text->size()));
}

// A word that a shell takes as it stands, quoted or not. "" if it is none.
std::string TakePlainWord(std::string_view* text) {
  constexpr std::string_view kPlain = "._/+@%=,:-";
  if (text->empty()) return "";
  const char quote = text->front();
  size_t end = 0;
  std::string word;
  if (quote == '\'' || quote == '"') {
    end = text->find(quote, 1);
    if (end == text->npos) return "";
    word = text->substr(1, end - 1);
    if (quote == '"' && word.find_first_of("$`\\") != word.npos) return "";
    ++end;
  } else {
    while (end < text->size() &&
           (IsWordCharacter((*text)[end]) || kPlain.find((*text)[end]) != kPlain.npos)) {
      ++end;
    }
    word = text->substr(0, end);
  }
  text->remove_prefix(end);
  const bool ends =
      text->empty() || text->front() == '&' || kBlanks.find(text->front()) != kBlanks.npos;
  return ends && word.substr(0, 1) != "-" ? word : "";
}

// "cd DIR &&", with which many a script begins. What follows runs there, or not at all.
bool TakeCd(std::string_view* script, std::string* directory) {
  std::string_view rest = *script;
  SkipBlanks(&rest);
  if (rest.substr(0, 2) != "cd" || rest.size() < 3 || kBlanks.find(rest[2]) == kBlanks.npos) {
    return false;
  }
  rest.remove_prefix(2);
  SkipBlanks(&rest);
  const std::string word = TakePlainWord(&rest);
  SkipBlanks(&rest);
  if (word.empty() || rest.substr(0, 2) != "&&") return false;
  rest.remove_prefix(2);
  *directory = word[0] == '/' ? word : *directory + "/" + word;
  *script = rest;
  return true;
}

std::optional<std::string> AfterScript(const std::string& cwd, std::string_view script) {
  std::string directory = cwd;
  bool moved = false;
  while (TakeCd(&script, &directory)) moved = true;
  if (MayMove(script) || (moved && !IsOneChain(script))) return std::nullopt;
  return directory;
}

// "-c", also as one of several letters.
bool AsksForText(std::string_view option) {
  return option.size() > 1 && option[0] == '-' && option[1] != '-' &&
         option.find('c') != option.npos;
}

}  // namespace

Whereabouts::Whereabouts(const Command& command) {
  const auto& argv = command.argv;
  if (argv.empty()) return;
  program_ = BaseName(argv[0]);
  shell_ = IsShell(program_);
  for (const std::string& argument : argv) {
    if (text_.size() + argument.size() > kMaxText) return;
    text_ += argument + " ";
  }
  const bool has_text = argv.size() > 2;
  has_script_ = has_text && (AsksForText(argv[1]) || (!shell_ && argv[1] == "-e"));
  // Arguments after the script are the script's own, which it may do anything with.
  const bool only_script = shell_ && has_script_ && argv.size() == 3;
  if (only_script) {
    directory_ = AfterScript(command.cwd, argv[2]);
  } else if (!MayMove(text_)) {
    directory_ = command.cwd;
  }
}

// Programs that the arguments name; and the one that reads what to do from them.
bool Whereabouts::Knows(const Complaint& complaint) const {
  if (!complaint.names_program) return has_script_ && !shell_;
  if (IsShell(complaint.program)) return complaint.program == program_ && has_script_;
  if (complaint.numbered_line) return false;  // of a file
  return (!shell_ || has_script_) && HasWord(text_, complaint.program);
}

std::optional<std::string> Whereabouts::DirectoryOf(const Complaint& complaint) const {
  return Knows(complaint) ? directory_ : std::nullopt;
}

}  // namespace odyssey::explain
