// What needs no document. Run by `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Conversation, usage } from "./conversation.js";
import { lineKind } from "./diff_view.js";
import { matches, recordOf, totalsOf } from "./records.js";
import { KEEP_MS, pathOf, Samples, scaleEnd } from "./samples.js";
import { ago, bytes, exact, output, until } from "./text.js";
import { answersOf, describeAnswer } from "./words.js";

class List {
  items = [];
  edits = 0;
  append(item) { return this.items.push(item) - 1; }
  changed() { this.edits += 1; }
}

function conversationOf(...events) {
  const list = new List();
  const conversation = new Conversation(list);
  events.forEach(([type, payload], index) =>
    conversation.apply({ sequence: index + 1, session_id: "ses_1", payload: { type, payload } }));
  return { conversation, items: list.items };
}

test("hidden characters are named where a person decides", () => {
  assert.equal(exact("rm \u202e-rf\u0000\u001b[2K"), "rm ⟨U+202E⟩-rf⟨U+0000⟩⟨U+001B⟩[2K");
  assert.equal(exact("a\u200bb\ufeffc\u2066d\r"), "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+2066⟩d⟨U+000D⟩");
  assert.equal(exact("tab\tand\nline é 漢"), "tab\tand\nline é 漢");
});

test("output loses escape sequences, and hides nothing else", () => {
  assert.equal(output("\u001b[31mred\u001b[0m\u001b]0;title\u0007!\u202e"), "red!⟨U+202E⟩");
  assert.equal(output("10%\r50%\r100%\ndone\r\n"), "100%\ndone\n");
});

test("quantities and times", () => {
  assert.deepEqual([0, 1023, 1536, 1048576, "3221225472"].map(bytes), ["0 B", "1023 B", "1.5 KiB", "1.0 MiB", "3.0 GiB"]);
  const now = Date.parse("2026-11-28T12:00:00Z");
  assert.equal(ago("2026-11-28T11:59:10Z", now), "50 s ago");
  assert.equal(ago("2026-11-28T09:00:00Z", now), "3 h ago");
  assert.equal(until("2026-11-28T12:01:00Z", now), "in 60 s");
  assert.equal(until("2026-11-28T11:00:00Z", now), "now");
});

test("deltas of one text are one item, and a call begins another", () => {
  const { items } = conversationOf(
    ["turn_started", { turn_id: "t", prompt: "p", sandbox_mode: "read_only" }],
    ["agent_message_delta", { turn_id: "t", delta: "I " }], ["agent_message_delta", { turn_id: "t", delta: "look." }],
    ["tool_call_started", { turn_id: "t", tool_call_id: "c", tool_name: "LS", arguments: { path: "." } }],
    ["tool_call_finished", { turn_id: "t", tool_call_id: "c", success: true, result: { entries: [] } }],
    ["agent_message_delta", { turn_id: "t", delta: "Done." }],
    ["turn_completed", { turn_id: "t", message: "Done.", usage: { input_tokens: 7, output_tokens: 2 } }]);
  assert.deepEqual(items.map((item) => item.kind), ["prompt", "text", "call", "text", "end"]);
  assert.equal(items[1].text, "I look.");
  assert.equal(items[2].state, "done");
  assert.equal(items[4].text, "7 tokens in, 2 out");
});

test("a provider that does not stream is shown too", () => {
  const { items } = conversationOf(["turn_started", { turn_id: "t", prompt: "p" }],
                                   ["turn_completed", { turn_id: "t", message: "At once." }]);
  assert.deepEqual(items.map((item) => [item.kind, item.text]), [["prompt", "p"], ["text", "At once."], ["end", ""]]);
});

test("output belongs to its command, and its beginning goes when it is much", () => {
  const { items } = conversationOf(
    ["exec_command_begin", { turn_id: "opr_1", exec_id: "a", command: ["seq"], cwd: "/workspace" }],
    ["exec_command_begin", { turn_id: "t", exec_id: "b", command: ["true"], cwd: "/workspace" }],
    ...Array.from({ length: 20 }, () => ["exec_command_output_delta", { exec_id: "a", stream: "stdout", delta: "x".repeat(8192) }]),
    ["exec_command_end", { exec_id: "a", outcome: "exited", exit_code: 3 }],
    ["exec_command_end", { exec_id: "b", outcome: "oom_killed", exit_code: -1 }]);
  assert.equal(items[0].size, 65536);
  assert.equal(items[0].cut, true);
  assert.deepEqual([items[0].outcome, items[0].good], ["exit 3", false]);
  assert.deepEqual([items[1].outcome, items[1].output], ["oom_killed", []]);
});

test("a request for approval waits until it is resolved", () => {
  const { conversation, items } = conversationOf(["permission_requested", { request_id: "r", tool_name: "Bash" }]);
  assert.equal(conversation.pending.size, 1);
  conversation.apply({ sequence: 2, payload: { type: "approval_resolved", payload: { request_id: "r", decision: "deny" } } });
  assert.equal(conversation.pending.size, 0);
  assert.equal(items[0].answer.decision, "deny");
});

test("an event that is not known is named and not lost", () => {
  assert.equal(conversationOf(["of_a_later_version", {}]).items[0].text, "event of_a_later_version");
});

test("cost is shown where the operator has set prices", () => {
  assert.equal(usage({ input_tokens: 1, output_tokens: 2, cost_microdollars: 1500 }), "1 tokens in, 2 out, $0.0015");
  assert.equal(usage(undefined), "");
});

