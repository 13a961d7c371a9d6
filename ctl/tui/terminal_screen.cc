#include "ctl/tui/terminal_screen.h"

#include <curses.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

// Macros of term.h with names that headers of ours use.
#undef columns
#undef lines

#include <algorithm>
#include <string_view>

#include "ctl/base/terminal.h"

namespace odyssey::ctl {
namespace {

constexpr int kEscapeDelayMs = 25;
constexpr wint_t kEscape = 27;
// Above ncurses' own keys.
constexpr int kPasteBegin = KEY_MAX + 1, kPasteEnd = KEY_MAX + 2;
constexpr char kPasteOn[] = "\x1b[?2004h", kPasteOff[] = "\x1b[?2004l";
constexpr short kColors = 8;

void Send(std::string_view sequence) {
  (void)!write(STDOUT_FILENO, sequence.data(), sequence.size());
}

struct NamedKey {
  int curses;
  Key::Code code;
};
constexpr NamedKey kKeys[] = {
    {KEY_ENTER, Key::kEnter},
    {KEY_BACKSPACE, Key::kBackspace},
    {KEY_DC, Key::kDelete},
    {KEY_UP, Key::kUp},
    {KEY_DOWN, Key::kDown},
    {KEY_LEFT, Key::kLeft},
    {KEY_RIGHT, Key::kRight},
    {KEY_HOME, Key::kHome},
    {KEY_END, Key::kEnd},
    {KEY_PPAGE, Key::kPageUp},
    {KEY_NPAGE, Key::kPageDown},
    {KEY_F(1), Key::kF1},
    {kPasteBegin, Key::kPasteBegin},
    {kPasteEnd, Key::kPasteEnd},
};

std::string Utf8Of(wint_t character) {
  char bytes[MB_LEN_MAX];
  mbstate_t state{};
  const size_t n = wcrtomb(bytes, static_cast<wchar_t>(character), &state);
  return n == static_cast<size_t>(-1) ? "" : std::string(bytes, n);
}

std::optional<Key> KeyOf(wint_t character) {
  constexpr wint_t kDelete = 127;
  switch (character) {
    case '\r':
    case '\n':
      return Key{Key::kEnter, ""};
    case '\t':
      return Key{Key::kTab, ""};
    case '\b':
    case kDelete:
      return Key{Key::kBackspace, ""};
    case kEscape:
      return Key{Key::kEscape, ""};
    default:
      break;
  }
  if (character == 0) return std::nullopt;
  if (character < ' ')
    return Key{Key::kControl, std::string(1, static_cast<char>(character + 'a' - 1))};
  return Key{Key::kText, Utf8Of(character)};
}

// What follows an ESC at once is of a key that ncurses does not know, or Alt with one: neither is
// the Escape key.
bool DropSequence() {
  wint_t next = 0;
  if (get_wch(&next) == ERR) return false;
  if (next != '[' && next != 'O') return true;
  while (get_wch(&next) != ERR && (next < 0x40 || next > 0x7E)) {
  }
  return true;
}

}  // namespace

Status TerminalScreen::Check() {
  if (isatty(STDIN_FILENO) != 1) return FailedPrecondition("stdin is no terminal");
  if (isatty(STDOUT_FILENO) != 1) return FailedPrecondition("stdout is no terminal");
  const char* const term = getenv("TERM");
  if (term == nullptr || *term == '\0') return FailedPrecondition("TERM is not set");
  int error = 0;
  if (setupterm(nullptr, STDOUT_FILENO, &error) != OK) {
    return FailedPrecondition(std::string("TERM ") + term + ": terminfo has no such terminal");
  }
  char* const place = tigetstr(const_cast<char*>("cup"));
  if (place == nullptr || place == reinterpret_cast<char*>(-1)) {
    return FailedPrecondition(std::string("TERM ") + term + ": it cannot place its cursor");
  }
  return OkStatus();
}

Result<std::unique_ptr<TerminalScreen>> TerminalScreen::Open() {
  ODY_RETURN_IF_ERROR(Check());
  UseUtf8Characters();
  SCREEN* const made = newterm(nullptr, stdout, stdin);
  if (made == nullptr) return FailedPrecondition("ncurses cannot use the terminal");
  return std::unique_ptr<TerminalScreen>(new TerminalScreen(made));
}

TerminalScreen::TerminalScreen(screen* curses) : curses_(curses) {
  raw();  // Ctrl+C and Ctrl+S are keys
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapeDelayMs);
  if (has_colors()) {
    start_color();
    use_default_colors();
    for (short color = 1; color < kColors; ++color) init_pair(color, color, -1);
  }
  // What is pasted is no key.
  define_key("\x1b[200~", kPasteBegin);
  define_key("\x1b[201~", kPasteEnd);
  Send(kPasteOn);
}

TerminalScreen::~TerminalScreen() {
  Send(kPasteOff);
  endwin();
  delscreen(curses_);
}

void TerminalScreen::Show(const Frame& frame, const Theme& theme, bool colors) {
  erase();
  for (size_t row = 0; row < frame.rows.size(); ++row) {
    move(static_cast<int>(row), 0);
    for (const Span& span : frame.rows[row]) {
      const TintStyle& style = theme.styles[static_cast<size_t>(span.tint)];
      attr_t attributes = A_NORMAL;
      if (style.bold) attributes |= A_BOLD;
      if (style.dim) attributes |= A_DIM;
      if (style.reverse) attributes |= A_REVERSE;
      const bool colored = colors && has_colors() && style.color > 0;
      attr_set(attributes, static_cast<short>(colored ? style.color : 0), nullptr);
      addnstr(span.text.data(), static_cast<int>(span.text.size()));
    }
  }
  attr_set(A_NORMAL, 0, nullptr);
  move(static_cast<int>(frame.cursor_row), static_cast<int>(frame.cursor_column));
  refresh();
}

void TerminalScreen::Forget() { clearok(curscr, TRUE); }

std::optional<Key> TerminalScreen::ReadKey() {
  for (;;) {
    wint_t character = 0;
    const int kind = get_wch(&character);
    if (kind == ERR) return std::nullopt;
    if (kind == KEY_CODE_YES) {
      for (const NamedKey& known : kKeys) {
        if (known.curses == static_cast<int>(character)) return Key{known.code, ""};
      }
      continue;
    }
    if (character == kEscape && DropSequence()) continue;
    if (std::optional<Key> key = KeyOf(character)) return key;
  }
}

Resized TerminalScreen::FitToTerminal() {
  const TerminalSize size = CurrentTerminalSize();
  resizeterm(static_cast<int>(std::max(size.rows, 1U)),
             static_cast<int>(std::max(size.columns, 1U)));
  return {static_cast<size_t>(std::max(size.rows, 1U)),
          static_cast<size_t>(std::max(size.columns, 1U))};
}

}  // namespace odyssey::ctl
