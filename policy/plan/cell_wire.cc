#include "policy/plan/cell_wire.h"

#include <stdio.h>

#include <algorithm>
#include <charconv>

#include "common/base/status_codec.h"

namespace odyssey::cell {
namespace {

// Every message: this byte, the type, the fields. Both ends come from one build.
constexpr uint8_t kVersion = 1;
constexpr uint32_t kMaxPath = 4095;  // PATH_MAX without its NUL
constexpr uint8_t kAllRights = kRead | kWrite | kExecute;

Writer Begin(MessageType type) {
  Writer out;
  out.U8(kVersion);
  out.U8(static_cast<uint8_t>(type));
  return out;
}

void Signed(Writer* out, int32_t v) { out->U32(static_cast<uint32_t>(v)); }
int32_t Signed(Reader* in) { return static_cast<int32_t>(in->U32()); }

Status Malformed(const char* message) {
  return InvalidArgument(std::string("decode ") + message + ": malformed cell message");
}

// The reader past the header, or a failed one if the message is of another type.
Reader Open(std::string_view bytes, MessageType type) {
  const Result<MessageType> actual = TypeOf(bytes);
  if (!actual.ok() || *actual != type) {
    Reader failed(std::string_view{});
    failed.U8();
    return failed;
  }
  return Reader(bytes.substr(2));
}

Status Finish(const Reader& in, const char* message) {
  return in.Done() ? OkStatus() : Malformed(message);
}

constexpr std::string_view kRunPrefix = "run_";
constexpr size_t kRunDigits = 16;

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// argv or env: what execve would cut at a NUL is refused instead.
size_t TotalBytes(const std::vector<std::string>& strings, bool* has_nul) {
  size_t total = 0;
  for (const std::string& s : strings) {
    total += s.size() + 1;
    *has_nul = *has_nul || HasNul(s);
  }
  return total;
}

ToolRoot DecodeToolRoot(Reader* in) {
  ToolRoot root;
  root.path = in->String(kMaxPath);
  root.suffixes = in->Strings(kMaxSuffixes, kMaxSuffixBytes);
  root.max_file_bytes = in->U64();
  return root;
}

RefusedCall DecodeRefusedCall(Reader* in) {
  RefusedCall call;
  call.number = in->U32();
  for (uint32_t& argument : call.arguments) argument = in->U32();
  call.count = in->U64();
  call.pid = in->U32();
  call.comm = in->String(kMaxComm);
  call.destination = in->String(kMaxDestinationBytes);
  return call;
}

Guard DecodeGuard(Reader* in) {
  Guard guard;
  guard.path = in->String(kMaxPath);
  guard.read_only = in->Bool();
  guard.deny = in->Strings(kMaxDenyPatterns, kMaxPath);
  return guard;
}

}  // namespace

std::string RunName(uint64_t run) {
  char digits[kRunDigits + 1];
  snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(run));
  return std::string(kRunPrefix) + digits;
}

uint64_t RunNumber(std::string_view name) {
  if (name.size() != kRunPrefix.size() + kRunDigits) return 0;
  const std::string_view digits = name.substr(kRunPrefix.size());
  uint64_t run = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), run, 16);
  return RunName(run) == name ? run : 0;
}

std::string SpareRunName(uint32_t number) { return ".next-" + std::to_string(number); }

Result<MessageType> TypeOf(std::string_view bytes) {
  Reader in(bytes);
  const uint8_t version = in.U8();
  const uint8_t type = in.U8();
  if (in.failed() || version != kVersion || type < static_cast<uint8_t>(MessageType::kHello) ||
      type > static_cast<uint8_t>(MessageType::kUnmapped)) {
    return InvalidArgument("decode cell message: version " + std::to_string(version) + ", type " +
                           std::to_string(type) + " is none of ours");
  }
  return static_cast<MessageType>(type);
}

std::string EncodeEmpty(MessageType type) { return Begin(type).Take(); }

std::string Encode(const Hello& m) {
  Writer out = Begin(MessageType::kHello);
  out.U32(m.landlock_abi);
  out.U32(m.runs);
  return out.Take();
}

