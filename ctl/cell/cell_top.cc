#include "ctl/cell/cell_top.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "common/message/enum_name.h"
#include "common/message/message_json.h"
#include "common/os/unique_fd.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/base/status_line.h"
#include "ctl/base/terminal.h"
#include "ctl/base/units.h"
#include "ctl/cell/cell_name.h"
#include "ctl/cell/usage_plot.h"
#include "ctl/client/client.h"

namespace odyssey::ctl {
namespace {

using std::chrono::milliseconds;
using supervisor::v1::CellInfo;
using supervisor::v1::SupervisorStub;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kInterval{1000};
constexpr milliseconds kOneSample{250};  // between the two samples of a table that is shown once
constexpr size_t kNameColumns = 20;      // on a terminal; an id fits
constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();
constexpr char kHome[] = "\x1b[H";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";
constexpr char kKeys[] = "c m p n: sort by cpu, memory, pids, name   q: quit";
constexpr char kCtrlC = '\x03';

struct Order {
  std::string_view name;
  char key;
  TopOrder order;
};
constexpr Order kOrders[] = {{"cpu", 'c', TopOrder::kCpu},
                             {"memory", 'm', TopOrder::kMemory},
                             {"pids", 'p', TopOrder::kPids},
                             {"name", 'n', TopOrder::kName}};

struct Row {
  const CellInfo* cell = nullptr;
  bool known = false;     // it was there before
  uint64_t cpu_usec = 0;  // since then
};

uint64_t Grown(uint64_t before, uint64_t now) { return now - std::min(before, now); }

std::vector<Row> RowsOf(const CellSample& before, const CellSample& now) {
  std::map<std::string, const CellInfo*> earlier;
  for (const CellInfo& cell : before.cells.cells()) earlier[cell.cell_id()] = &cell;
  std::vector<Row> rows;
  for (const CellInfo& cell : now.cells.cells()) {
    const auto found = earlier.find(cell.cell_id());
    if (found == earlier.end()) {
      rows.push_back({.cell = &cell});
      continue;
    }
    const CellInfo& then = *found->second;
    rows.push_back(
        {.cell = &cell, .known = true, .cpu_usec = Grown(then.cpu_usec(), cell.cpu_usec())});
  }
  return rows;
}

// The largest first, but names.
auto RankOf(const Row& row, TopOrder order) {
  const auto rank = [](uint64_t first, uint64_t second) { return std::make_tuple(first, second); };
  const CellInfo& cell = *row.cell;
  switch (order) {
    case TopOrder::kMemory:
      return rank(cell.memory_bytes(), row.cpu_usec);
    case TopOrder::kPids:
      return rank(cell.processes(), row.cpu_usec);
    case TopOrder::kName:
      return rank(0, 0);
    case TopOrder::kCpu:
      break;
  }
  return rank(row.cpu_usec, cell.memory_bytes());
}

std::string FitTo(size_t columns, const std::string& line) {
  return Shorten(line, columns) == line ? line : Shorten(line, columns - 1);
}

// "340M" of "340 MiB".
std::string ShortSize(uint64_t bytes) {
  std::string text = FormatSize(bytes);
  text.erase(text.find(' '), 1);
  if (const size_t at = text.find("iB"); at != text.npos) text.erase(at);
  return text;
}

double PercentOf(uint64_t usec, const CellSample& before, const CellSample& now) {
  const auto passed =
      std::chrono::duration_cast<std::chrono::microseconds>(now.at - before.at).count();
  return static_cast<double>(usec) * 100 / static_cast<double>(std::max<int64_t>(passed, 1));
}

std::string PercentText(uint64_t usec, const CellSample& before, const CellSample& now) {
  return std::to_string(static_cast<uint64_t>(PercentOf(usec, before, now))) + "%";
}

Style StyleOf(const CellInfo& cell) {
  switch (cell.standing().phase()) {
    case supervisor::v1::CELL_PHASE_RUNNING:
      return Style::kPlain;
    case supervisor::v1::CELL_PHASE_SUSPENDED:
    case supervisor::v1::CELL_PHASE_QUARANTINED:
      return Style::kWarn;
    default:
      return Style::kDim;
  }
}

}  // namespace

std::vector<std::string> TopLines(const CellSample& before, const CellSample& now, TopOrder order,
                                  size_t columns, bool color) {
  std::vector<Row> rows = RowsOf(before, now);
  std::sort(rows.begin(), rows.end(), [order](const Row& a, const Row& b) {
    if (RankOf(a, order) != RankOf(b, order)) return RankOf(a, order) > RankOf(b, order);
    return NameOf(*a.cell) < NameOf(*b.cell);
  });
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    const CellInfo& cell = *row.cell;
    const std::string name = NameOf(cell);
    cells.push_back({columns == kAnyWidth ? name : Shorten(name, kNameColumns),
                     message::EnumName(cell.standing().phase()),
                     row.known ? PercentText(row.cpu_usec, before, now) : "-",
                     ShortSize(cell.memory_bytes()), std::to_string(cell.processes()),
                     std::to_string(cell.running_execs()), KeyText(cell.key())});
  }
  const std::string table =
      FormatTable({"CELL", "PHASE", "CPU", "MEM", "PIDS", "EXECS", "KEY"}, cells);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < table.size();) {
    const size_t end = table.find('\n', begin);
    const std::string line = FitTo(columns, table.substr(begin, end - begin));
    const Style style = lines.empty() ? Style::kBold : StyleOf(*rows[lines.size() - 1].cell);
    lines.push_back(Paint(line, style, color));
    begin = end + 1;
  }
  return lines;
}

