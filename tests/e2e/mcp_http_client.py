"""A client of the Model Context Protocol by HTTP (docs/MCP.md), which shows what is sent and what comes."""

import http.client
import itertools
import json

from world import HANG_S

STATELESS = "2026-07-28"


class Answer:
    """What came for one request: its status, its fields, and its messages as they come."""

    def __init__(self, connection, response):
        self.connection, self.status, self.fields = connection, response.status, response.headers
        self.ids, self._response, self._body = [], response, b""
        if self.fields.get("Content-Type") != "text/event-stream":
            self._body = response.read()
            self.close()

    def messages(self):
        if self.fields.get("Content-Type") != "text/event-stream":
            if self._body:
                yield json.loads(self._body)
            return
        data, event_id = [], None
        for line in self._response:
            name, _, value = line.decode().rstrip("\r\n").partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name == "id":
                event_id = value
            elif not line.strip():
                if event_id is not None:
                    self.ids.append(event_id)
                if any(data):
                    yield json.loads("\n".join(data))
                data, event_id = [], None

    def last(self):
        """The last message, which is the answer of a request."""
        *_, last = self.messages()
        self.close()
        return last

    def close(self):
        self._response.close()
        self.connection.close()


class McpClient:
    """`era`: a stateful version, or STATELESS."""

    def __init__(self, port, token, path="/mcp", era="2025-11-25", capabilities=None):
        self.port, self.token, self.path, self.era = port, token, path, era
        self.capabilities = {} if capabilities is None else capabilities
        self.session, self.last_id, self._ids = None, None, itertools.count(1)
        self.on_request = lambda method, params: {"action": "cancel"}
        self.asked, self.progress = [], []

    # bytes

    def send(self, method, body=None, fields=None):
        """One request of HTTP. A field that is None is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)
        all_fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                      "Authorization": f"Bearer {self.token}", "Mcp-Session-Id": self.session,
                      "MCP-Protocol-Version": self.era if self.session or self.era == STATELESS else None,
                      **(fields or {})}
        connection.request(method, self.path, body if body is None or isinstance(body, bytes) else json.dumps(body),
                           {name: value for name, value in all_fields.items() if value is not None})
        return Answer(connection, connection.getresponse())

    def request(self, method, params=None, fields=None):
        """One request of the protocol, as its era has it."""
        params = dict(params or {})
        routing = {}
        if self.era == STATELESS:
            params["_meta"] = {"io.modelcontextprotocol/protocolVersion": STATELESS,
                               "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                               "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                               **params.get("_meta", {})}
            routing = {"Mcp-Method": method, "Mcp-Name": params.get("name")}
        self.last_id = next(self._ids)
        return self.send("POST", {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params},
                         {**routing, **(fields or {})})

    # the protocol

    def open(self):
        answer = self.request("initialize", {"protocolVersion": self.era, "capabilities": self.capabilities,
                                             "clientInfo": {"name": "test", "version": "1"}})
        done = answer.last()
        assert answer.status == 200 and "result" in done, (answer.status, done)
        self.session, self.era = answer.fields["Mcp-Session-Id"], done["result"]["protocolVersion"]
        assert self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        return done["result"]

    def finish(self, answer):
        """The answer's last message; what the server asks for in between is answered."""
        last = None
        for last in answer.messages():
            if last.get("method") == "notifications/progress":
                self.progress.append(last["params"])
            elif "method" in last and "id" in last:
                self.asked.append(last["params"])
                reply = {"jsonrpc": "2.0", "id": last["id"], "result": self.on_request(last["method"], last["params"])}
                assert self.send("POST", reply).status == 202
        answer.close()
        return last

    def call(self, method, **params):
        last = self.finish(self.request(method, params))
        assert "result" in last, last
        return last["result"]

    def tool(self, name, **arguments):
        return self.call("tools/call", name=name, arguments=arguments)

    def refused(self, method, params=None, fields=None):
        """The status of HTTP, and the error."""
        answer = self.request(method, params, fields)
        return answer.status, answer.last()["error"]
