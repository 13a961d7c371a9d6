#!/usr/bin/env node
'use strict';
// Runs one turn of a bundle and answers what it asks. usage: run_turn.js BUNDLE PROMPT allow|deny
// BUNDLE is a directory or a reference. A program that asks a person shows all of the request before it answers.

const { randomUUID } = require('crypto');
const fs = require('fs');
const path = require('path');
const { odyssey, client, call, show } = require('./odyssey_api');

const socket = process.env.ODYSSEY_AGENTD_SOCKET || '/run/odyssey/agentd.sock';
const sessions = client(odyssey.agent.v1.SessionService, socket);
const approvals = client(odyssey.agent.v1.ApprovalService, socket);

async function answer(request, decision) {
  console.log(`${request.tool_name} asks, by the rule ${request.rule}: ${request.arguments_json}`);
  const { resolved } = await call(approvals, 'ResolveApproval', {
    request_id: request.request_id, digest: request.digest, note: 'by the example',
    decision: decision === 'allow' ? 'DECISION_ALLOW_ONCE' : 'DECISION_DENY',
  });
  console.log(resolved ? `answered: ${decision}` : 'another client has answered, or the time was over');
}

async function run(bundle, prompt, decision) {
  if (fs.existsSync(bundle)) bundle = path.resolve(bundle);
  const { session } = await call(sessions, 'CreateSession', { bundle, cwd: process.cwd() });
  console.log(`session ${session.id}`);
  // A call with the same key may be repeated after a lost connection: there is one turn all the same.
  const turn = await call(sessions, 'SubmitTurn', {
    session_id: session.id, prompt, deadline_ms: 600_000, idempotency_key: randomUUID(),
  });
  const events = sessions.Subscribe({ session_id: session.id, after_sequence: turn.after_sequence, follow: true });
  for await (const event of events) {
    const payload = event[event.payload]; // undefined: of a type that these .proto files do not have
    if (event.payload === 'permission_requested') await answer(payload, decision);
    if (event.payload === 'tool_call_finished') console.log(`${payload.tool_name}: ${payload.result_json}`);
    if (['turn_completed', 'turn_failed', 'turn_cancelled'].includes(event.payload)) {
      console.log(`${event.payload}: ${payload.message || ''}`);
      events.on('error', () => {}); // which the cancellation is
      events.cancel(); // or it would keep this program running
      return event.payload === 'turn_completed' ? 0 : 1;
    }
  }
  throw new Error('the events ended before the turn');
}

run(...process.argv.slice(2))
  .catch((error) => { show(error); return 1; })
  .then((code) => { process.exitCode = code; sessions.close(); approvals.close(); });