std::string Encode(const Unmapped& m) {
  Writer out = Begin(MessageType::kUnmapped);
  out.Strings(m.targets);
  return out.Take();
}

std::string Encode(const Configure& m) {
  Writer out = Begin(MessageType::kConfigure);
  out.U32(static_cast<uint32_t>(m.rules.size()));
  for (const LandlockRule& rule : m.rules) {
    out.String(rule.path);
    out.U8(rule.rights);
  }
  out.U32(static_cast<uint32_t>(m.tool_roots.size()));
  for (const ToolRoot& root : m.tool_roots) {
    out.String(root.path);
    out.Strings(root.suffixes);
    out.U64(root.max_file_bytes);
  }
  out.U32(static_cast<uint32_t>(m.guards.size()));
  for (const Guard& guard : m.guards) {
    out.String(guard.path);
    out.Bool(guard.read_only);
    out.Strings(guard.deny);
  }
  out.Bool(m.own_network);
  out.U32(m.max_sockets);
  out.Bool(m.denies_write_exec);
  out.U32(m.landlock_abi);
  return out.Take();
}

std::string Encode(const SlotReady& m) {
  Writer out = Begin(MessageType::kSlotReady);
  out.U64(m.slot);
  return out.Take();
}

std::string Encode(const SlotGone& m) {
  Writer out = Begin(MessageType::kSlotGone);
  out.U64(m.slot);
  return out.Take();
}

std::string Encode(const CellError& m) {
  Writer out = Begin(MessageType::kCellError);
  PutStatus(m.status, &out);
  out.Bool(m.of_tools);
  return out.Take();
}

std::string Encode(const ExecSpec& m) {
  Writer out = Begin(MessageType::kExecSpec);
  out.Strings(m.argv);
  out.Strings(m.env);
  out.String(m.cwd);
  for (const ExecLimit& limit : kExecLimits) out.U64(m.*limit.member);
  out.Bool(m.terminal);
  out.U32(m.rows);
  out.U32(m.columns);
  out.U64(m.run);
  return out.Take();
}

std::string Encode(const ExecError& m) {
  Writer out = Begin(MessageType::kExecError);
  out.U8(static_cast<uint8_t>(m.step));
  PutStatus(m.status, &out);
  return out.Take();
}

std::string Encode(const SignalSlot& m) {
  Writer out = Begin(MessageType::kSignalSlot);
  Signed(&out, m.signal);
  out.Bool(m.everyone);
  return out.Take();
}

std::string Encode(const ExecExited& m) {
  Writer out = Begin(MessageType::kExecExited);
  Signed(&out, m.wait_status);
  out.U64(m.user_usec);
  out.U64(m.system_usec);
  out.U64(m.max_rss_bytes);
  out.U32(m.pid);
  out.U32(static_cast<uint32_t>(m.refused.size()));
  for (const RefusedCall& call : m.refused) {
    out.U32(call.number);
    for (const uint32_t argument : call.arguments) out.U32(argument);
    out.U64(call.count);
    out.U32(call.pid);
    out.String(call.comm);
    out.String(call.destination);
  }
  out.U64(m.refused_more);
  out.Strings(m.full);
  return out.Take();
}

Status Decode(std::string_view bytes, Hello* m) {
  Reader in = Open(bytes, MessageType::kHello);
  m->landlock_abi = in.U32();
  m->runs = in.U32();
  return Finish(in, "Hello");
}

Status Decode(std::string_view bytes, Unmapped* m) {
  Reader in = Open(bytes, MessageType::kUnmapped);
  m->targets = in.Strings(kMaxRules, kMaxPath);
  return Finish(in, "Unmapped");
}

