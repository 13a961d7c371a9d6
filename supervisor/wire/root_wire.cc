// What root says and hears; the other half is rpc_half.cc, which root does not link.

#include "supervisor/wire/root_wire.h"

#include "supervisor/wire/message_fields.h"

namespace odyssey::wire {

// The part of a failure that root knows.
static void PutFailure(const Status& status, Writer* w) {
  w->U8(static_cast<uint8_t>(status.code()));
  w->String(std::string_view(status.message()).substr(0, kMaxText));
  w->U32(static_cast<uint32_t>(status.detail().error));
  w->U32(static_cast<uint32_t>(status.detail().item));
}

Result<RootMessage> TypeOf(std::string_view bytes) {
  const uint8_t type = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]);
  if (type < static_cast<uint8_t>(RootMessage::kHello) ||
      type > static_cast<uint8_t>(RootMessage::kStatsReply)) {
    return InvalidArgument("unknown message type " + std::to_string(type));
  }
  return static_cast<RootMessage>(type);
}

std::string Encode(const Hello& m) {
  Writer w = Begin(RootMessage::kHello);
  w.String(m.cgroup);
  w.Bool(m.rootless);
  w.U32(m.uid_base);
  w.U32(m.max_cells);
  w.Strings(m.own_directories);
  w.String(m.bundle_store);
  w.String(m.cells_directory);
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
  PutFailure(m.status, &w);
  w.U32(m.uid);
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
  PutFailure(m.reason, &w);
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
  w.U64(m.usage.memory_bytes);
  w.U64(m.usage.cpu_usec);
  w.U32(m.usage.processes);
  w.U64(m.usage.oom_kills);
  w.U64(m.usage.pids_refused);
  return w.Take();
}

}  // namespace odyssey::wire