test("lines of a diff have their kind", () => {
  assert.deepEqual(["+++ b", "--- a", "@@ -1 +1 @@", "+x", "-x", " x", "\\ No newline"].map(lineKind),
                   ["file", "file", "hunk", "added", "removed", "context", "note"]);
});

const cellOf = (id, cpu, memory = 1024, processes = 3) => ({
  info: { cell_id: id, cpu_usec: String(cpu), memory_bytes: String(memory), processes }, limits: { memory_bytes: "4096" },
});

test("processor time becomes cores of two samples", () => {
  const samples = new Samples();
  samples.add([cellOf("a", 1_000_000)], 10_000);
  samples.add([cellOf("a", 4_000_000)], 12_000);
  assert.deepEqual(samples.cells.get("a").points.map(({ at, cores, memory }) => [at, cores, memory]),
                   [[10_000, null, 1024], [12_000, 1.5, 1024]]);
});

test("samples are of the last minutes, and of cells that live", () => {
  const samples = new Samples();
  samples.add([cellOf("a", 0), cellOf("b", 0)], 0);
  samples.add([cellOf("b", 0), cellOf("c", 0)], KEEP_MS / 2);
  samples.add([cellOf("b", 0), cellOf("c", 0)], KEEP_MS + 1);
  assert.deepEqual([...samples.cells.keys()], ["b", "c"]);
  assert.deepEqual([...samples.cells.values()].map(({ points }) => points.length), [2, 2]);
});

test("a scale ends at the limit where something comes near it", () => {
  assert.equal(scaleEnd(3, 4, 1), 4);
  assert.equal(scaleEnd(5, 4, 1), 5);  // it was beyond it for a moment
  assert.equal(scaleEnd(3, 1000, 1), 4);
  assert.equal(scaleEnd(0, 0, 8), 8);
  assert.equal(scaleEnd(0, 2, 8), 2);
});

test("a line of a plot has a gap where nothing was measured", () => {
  const place = { from: 0, to: 10, end: 4, width: 100, height: 40 };
  assert.equal(pathOf([[0, 0], [5, 2], [6, null], [10, 8]], place), "M0.0 40.0L50.0 20.0M100.0 0.0");
});

const eventOf = (type, payload) => ({ created_at: "2026-11-28T12:00:00.000Z", payload: { type, payload } });
const decisionOf = (verdict, host, program) => eventOf("egress_decided", { decision: { verdict, host, port: 443, program } });

test("records are of what was asked, answered, refused, reached and run", () => {
  const records = [
    eventOf("permission_requested", { tool_name: "Bash", rule: "Bash(rm:*)", arguments: { command: "rm x" } }),
    eventOf("approval_resolved", { decision: "deny", by_uid: 7, by: "client", note: "no" }),
    eventOf("access_denied", { denial: { process: "sh[2]", access: "write", resource: "/usr/x", rule: "mount /usr", count: 1, grant: "g" } }),
    decisionOf("denied", "a.example", "/usr/bin/curl"),
    eventOf("exec_command_begin", { turn_id: "opr_1", command: ["ls", "-l"] }),
    eventOf("agent_message_delta", { delta: "not kept" }),
  ].map(recordOf);
  assert.equal(records.pop(), null);
  assert.deepEqual(records.map(({ kind, verdict }) => [kind, verdict]),
                   [["approval", "asked"], ["approval", "denied"], ["denial", "denied"], ["network", "denied"], ["command", ""]]);
  assert.equal(records[1].text, "denied by uid 7: no");
  assert.equal(records[4].text, "operator: ls -l");
  const found = (filter) => records.filter((record) => matches(record, filter)).map(({ text }) => text);
  assert.deepEqual(found({ text: "RM bash" }), ['Bash asks: {"command":"rm x"} (rule Bash(rm:*))']);
  assert.equal(found({ verdict: "denied" }).length, 3);
  assert.equal(found({ kind: "network", text: "a.example" }).length, 1);
  assert.equal(found({ text: "nothing of it" }).length, 0);
});

test("destinations are counted, the busiest first", () => {
  const records = [decisionOf("denied", "a", "/x"), decisionOf("allowed", "b", "/x"), decisionOf("denied", "b", "/y"),
                   eventOf("turn_cancelled", {})].map(recordOf);
  assert.deepEqual(totalsOf(records).map(({ place, allowed, denied, programs }) => [place, allowed, denied, [...programs]]),
                   [["b:443", 1, 1, ["/x", "/y"]], ["a:443", 0, 1, ["/x"]]]);
});

test("the answers are those of the terminal's question", () => {
  const labels = (request) => answersOf({ rule: "", ...request }).map(([label, key]) => `${key} ${label}`);
  assert.deepEqual(labels({ scope: "Bash: exactly `ls`" }), ["y Allow once", "a Always in this session", "n Deny"]);
  assert.deepEqual(labels({}), ["y Allow once", "n Deny"]);
  const grants = { grants: [{ key: "mount_read", value: "/srv" }] };
  assert.deepEqual(labels({ grants }), ["y Allow this call", "s This session", "n Deny"]);
  assert.deepEqual(labels({ grants, rule: "Network(*)" }), ["y Allow this turn", "s This session", "n Deny"]);
  assert.equal(describeAnswer({ decision: "allow_once", grant_scope: "session", by_uid: 0 }), "allowed for the rest of the session by uid 0");
  assert.equal(describeAnswer({ decision: "deny", grant_scope: "session", by: "timeout", by_uid: 5 }), "denied by agentd (timeout)");
});
