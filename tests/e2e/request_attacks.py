"""Requests that are refused, as tables: what is sent, and what is answered and recorded.

`~` in a first line is the place of the target's `http://HOST` where the way out wants it.
"""

import dataclasses

REST, GRAPHQL, JSON_RPC, MCP = ("api.example.com", "graph.example.com", "rpc.example.com",
                                "mcp.example.com")

POLICY = """
version: 1
network_policies:
  rest:
    endpoints:
      - host: api.example.com
        ports: [80, 443]
        protocol: rest
        enforcement: enforce
        rules:
          - allow: {method: GET, path: "/v1/*"}
          - allow: {method: POST, path: /v1/items}
          - allow: {method: GET, path: /search, query: {tag: "v1*"}}
        deny_rules:
          - {method: GET, path: /v1/secret}
          - {method: GET, path: "/v1/*", query: {debug: "*"}}
      - host: graph.example.com
        ports: [80, 443]
        path: /graphql
        protocol: graphql
        enforcement: enforce
        rules: [{allow: {operation_type: query, fields: [viewer, repository]}}]
      - host: rpc.example.com
        ports: [80, 443]
        protocol: json-rpc
        enforcement: enforce
        rules: [{allow: {method: initialize}}, {allow: {method: tools/list}}]
      - host: mcp.example.com
        ports: [80, 443]
        protocol: mcp
        enforcement: enforce
        rules: [{allow: {method: initialize}}, {allow: {method: tools/list}}, {allow: {tool: "read_*"}}]
    binaries: [{path: "/usr/bin/python3*"}]
"""


@dataclasses.dataclass(frozen=True)
class Attack:
    name: str
    sent: bytes
    status: int = 400
    code: str = "malformed_request"
    grant: bool = False  # one that the policy could have
    host: str = REST


def message(first, lines=b"", body=b"", host=REST):
    return first + b" HTTP/1.1\r\nHost: " + host.encode() + b"\r\n" + lines + b"\r\n" + body


def get(path, lines=b""):
    return message(b"GET ~" + path, lines)


def post(lines, body=b"hello"):
    return message(b"POST ~/v1/items", lines, body)


def _with_length(path, body, host, lines=b""):
    return message(b"POST ~" + path, lines + b"Content-Type: application/json\r\n"
                   b"Content-Length: %d\r\n" % len(body), body, host)


_CL, _CHUNKED = b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"

# Two servers could read where the message ends, or what it holds, in two ways.
FRAMING = [Attack(name, post(lines)) for name, lines in (
    ("CL and TE", _CL + _CHUNKED),
    ("TE and CL", _CHUNKED + _CL),
    ("two CL", _CL + b"Content-Length: 6\r\n"),
    ("two equal CL", _CL + _CL),
    ("CL list", b"Content-Length: 5, 5\r\n"),
    ("CL with a sign", b"Content-Length: +5\r\n"),
    ("CL below zero", b"Content-Length: -5\r\n"),
    ("CL with a space", b"Content-Length: 5 5\r\n"),
    ("CL hexadecimal", b"Content-Length: 0x5\r\n"),
    ("CL with a zero before", b"Content-Length: 05\r\n"),
    ("CL beyond 64 bits", b"Content-Length: 18446744073709551621\r\n"),
    ("CL empty", b"Content-Length:\r\n"),
    ("two TE", _CHUNKED + _CHUNKED),
    ("TE gzip, chunked", b"Transfer-Encoding: gzip, chunked\r\n"),
    ("TE chunked, gzip", b"Transfer-Encoding: chunked, gzip\r\n"),
    ("TE chunked twice", b"Transfer-Encoding: chunked, chunked\r\n"),
    ("TE chunked and a comma", b"Transfer-Encoding: chunked,\r\n"),
    ("TE identity", b"Transfer-Encoding: identity\r\n"),
    ("TE xchunked", b"Transfer-Encoding: xchunked\r\n"),
    ("TE with a vertical tab", b"Transfer-Encoding: \x0bchunked\r\n"),
    ("TE in quotes", b"Transfer-Encoding: \"chunked\"\r\n"),
    ("space before the colon", b"Transfer-Encoding : chunked\r\n"),
    ("TE in a line that continues", b"Transfer-Encoding:\r\n chunked\r\n"),
    ("a line that continues", _CL + b"X-A: a\r\n b\r\n"),
    ("LF alone", _CL + b"X-A: a\nX-B: b\r\n"),
    ("CR alone", _CL + b"X-A: a\rX-B: b\r\n"),
    ("NUL in a value", _CL + b"X-A: a\0b\r\n"),
    ("a control character in a value", _CL + b"X-A: a\x01b\r\n"),
    ("DEL in a value", _CL + b"X-A: a\x7fb\r\n"),
    ("a control character in a name", _CL + b"X-\x01A: a\r\n"),
    ("NUL in a name", _CL + b"X-\0A: a\r\n"),
    ("no name", _CL + b": a\r\n"),
    ("no colon", _CL + b"X-A\r\n"),
    ("a value without ASCII", _CL + b"X-A: \xc3\xa4\r\n"),
)] + [
    Attack("TE in HTTP/1.0", b"POST ~/v1/items HTTP/1.0\r\nHost: api.example.com\r\n" + _CHUNKED +
           b"\r\n0\r\n\r\n"),
]