Status Decode(std::string_view bytes, Configure* m) {
  Reader in = Open(bytes, MessageType::kConfigure);
  m->rules.clear();
  const uint32_t count = in.Count(kMaxRules);
  for (uint32_t i = 0; i < count && !in.failed(); ++i) {
    LandlockRule rule;
    rule.path = in.String(kMaxPath);
    rule.rights = in.U8();
    if (in.failed() || rule.path.empty() || rule.path[0] != '/' || HasNul(rule.path) ||
        rule.rights == 0 || (rule.rights & ~kAllRights) != 0) {
      return Malformed("Configure.rules");
    }
    m->rules.push_back(std::move(rule));
  }
  m->tool_roots.clear();
  const uint32_t roots = in.Count(kMaxRules);
  for (uint32_t i = 0; i < roots && !in.failed(); ++i) m->tool_roots.push_back(DecodeToolRoot(&in));
  m->guards.clear();
  const uint32_t guards = in.Count(kMaxRules);
  for (uint32_t i = 0; i < guards && !in.failed(); ++i) m->guards.push_back(DecodeGuard(&in));
  m->own_network = in.Bool();
  m->max_sockets = in.U32();
  m->denies_write_exec = in.Bool();
  m->landlock_abi = in.U32();
  return Finish(in, "Configure");
}

Status Decode(std::string_view bytes, SlotReady* m) {
  Reader in = Open(bytes, MessageType::kSlotReady);
  m->slot = in.U64();
  return Finish(in, "SlotReady");
}

Status Decode(std::string_view bytes, SlotGone* m) {
  Reader in = Open(bytes, MessageType::kSlotGone);
  m->slot = in.U64();
  return Finish(in, "SlotGone");
}

Status Decode(std::string_view bytes, CellError* m) {
  Reader in = Open(bytes, MessageType::kCellError);
  m->status = GetStatus(&in);
  m->of_tools = in.Bool();
  return Finish(in, "CellError");
}

Status Decode(std::string_view bytes, ExecSpec* m) {
  Reader in = Open(bytes, MessageType::kExecSpec);
  m->argv = in.Strings(kMaxArgv, kMaxExecBytes);
  m->env = in.Strings(kMaxArgv, kMaxExecBytes);
  m->cwd = in.String(kMaxPath);
  for (const ExecLimit& limit : kExecLimits) m->*limit.member = in.U64();
  m->terminal = in.Bool();
  const uint32_t rows = in.U32();
  const uint32_t columns = in.U32();
  m->run = in.U64();
  ODY_RETURN_IF_ERROR(Finish(in, "ExecSpec"));

  bool has_nul = HasNul(m->cwd);
  const size_t total = TotalBytes(m->argv, &has_nul) + TotalBytes(m->env, &has_nul);
  if (m->argv.empty() || total > kMaxExecBytes) return Malformed("ExecSpec.argv");
  if (has_nul || m->cwd.empty() || m->cwd[0] != '/') return Malformed("ExecSpec.cwd");
  if (std::max(rows, columns) > UINT16_MAX) return Malformed("ExecSpec.rows");
  m->rows = static_cast<uint16_t>(rows);
  m->columns = static_cast<uint16_t>(columns);
  return OkStatus();
}

Status Decode(std::string_view bytes, ExecError* m) {
  Reader in = Open(bytes, MessageType::kExecError);
  m->step = in.Enum(ExecStep::kExec);
  m->status = GetStatus(&in);
  return Finish(in, "ExecError");
}

Status Decode(std::string_view bytes, SignalSlot* m) {
  Reader in = Open(bytes, MessageType::kSignalSlot);
  m->signal = Signed(&in);
  m->everyone = in.Bool();
  return Finish(in, "SignalSlot");
}

Status Decode(std::string_view bytes, ExecExited* m) {
  Reader in = Open(bytes, MessageType::kExecExited);
  m->wait_status = Signed(&in);
  m->user_usec = in.U64();
  m->system_usec = in.U64();
  m->max_rss_bytes = in.U64();
  m->pid = in.U32();
  m->refused.clear();
  const uint32_t refused = in.Count(kMaxRefusedCalls + kMaxRefusedNames);
  for (uint32_t i = 0; i < refused && !in.failed(); ++i) {
    m->refused.push_back(DecodeRefusedCall(&in));
  }
  m->refused_more = in.U64();
  m->full = in.Strings(std::size(kBoundedPlaces), kMaxPath);
  return Finish(in, "ExecExited");
}

}  // namespace odyssey::cell