std::string TopSummary(const CellSample& before, const CellSample& now) {
  uint64_t running = 0, cpu_usec = 0, memory = 0, pids = 0;
  for (const Row& row : RowsOf(before, now)) {
    running += row.cell->running_execs() > 0 ? 1 : 0;
    cpu_usec += row.cpu_usec;
    memory += row.cell->memory_bytes();
    pids += row.cell->processes();
  }
  return std::to_string(now.cells.cells_size()) + " cells, " + std::to_string(running) +
         " running   cpu " + PercentText(cpu_usec, before, now) + "   memory " + ShortSize(memory) +
         "   " + std::to_string(pids) + " pids";
}

namespace {

Status Take(const SupervisorStub& stub, CellSample* sample) {
  sample->cells.Clear();
  const Status status = stub.ListCells({kQuickCallMs}, {}, &sample->cells);
  sample->at = Steady::now();
  return status;
}

enum class Waited { kTime, kChange, kEnd };

void AddTo(UsagePlot* plot, const CellSample& before, const CellSample& now) {
  std::map<std::string, Usage> cells;
  for (const Row& row : RowsOf(before, now)) {
    cells[NameOf(*row.cell)] = {.cpu_percent = PercentOf(row.cpu_usec, before, now),
                                .memory_bytes = row.cell->memory_bytes()};
  }
  plot->Add(std::chrono::duration<double>(now.at.time_since_epoch()).count(), std::move(cells));
}

struct WatchOptions {
  TopOrder order = TopOrder::kCpu;
  bool screen = false;                 // each table stands where the one before was
  std::optional<milliseconds> length;  // nothing: until a signal
  UsagePlot* plot = nullptr;           // takes the samples, and there is no table
};

// What a person looks at and types, or a program reads, until it ends.
class Watch final {
 public:
  Watch(const Console& console, const WatchOptions& options)
      : console_(console),
        options_(options),
        order_(options.order),
        line_(console),
        signals_(MakeSignalFd({SIGINT, SIGTERM, SIGWINCH})) {}

  Status Run(const SupervisorStub& stub) {
    std::optional<RawTerminal> raw;
    if (options_.screen && console_.in_is_terminal) raw.emplace(STDIN_FILENO);
    keys_ = raw.has_value();
    if (options_.screen) console_.Print(std::string(kHome) + kClearBelow);
    CellSample before, now;
    ODY_RETURN_IF_ERROR(Take(stub, &now));
    before.at = now.at;
    const auto end = options_.length ? now.at + *options_.length : Steady::time_point::max();
    for (auto next = now.at + kOneSample;;) {
      Show(before, now);
      const Waited waited = Wait(std::min(next, end));
      if (waited == Waited::kEnd) return OkStatus();
      if (waited == Waited::kChange) continue;
      std::swap(before, now);
      ODY_RETURN_IF_ERROR(Take(stub, &now));
      if (options_.plot != nullptr) AddTo(options_.plot, before, now);
      if (now.at >= end) return OkStatus();
      next = now.at + kInterval;
    }
  }

