#!/usr/bin/env node
'use strict';
// Prints each event of a session once, also over restarts of agentd. usage: follow_events.js SESSION [AFTER]
// A line an event: its sequence number, its type, its fields as JSON. AFTER is the last sequence number that was read.

const { odyssey, client, show, status } = require('./odyssey_api');

const socket = process.env.ODYSSEY_AGENTD_SOCKET || '/run/odyssey/agentd.sock';
const sessions = client(odyssey.agent.v1.SessionService, socket);
const giveUpMs = 30_000; // without agentd

async function follow(session, after = '0') {
  let giveUp = Date.now() + giveUpMs;
  for (;;) {
    try {
      for await (const event of sessions.Subscribe({ session_id: session, after_sequence: after, follow: true })) {
        // No payload: of a type that these .proto files do not have.
        console.log(event.sequence, event.payload, JSON.stringify(event[event.payload] || {}));
        after = event.sequence; // where the next subscription goes on
        giveUp = Date.now() + giveUpMs;
      }
    } catch (error) {
      if (error.code !== status.UNAVAILABLE || Date.now() > giveUp) throw error; // NOT_FOUND: the session was removed
      console.error(`lost agentd after event ${after}; connecting again`);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

follow(...process.argv.slice(2)).catch((error) => { show(error); process.exitCode = 1; sessions.close(); });
