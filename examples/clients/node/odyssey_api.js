'use strict';
// What the examples share: the services, a connection, calls, and how an error is shown. @grpc/proto-loader reads the .proto files.

const fs = require('fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const include = process.env.ODYSSEY_INCLUDE || '/usr/include'; // where odyssey-dev installs odyssey/
const files = fs.readdirSync(`${include}/odyssey`).flatMap((name) =>
  fs.readdirSync(`${include}/odyssey/${name}/v1`).map((file) => `odyssey/${name}/v1/${file}`));
// Names as in the files, enums by name, 64 bits as text; a oneof's name has the name of the field that is set.
const definitions = loader.loadSync(files, {
  includeDirs: [include], keepCase: true, longs: String, enums: String, defaults: true, oneofs: true,
});
const { odyssey } = grpc.loadPackageDefinition(definitions);

// client(odyssey.agent.v1.SessionService, '/run/odyssey/agentd.sock')
function client(Service, socket) {
  // gRPC itself waits longer and longer between its attempts, and takes no message above 4 MiB.
  const options = { 'grpc.max_reconnect_backoff_ms': 1000, 'grpc.max_receive_message_length': 17 << 20 };
  return new Service(`unix:${socket}`, grpc.credentials.createInsecure(), options);
}

// await call(client, 'GetSession', {session_id: '…'}): a call with one request and one response.
function call(stub, method, request, seconds = 30) {
  const deadline = new Date(Date.now() + 1000 * seconds);
  return new Promise((resolve, reject) =>
    stub[method](request, { deadline }, (error, response) => (error ? reject(error) : resolve(response))));
}

// Code and message, and of the details the field, the value and what is allowed.
function show(error) {
  console.error(`${grpc.status[error.code] || error.name}: ${error.details || error.message}`);
  for (const bytes of (error.metadata || new grpc.Metadata()).get('grpc-status-details-bin')) {
    for (const detail of definitions['odyssey.policy.v1.ErrorDetails'].deserialize(bytes).details) {
      if (!detail.type_url.endsWith('/odyssey.policy.v1.Failure')) continue; // other types may come beside it
      const failure = definitions['odyssey.policy.v1.Failure'].deserialize(detail.value);
      for (const name of ['field', 'value', 'allowed', 'hint']) {
        if (failure[name]) console.error(`  ${name}: ${failure[name]}`);
      }
    }
  }
}

module.exports = { odyssey, client, call, show, status: grpc.status };