 private:
  void Show(const CellSample& before, const CellSample& now) {
    if (options_.plot != nullptr) return line_.Show("drawing  " + TopSummary(before, now));
    if (console_.json) return console_.PrintJson(message::ToJson(now.cells));
    if (!options_.screen) {
      for (const std::string& line : TopLines(before, now, order_, kAnyWidth, false)) {
        console_.PrintLine(line);
      }
      return;
    }
    const TerminalSize size = CurrentTerminalSize();
    std::vector<std::string> lines = {FitTo(size.columns, TopSummary(before, now))};
    for (std::string& line : TopLines(before, now, order_, size.columns, console_.color_out)) {
      lines.push_back(std::move(line));
    }
    // The last row stays free, so that nothing scrolls.
    const size_t most = std::max<size_t>(size.rows, 4) - (keys_ ? 2 : 1);
    if (lines.size() > most) lines.resize(most);
    if (keys_) lines.push_back(Paint(FitTo(size.columns, kKeys), Style::kDim, console_.color_out));
    std::string frame = kHome;
    for (const std::string& line : lines) frame += line + kClearLine + "\r\n";
    console_.Print(frame + kClearBelow);
  }

  // For `until`, a key or a signal.
  Waited Wait(Steady::time_point until) {
    const auto left = std::chrono::ceil<milliseconds>(until - Steady::now()).count();
    pollfd polled[] = {{signals_.get(), POLLIN, 0}, {keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(polled, 2, static_cast<int>(std::max<int64_t>(left, 0))) <= 0) return Waited::kTime;
    if (polled[0].revents != 0) {
      return TakeSignal(signals_.get()) == SIGWINCH ? Waited::kChange : Waited::kEnd;
    }
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == kCtrlC) return Waited::kEnd;
    for (const Order& each : kOrders) {
      if (each.key == key) order_ = each.order;
    }
    return Waited::kChange;
  }

  const Console& console_;
  const WatchOptions options_;
  TopOrder order_;
  StatusLine line_;
  bool keys_ = false;
  const UniqueFd signals_;
};

Status ShowOnce(const Console& console, const SupervisorStub& stub, TopOrder order) {
  CellSample before, now;
  ODY_RETURN_IF_ERROR(Take(stub, &now));
  if (console.json) {
    console.PrintJson(message::ToJson(now.cells));
    return OkStatus();
  }
  std::swap(before, now);
  poll(nullptr, 0, static_cast<int>(kOneSample.count()));
  ODY_RETURN_IF_ERROR(Take(stub, &now));
  const size_t columns = console.out_is_terminal ? CurrentTerminalSize().columns : kAnyWidth;
  for (const std::string& line : TopLines(before, now, order, columns, console.color_out)) {
    console.PrintLine(line);
  }
  return OkStatus();
}

int Top(const Invocation& call) {
  const Console& console = *call.console;
  WatchOptions options;
  for (const Order& each : kOrders) {
    if (call.options.Text("sort") == each.name) options.order = each.order;
  }
  UsagePlot plot;
  if (call.options.Has("svg")) {
    if (console.json || console.out_is_terminal) {
      console.Fail({"watch cells",
                    console.json ? "--svg goes without -o json"
                                 : "--svg writes a picture to stdout, which is a terminal",
                    "odyssey-ctl cell top --svg >cells.svg"});
      return kExitUsage;
    }
    options.plot = &plot;
  }
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("watch cells", client.status()));
  const SupervisorStub stub(client->channel());
  const char* const term = getenv("TERM");
  options.screen =
      console.out_is_terminal && !console.json && term != nullptr && strcmp(term, "dumb") != 0;
  if (call.options.Has("for")) options.length = milliseconds(call.options.DurationMs("for"));
  const bool watches =
      options.screen || options.length || options.plot || call.options.Has("watch");
  const Status status =
      watches ? Watch(console, options).Run(stub) : ShowOnce(console, stub, options.order);
  if (!status.ok()) return console.Fail(client->Explain("watch cells", status));
  if (options.plot != nullptr) console.Print(plot.Svg());
  return kExitOk;
}

}  // namespace

Command CellTopCommand() {
  OptionSpec sort = {.name = "sort",
                     .kind = ValueKind::kChoice,
                     .value_name = "KEY",
                     .help = "what is first: the most cpu (default), memory or pids; or name"};
  for (const Order& each : kOrders) sort.choices.push_back(each.name);
  return {.name = "cell top",
          .summary = "watch what cells use and run",
          .options = {sort,
                      {.name = "watch",
                       .help = "again every second where stdout is no terminal too, until Ctrl-C"},
                      {.name = "for",
                       .kind = ValueKind::kDuration,
                       .value_name = "TIME",
                       .help = "again every second for this time: 90s, 5m"},
                      {.name = "svg",
                       .help = "instead of tables, at the end a picture of what was seen"}},
          .notes =
              "On a terminal again every second; keys sort, q quits. Else one sample: a table, "
              "or with -o json what the supervisor\nsays of its cells.\n--svg draws CPU "
              "and memory of the last hour, a sample a second, until Ctrl-C or --for.",
          .run = Top};
}

}  // namespace odyssey::ctl