TARGETS = [Attack("path " + path.decode("latin-1"), get(path)) for path in (
    b"/v1/..%2fv2", b"/v1%2fa", b"/v1/%5ca", b"/v1/%00", b"/v1/%2e%2e/v2", b"/v1/%2E", b"/v1/a/../b",
    b"/v1/./a", b"/../v1/a", b"//v1/a", b"/v1//a", b"/v1/a;x=y", b"/v1/a%3bx", b"/v1/%252e%252e/v2",
    b"/v1/%zz", b"/v1/a%", b"/v1/%c3", b"/v1/%0d%0aX:y", b"/v1/a#b", b"/v1/a\\b", b"/v1/a b",
    b"/v1/a\tb", b"/v1/\xc3\xa4", b"/search?tag=v1;tag=v2", b"/search?tag=%zz",
)] + [
    Attack("* without OPTIONS", message(b"GET *")),
    Attack("a head that has no version", b"GET ~/v1/a\r\n\r\n"),
    Attack("HTTP/1.2", b"GET ~/v1/a HTTP/1.2\r\nHost: api.example.com\r\n\r\n"),
    Attack("HTTP/2.0", b"GET ~/v1/a HTTP/2.0\r\nHost: api.example.com\r\n\r\n"),
    Attack("HTTP/0.9", b"GET ~/v1/a HTTP/0.9\r\nHost: api.example.com\r\n\r\n"),
    Attack("a target beyond 8 KiB", get(b"/v1/" + b"a" * 8192), 414, "target_too_long"),
    Attack("101 fields", get(b"/v1/a", b"X-A: b\r\n" * 100), 431, "head_too_large"),
    Attack("a head beyond 64 KiB", get(b"/v1/a", b"X-A: " + b"b" * 65536 + b"\r\n"), 431,
           "head_too_large"),
]

HOSTS = [
    Attack("no Host", b"GET ~/v1/a HTTP/1.1\r\n\r\n"),
    Attack("two Host", b"GET ~/v1/a HTTP/1.1\r\nHost: api.example.com\r\nHost: api.example.com\r\n\r\n"),
    Attack("userinfo in Host", b"GET ~/v1/a HTTP/1.1\r\nHost: x@api.example.com\r\n\r\n"),
    Attack("two hosts in Host", b"GET ~/v1/a HTTP/1.1\r\nHost: api.example.com, other.example.org\r\n\r\n"),
    Attack("NUL in Host", b"GET ~/v1/a HTTP/1.1\r\nHost: api.example.com\0.other.example.org\r\n\r\n"),
    Attack("a zone in Host", b"GET ~/v1/a HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n"),
]

