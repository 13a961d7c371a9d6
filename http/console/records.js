// Events of a session's journal (docs/EVENTS.md) → records: what was asked, answered, refused, reached and run. Pure: no document.

import { describeAnswer, describeDecision, describeDenial, describeRequest } from "./words.js";

const MAKERS = {
  turn_started: (payload) => ["turn", "", `turn: ${payload.prompt}`],
  turn_completed: () => ["turn", "", "turn completed"],
  turn_failed: (payload) => ["turn", "failed", `turn failed: ${payload.message}`],
  turn_cancelled: () => ["turn", "", "turn cancelled"],
  exec_command_begin: (payload) => ["command", "", `${payload.turn_id.startsWith("opr_") ? "operator: " : ""}${payload.command.join(" ")}`],
  permission_requested: (payload) => ["approval", "asked", describeRequest(payload)],
  approval_resolved: (payload) => ["approval", payload.decision === "deny" ? "denied" : "allowed", describeAnswer(payload)],
  grant_ended: (payload) => ["approval", "", `grant ${payload.request_id} ended: ${payload.reason}, by uid ${payload.by_uid}`],
  access_denied: ({ denial }) => ["denial", "denied", describeDenial(denial), denial.grant],
  egress_decided: ({ decision }) => ["network", decision.verdict, describeDecision(decision), decision.grant],
  workspace_changed: ({ counts }) => ["changes", "", `waits for a commit: ${Object.entries(counts).filter(([, n]) => n > 0).map(([kind, n]) => `${n} ${kind}`).join(", ")}`],
  session_forked: (payload) => ["changes", "", `forked from ${payload.from_session_id}`],
  events_removed: (payload) => ["turn", "", `events ${payload.first_sequence} to ${payload.last_sequence} are no longer there (${payload.reason})`],
};

export const KINDS = ["approval", "denial", "network", "command", "changes", "turn"];

// Null: the event is none that is kept.
export function recordOf(event) {
  const { type, payload } = event.payload;
  const made = MAKERS[type]?.(payload);
  if (!made) return null;
  const [kind, verdict, text, grant = ""] = made;
  return { at: event.created_at, kind, verdict, text, grant, payload };
}

// `kind` and `verdict`: "" is any; `text`: words of which a record has all.
export function matches(record, { kind = "", verdict = "", text = "" }) {
  if (kind && record.kind !== kind) return false;
  if (verdict && record.verdict !== verdict) return false;
  const whole = `${record.at} ${record.kind} ${record.verdict} ${record.text} ${record.grant}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => whole.includes(word));
}

// Decisions on a network, by host and port: the busiest first.
export function totalsOf(records) {
  const totals = new Map();
  for (const { kind, at, payload } of records) {
    if (kind !== "network") continue;
    const { host, port, verdict, program } = payload.decision;
    const key = `${host}:${port}`;
    const total = totals.get(key) ?? { place: key, allowed: 0, denied: 0, audited: 0, programs: new Set(), last: at };
    total[verdict] += 1;
    if (program) total.programs.add(program);
    total.last = at;
    totals.set(key, total);
  }
  const sum = (total) => total.allowed + total.denied + total.audited;
  return [...totals.values()].sort((a, b) => sum(b) - sum(a));
}
