#!/usr/bin/env node
'use strict';
// Runs a command in a cell of its own. usage, as root: run_command.js COMMAND [WORD…]; ends as the command does.

const { odyssey, client, call, show } = require('./odyssey_api');

const socket = process.env.ODYSSEY_SUPERVISOR_SOCKET || '/run/odyssey/supervisor.sock';
const supervisor = client(odyssey.supervisor.v1.Supervisor, socket);

async function run(argv) {
  const { cell } = await call(supervisor, 'PrepareCell', {
    key: { agent_id: 'example', kind: 'command', component: `run-${process.pid}` },
    sandbox: {
      mode: 'MODE_WORKSPACE_WRITE', network: 'NETWORK_NONE', executables_mode: 'EXECUTABLES_MODE_STANDARD',
    },
    ephemeral: true, // nothing of it stays on disk
    single_use: true, // the cell ends with the command, or with this client
  }, 60);
  // Both directions are streams: after `start` could come stdin, signals and the size of a terminal.
  const exec = supervisor.Exec({ deadline: new Date(Date.now() + 90_000) });
  exec.write({ start: { cell_id: cell.cell_id, argv, wall_clock_ms: 60_000 } });
  exec.end();
  let outcome;
  for await (const answer of exec) {
    if (answer.output) {
      (answer.output.stream === 'OUTPUT_STREAM_STDERR' ? process.stderr : process.stdout).write(answer.output.data);
    } else if (answer.denial) {
      const { access, resource, rule, grant } = answer.denial;
      console.error(`denied: ${access} ${resource} by ${rule}; would need ${grant || 'nothing'}`);
    } else if (answer.outcome) {
      outcome = answer.outcome; // the last one
    }
  }
  console.error(`${outcome.kind} exit_code=${outcome.exit_code} signal=${outcome.signal} ${outcome.message}`);
  return outcome.kind === 'OUTCOME_KIND_EXITED' ? outcome.exit_code : 125;
}

run(process.argv.slice(2))
  .catch((error) => { show(error); return 125; })
  .then((code) => { process.exitCode = code; supervisor.close(); });
