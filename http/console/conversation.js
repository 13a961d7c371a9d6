// Events of a session's journal (docs/EVENTS.md) → the items that a person reads. Pure: no document.

const MOST_OUTPUT = 64 * 1024;  // characters of one command that are kept

// `list` has append(item) → index, and changed(index).
export class Conversation {
  constructor(list) {
    this.list = list;
    this.pending = new Map();  // request id → index
    this.calls = new Map();  // tool call id → index
    this.commands = new Map();  // command id → index
    this.text = null;  // index of the text that grows
  }

  apply(event) {
    const { type, payload } = event.payload;
    const handler = HANDLERS[type];
    if (!["agent_message_delta", "reasoning_delta"].includes(type)) this.text = null;
    if (handler) handler.call(this, payload, event);
    else this.add({ kind: "note", text: `event ${type}` });
  }

  add(item) {
    return this.list.append(item);
  }

  edit(index, change) {
    change(this.list.items[index]);
    this.list.changed(index);
  }

  grow(kind, delta) {
    if (this.text === null || this.list.items[this.text].kind !== kind) this.text = this.add({ kind, text: "" });
    this.edit(this.text, (item) => { item.text += delta; });
  }

  end(outcome, text) {
    this.add({ kind: "end", outcome, text });
  }
}

function commandOutput(payload) {
  const index = this.commands.get(payload.exec_id);
  if (index === undefined) return;
  this.edit(index, (item) => {
    item.output.push({ stream: payload.stream, text: payload.delta });
    item.size += payload.delta.length;
    while (item.size > MOST_OUTPUT && item.output.length > 1) {
      item.size -= item.output.shift().text.length;
      item.cut = true;
    }
  });
}

const HANDLERS = {
  turn_started(payload) {
    this.add({ kind: "prompt", text: payload.prompt, mode: payload.sandbox_mode });
  },
  turn_completed(payload) {
    // The text came as deltas already, but for a provider that does not stream.
    const last = this.list.items.findLast?.((item) => item.kind === "text" || item.kind === "prompt");
    if (payload.message && last?.kind !== "text") this.add({ kind: "text", text: payload.message });
    this.end("completed", usage(payload.usage));
  },
  turn_failed(payload) {
    this.end(payload.interrupted ? "interrupted" : "failed", payload.message);
  },
  turn_cancelled() {
    this.end("cancelled", "");
  },
  error() {},  // turn_failed says the same
  agent_message_delta(payload) {
    this.grow("text", payload.delta);
  },
  reasoning_delta(payload) {
    this.grow("reasoning", payload.delta);
  },
  reasoning_section_break() {},
  tool_call_started(payload) {
    const item = { kind: "call", name: payload.tool_name, arguments: payload.arguments, state: "runs", result: null };
    this.calls.set(payload.tool_call_id, this.add(item));
  },
  tool_call_finished(payload) {
    const index = this.calls.get(payload.tool_call_id);
    if (index === undefined) return;
    this.edit(index, (item) => {
      item.state = payload.success ? "done" : "failed";
      item.result = payload.result;
    });
  },
  exec_command_begin(payload) {
    this.commands.set(payload.exec_id, this.add({
      kind: "command", argv: payload.command, cwd: payload.cwd, job: payload.job_id, output: [], size: 0, cut: false,
      outcome: null,
    }));
  },
  exec_command_output_delta: commandOutput,
  exec_command_end(payload) {
    const index = this.commands.get(payload.exec_id);
    if (index === undefined) return;
    this.edit(index, (item) => {
      item.outcome = payload.outcome === "exited" ? `exit ${payload.exit_code}` : payload.outcome;
      item.good = payload.outcome === "exited" && payload.exit_code === 0;
    });
  },
  permission_requested(payload, event) {
    const item = { kind: "approval", request: payload, session: event.session_id, answer: null };
    this.pending.set(payload.request_id, this.add(item));
  },
  approval_resolved(payload) {
    const index = this.pending.get(payload.request_id);
    if (index === undefined) return;
    this.pending.delete(payload.request_id);
    this.edit(index, (item) => { item.answer = payload; });
  },
  access_denied(payload) {
    this.add({ kind: "denial", denial: payload.denial });
  },
  egress_decided(payload) {
    this.add({ kind: "egress", decision: payload.decision });
  },
  workspace_changed(payload) {
    this.add({ kind: "changes", counts: payload.counts });
  },
  worker_started(payload) {
    this.add({ kind: "worker", worker: payload.worker, session: payload.session_id });
  },
  session_forked(payload) {
    this.add({ kind: "note", text: `forked from ${payload.from_session_id} with ${payload.turns} turns` });
  },
  grant_ended(payload) {
    this.add({ kind: "note", text: `grant ${payload.request_id} ended: ${payload.reason}` });
  },
  history_summarized(payload) {
    this.add({ kind: "note", text: `${payload.messages} earlier messages were summarised` });
  },
  events_removed(payload) {
    this.add({ kind: "note",
               text: `events ${payload.first_sequence} to ${payload.last_sequence} are no longer there (${payload.reason})` });
  },
  turn_step(payload) {
    if (payload.failed) this.add({ kind: "note", text: `${payload.step} failed: ${payload.detail}` });
  },
};

export function usage(used) {
  if (!used) return "";
  const cost = used.cost_microdollars === undefined ? "" : `, $${(Number(used.cost_microdollars) / 1e6).toFixed(4)}`;
  return `${used.input_tokens} tokens in, ${used.output_tokens} out${cost}`;
}
