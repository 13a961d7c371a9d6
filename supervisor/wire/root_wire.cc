#include "supervisor/wire/root_wire.h"

#include "common/base/codec.h"
#include "policy/plan/plan.h"

namespace odyssey::wire {
namespace {

constexpr uint32_t kMaxText = 4096;
constexpr uint32_t kMaxDirectories = 16;

Writer Begin(RootMessage type) {
  Writer w;
  w.U8(static_cast<uint8_t>(type));
  return w;
}

// Each message is its type byte, then its fields; `read` takes the fields.
template <typename ReadFields>
Status DecodeAs(RootMessage type, const char* name, std::string_view bytes, ReadFields read) {
  Reader r(bytes);
  if (r.U8() == static_cast<uint8_t>(type)) {
    read(r);
    if (r.Done()) return OkStatus();
  }
  return InvalidArgument(std::string("malformed message ") + name);
}

}  // namespace

Result<RootMessage> TypeOf(std::string_view bytes) {
  const uint8_t type = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]);
  if (type < static_cast<uint8_t>(RootMessage::kHello) ||
      type > static_cast<uint8_t>(RootMessage::kStatsReply)) {
    return InvalidArgument("unknown message type " + std::to_string(type));
  }
  return static_cast<RootMessage>(type);
}

std::string EncodeReady() { return Begin(RootMessage::kReady).Take(); }

std::string Encode(const Hello& m) {
  Writer w = Begin(RootMessage::kHello);
  w.String(m.cgroup);
  w.String(m.bwrap);
  w.U32(m.uid_base);
  w.U32(m.max_cells);
  w.Strings(m.own_directories);
  w.String(m.bundle_store);
  w.String(m.cells_directory);
  return w.Take();
}

Status Decode(std::string_view bytes, Hello* m) {
  return DecodeAs(RootMessage::kHello, "Hello", bytes, [m](Reader& r) {
    m->cgroup = r.String(kMaxText);
    m->bwrap = r.String(kMaxText);
    m->uid_base = r.U32();
    m->max_cells = r.U32();
    m->own_directories = r.Strings(kMaxDirectories, kMaxText);
    m->bundle_store = r.String(kMaxText);
    m->cells_directory = r.String(kMaxText);
  });
}

std::string Encode(const Launch& m) {
  Writer w = Begin(RootMessage::kLaunch);
  w.U64(m.request);
  w.String(m.plan);
  return w.Take();
}

Status Decode(std::string_view bytes, Launch* m) {
  return DecodeAs(RootMessage::kLaunch, "Launch", bytes, [m](Reader& r) {
    m->request = r.U64();
    m->plan = r.String(plan::kMaxPlanBytes);
  });
}

std::string Encode(const Launched& m) {
  Writer w = Begin(RootMessage::kLaunched);
  w.U64(m.request);
  w.U8(static_cast<uint8_t>(m.code));
  w.String(m.error);
  w.U32(m.uid);
  return w.Take();
}

Status Decode(std::string_view bytes, Launched* m) {
  return DecodeAs(RootMessage::kLaunched, "Launched", bytes, [m](Reader& r) {
    m->request = r.U64();
    m->code = r.Enum(Code::kUnauthenticated);
    m->error = r.String(kMaxText);
    m->uid = r.U32();
  });
}

std::string Encode(const Kill& m) {
  Writer w = Begin(RootMessage::kKill);
  w.String(m.cell_id);
  w.Bool(m.purge);
  return w.Take();
}

Status Decode(std::string_view bytes, Kill* m) {
  return DecodeAs(RootMessage::kKill, "Kill", bytes, [m](Reader& r) {
    m->cell_id = r.String(plan::kMaxCellId);
    m->purge = r.Bool();
  });
}

std::string Encode(const Gone& m) {
  Writer w = Begin(RootMessage::kGone);
  w.String(m.cell_id);
  w.U8(static_cast<uint8_t>(m.code));
  w.String(m.reason);
  return w.Take();
}

Status Decode(std::string_view bytes, Gone* m) {
  return DecodeAs(RootMessage::kGone, "Gone", bytes, [m](Reader& r) {
    m->cell_id = r.String(plan::kMaxCellId);
    m->code = r.Enum(Code::kUnauthenticated);
    m->reason = r.String(kMaxText);
  });
}

std::string Encode(const Stats& m) {
  Writer w = Begin(RootMessage::kStats);
  w.U64(m.request);
  w.String(m.cell_id);
  return w.Take();
}

Status Decode(std::string_view bytes, Stats* m) {
  return DecodeAs(RootMessage::kStats, "Stats", bytes, [m](Reader& r) {
    m->request = r.U64();
    m->cell_id = r.String(plan::kMaxCellId);
  });
}

std::string Encode(const StatsReply& m) {
  Writer w = Begin(RootMessage::kStatsReply);
  w.U64(m.request);
  w.Bool(m.found);
  w.U64(m.memory_bytes);
  w.U64(m.cpu_usec);
  w.U32(m.processes);
  w.U64(m.oom_kills);
  return w.Take();
}

Status Decode(std::string_view bytes, StatsReply* m) {
  return DecodeAs(RootMessage::kStatsReply, "StatsReply", bytes, [m](Reader& r) {
    m->request = r.U64();
    m->found = r.Bool();
    m->memory_bytes = r.U64();
    m->cpu_usec = r.U64();
    m->processes = r.U32();
    m->oom_kills = r.U64();
  });
}

}  // namespace odyssey::wire