# Another host than the connection's.
OTHER_HOSTS = [
    b"Host: other.example.org", b"Host: www.example.com", b"Host: api.example.com:8080",
    b"Host: api.example.com.other.example.org",
]

METHODS = [
    Attack("get", message(b"get ~/v1/a"), 403, "policy_denied"),
    Attack("an unknown method", message(b"PROPFIND ~/v1/a"), 403, "policy_denied"),
    Attack("a method of the wrong case", message(b"Post ~/v1/items", _CL, b"hello"), 403,
           "policy_denied"),
    Attack("TRACE", message(b"TRACE ~/v1/a"), 405, "method_not_allowed"),
    Attack("TRACK", message(b"TRACK ~/v1/a"), 405, "method_not_allowed"),
    Attack("a method that is none", message(b"G(T ~/v1/a")),
    Attack("DELETE", message(b"DELETE ~/v1/a"), 403, "policy_denied", True),
    Attack("a path below `*`", get(b"/v1/admin/secrets"), 403, "policy_denied", True),
    Attack("another path", get(b"/v2/a"), 403, "policy_denied", True),
    Attack("a path in another case", get(b"/V1/a"), 403, "policy_denied", True),
    Attack("what is denied", get(b"/v1/secret"), 403, "policy_denied"),
    Attack("what is denied, by HEAD", message(b"HEAD ~/v1/secret"), 403, "policy_denied"),
    Attack("what is denied, encoded", get(b"/v1/%73ecret"), 403, "policy_denied"),
    Attack("another value", get(b"/search?tag=v2"), 403, "policy_denied", True),
    Attack("another value, encoded", get(b"/search?%74ag=%762"), 403, "policy_denied", True),
    Attack("no value", get(b"/search"), 403, "policy_denied", True),
    Attack("two values, of which one matches", get(b"/search?tag=v1&tag=v2"), 403, "policy_denied",
           True),
    Attack("a value that is denied beside others", get(b"/v1/a?x=y&debug=1"), 403, "policy_denied"),
    Attack("an override in a query", get(b"/v1/a?_method=DELETE"), 403, "policy_denied", True),
    Attack("an override in a form", message(
        b"POST ~/v1/items", b"Content-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: 14\r\n", b"_method=DELETE"), 403, "policy_denied", True),
] + [Attack(name, post(_CL + name.encode() + b": DELETE\r\n"), 403, "policy_denied", True)
     for name in ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method")]

CONNECTION = [
    Attack("a field that Connection names", get(b"/v1/a", b"Connection: authorization, host\r\n")),
    Attack("CL in Connection", post(_CL + b"Connection: content-length\r\n")),
    Attack("an unknown expectation", get(b"/v1/a", b"Expect: something\r\n"), 417,
           "expectation_failed"),
    Attack("early data", get(b"/v1/a", b"Early-Data: 1\r\n"), 425, "early_data"),
    Attack("h2c", get(b"/v1/a", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                      b"HTTP2-Settings: AAMAAABk\r\n"), 403, "policy_denied"),
    Attack("TLS within", get(b"/v1/a", b"Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n"), 403,
           "policy_denied"),
]

_UPGRADE = (b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
# With `protocol: rest` an allowed GET may open a WebSocket.
UPGRADES = [Attack("an upgrade", message(b"GET ~" + path, _UPGRADE, host=host), 403, "policy_denied",
                   host=host, grant=host == REST)
            for host, path in ((REST, b"/x/a"), (GRAPHQL, b"/graphql"), (JSON_RPC, b"/"), (MCP, b"/"))]


def _graphql(name, body, grant=False, status=403, code="policy_denied", lines=b""):
    return Attack(name, _with_length(b"/graphql", body, GRAPHQL, lines), status, code, grant, GRAPHQL)


GRAPHQL_ATTACKS = [
    _graphql("another field", b'{"query":"{ secret }"}', True),
    _graphql("an alias", b'{"query":"{ viewer: secret }"}', True),
    _graphql("a field behind an alias", b'{"query":"{ a: viewer b: secret }"}', True),
    _graphql("a fragment", b'{"query":"query { ...f } fragment f on Query { secret }"}', True),
    _graphql("an inline fragment", b'{"query":"{ viewer ... on Query { secret } }"}', True),
    _graphql("a mutation", b'{"query":"mutation { viewer }"}', True),
    _graphql("a batch", b'[{"query":"{ viewer }"},{"query":"{ secret }"}]', True),
    _graphql("two operations without a name", b'{"query":"query a { viewer } query b { secret }"}'),
    _graphql("no document", b'{"query":"{"}'),
    _graphql("no JSON", b'query=1'),
    _graphql("a key twice", b'{"query":"{ viewer }","query":"{ secret }"}', False, 400,
             "malformed_request"),
    _graphql("a persisted query", b'{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"ab"}}}'),
    _graphql("compressed", b'{"query":"{ viewer }"}', False, 415, "unsupported_media_type",
             b"Content-Encoding: gzip\r\n"),
    Attack("`query` twice", message(b"GET ~/graphql?query={viewer}&query={secret}", host=GRAPHQL), 400,
           "malformed_request", False, GRAPHQL),
    Attack("another path", message(b"GET ~/other", host=GRAPHQL), 403, "policy_denied", False, GRAPHQL),
]


def _rpc(name, body, host, status=403, code="policy_denied", grant=False, lines=b""):
    return Attack(name, _with_length(b"/", body, host, lines), status, code, grant, host)


def _call(method, more=b""):
    return b'{"jsonrpc":"2.0","id":1,"method":"' + method + b'"' + more + b"}"


RPC_ATTACKS = [
    _rpc("another method", _call(b"tools/delete"), JSON_RPC, grant=True),
    _rpc("a batch", b"[" + _call(b"initialize") + b"," + _call(b"tools/delete") + b"]", JSON_RPC,
         grant=True),
    _rpc("a key twice", _call(b"initialize", b',"method":"tools/delete"'), JSON_RPC, 400,
         "malformed_request"),
    _rpc("a method that is no text", b'{"jsonrpc":"2.0","id":1,"method":7}', JSON_RPC),
    _rpc("no JSON", b"{", JSON_RPC),
    _rpc("a response", b'{"jsonrpc":"2.0","id":1,"result":{}}', JSON_RPC),
    _rpc("compressed", _call(b"initialize"), JSON_RPC, 415, "unsupported_media_type",
         lines=b"Content-Encoding: gzip\r\n"),
    _rpc("another tool", _call(b"tools/call", b',"params":{"name":"write_file"}'), MCP, grant=True),
    _rpc("a tool that is no name", _call(b"tools/call", b',"params":{"name":"read_ x"}'), MCP),
    _rpc("a tool without a name", _call(b"tools/call"), MCP),
    _rpc("a batch of MCP", b"[" + _call(b"initialize") + b"]", MCP),
    _rpc("a method of MCP", _call(b"resources/read"), MCP, grant=True),
    _rpc("Mcp-Method", _call(b"initialize"), MCP, 400, "malformed_request",
         lines=b"Mcp-Method: tools/list\r\n"),
    _rpc("Mcp-Name", _call(b"tools/call", b',"params":{"name":"read_a"}'), MCP, 400,
         "malformed_request", lines=b"Mcp-Method: tools/call\r\nMcp-Name: read_b\r\n"),
]

ALL = (FRAMING + TARGETS + HOSTS + METHODS + CONNECTION + UPGRADES + GRAPHQL_ATTACKS + RPC_ATTACKS)
