"""Policies in OpenShell's dialect, as its documentation writes them: each loads unchanged, lets
through what it allows, and refuses what it does not.
"""

import dataclasses

import world
from egress_test import EgressWorld
from network import PRIVATE, PUBLIC
from upstreams import start

# The documentation's first example, whole.
FIRST = """\
version: 1
# Static: locked at sandbox creation. Paths the agent can read vs read/write.
filesystem_policy:
  read_only: [/usr, /lib, /etc]
  read_write: [/sandbox, /tmp]
# Static: Landlock LSM kernel enforcement. best_effort uses highest ABI the host supports.
landlock:
  compatibility: best_effort
# Static: Unprivileged user/group the agent process runs as.
process:
  run_as_user: sandbox
  run_as_group: sandbox
# Dynamic: hot-reloadable. Named blocks of endpoints + binaries allowed to reach them.
network_policies:
  my_api:
    name: my-api
    endpoints:
      - host: api.example.com
        port: 443
        protocol: rest
        tls: terminate
        enforcement: enforce
        access: full
    binaries:
      - path: /usr/bin/curl
# Dynamic: hot-reloadable. Routing hints this sandbox can use for inference (e.g. local, nvidia).
inference:
  allowed_routes: [local]
"""


def policy(endpoint, binary="/usr/bin/curl"):
    return f"""\
version: 1
network_policies:
  example:
    endpoints:
      - {endpoint}
    binaries:
      - {{path: {binary}}}
"""


@dataclasses.dataclass(frozen=True)
class Example:
    """`allowed`, `refused`: arguments of curl. `status`: of what is refused; "000": no answer."""
    name: str
    policy: str
    allowed: tuple
    refused: tuple
    status: str = "403"


def _post(url, body):
    return (url, "-H", "Content-Type: application/json", "-d", body)


def _rpc(host, method, params="{}"):
    return _post(f"https://{host}/", f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}')


API = "https://api.example.com"
EXAMPLES = (
    Example("the first example", FIRST, (API + "/x", "-X", "DELETE"), ("https://www.example.com/",), "000"),
    Example("bytes", policy("{host: api.example.com, port: 443}"), (API + "/x",),
            ("https://api.example.com:8443/",), "000"),
    Example("two ports", policy("{host: api.example.com, ports: [80, 443]}"),
            ("http://api.example.com/x",), ("http://api.example.com:8080/",)),
    Example("read-only", policy("{host: api.example.com, port: 443, protocol: rest, enforcement: enforce, "
                                "access: read-only}"), (API + "/x",), (API + "/x", "-d", "a")),
    Example("read-write", policy("{host: api.example.com, port: 443, protocol: rest, enforcement: enforce, "
                                 "access: read-write}"), (API + "/x", "-X", "PATCH"),
            (API + "/x", "-X", "DELETE")),
    Example("rules", policy("{host: api.example.com, port: 443, protocol: rest, enforcement: enforce, rules: "
                            "[{allow: {method: GET, path: /repos/**}}]}"),
            (API + "/repos/a/b",), (API + "/user",)),
    Example("deny rules", policy("{host: api.example.com, port: 443, protocol: rest, enforcement: enforce, "
                                 "access: full, deny_rules: [{method: POST, path: /repos/*/merges}]}"),
            (API + "/repos/a/issues", "-d", "x"), (API + "/repos/a/merges", "-d", "x")),
    Example("a query", policy("{host: api.example.com, port: 443, protocol: rest, enforcement: enforce, rules: "
                              "[{allow: {method: GET, path: /v1/**, query: {tag: {any: [a, b*]}}}}]}"),
            (API + "/v1/x?tag=b1",), (API + "/v1/x?tag=c",)),
    Example("a host by one label", policy("{host: '*.example.com', port: 443}"), (API + "/x",),
            ("https://a.b.example.com/",), "000"),
    Example("a host by labels", policy("{host: '**.example.com', port: 443}"), ("https://a.b.example.com/x",),
            ("https://other.example.org/",), "000"),
    Example("any program", policy("{host: api.example.com, port: 443}", "/**"), (API + "/x",),
            ("https://www.example.com/",), "000"),
    Example("a private network", policy("{host: inside.example.com, port: 80, allowed_ips: [10.0.0.0/8]}"),
            ("http://inside.example.com/x",), ("http://api.example.com/",)),
    Example("any host of a private network", policy("{port: 80, allowed_ips: [10.9.0.0/16]}"),
            (f"http://{PRIVATE}/x",), (f"http://{PUBLIC}/",)),
    Example("a tunnel that is left alone", policy("{host: api.example.com, port: 443, tls: skip}"),
            (API + "/x",), ("https://www.example.com/",), "000"),
    Example("names for programs without a proxy", policy("{host: db.corp.example, port: 80, protocol: tcp}"),
            ("http://db.corp.example/x", "--noproxy", "*"), ("http://www.example.com/", "--noproxy", "*"), "000"),
    Example("graphql", policy("{host: graph.example.com, port: 443, path: /graphql, protocol: graphql, "
                              "enforcement: enforce, rules: [{allow: {operation_type: query, fields: [viewer]}}]}"),
            _post("https://graph.example.com/graphql", '{"query":"{ viewer { login } }"}'),
            _post("https://graph.example.com/graphql", '{"query":"mutation { remove }"}')),
    Example("json-rpc", policy("{host: rpc.example.com, port: 443, protocol: json-rpc, enforcement: enforce, "
                               "rules: [{allow: {method: initialize}}]}"),
            _rpc("rpc.example.com", "initialize"), _rpc("rpc.example.com", "tools/delete")),
    Example("mcp", policy("{host: mcp.example.com, port: 443, protocol: mcp, enforcement: enforce, "
                          "mcp: {max_body_bytes: 4096, strict_tool_names: true}, "
                          "rules: [{allow: {method: initialize}}, {allow: {tool: 'read_*'}}]}"),
            _rpc("mcp.example.com", "tools/call", '{"name":"read_file"}'),
            _rpc("mcp.example.com", "tools/call", '{"name":"write_file"}')),
)

# A refused request is recorded, and goes on. It has to be written: the default is to refuse.
AUDITED = policy("{host: api.example.com, port: 443, protocol: rest, access: read-only, enforcement: audit}")


class ExamplesTest(EgressWorld):
    @classmethod
    def serve(cls):
        answers = {path: b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n".hex() for path in (
            "/", "/x", "/repos/a/b", "/user", "/repos/a/issues", "/repos/a/merges", "/v1/x?tag=b1",
            "/v1/x?tag=c", "/graphql")}
        cls.servers = [start(cls.network, kind, address, port, answers) for kind, address, port in (
            ("answers", PUBLIC, 80), ("answers", PRIVATE, 80), ("answers", PUBLIC, 8080),
            ("tls-answers", PUBLIC, 443), ("tls-answers", PUBLIC, 8443))]

    def ask(self, file, arguments):
        done = self.run_in_cell("curl", "-s", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code}",
                                *arguments, policy=file)
        return done.out or done

    def received(self):
        return b"".join(server.all_received() for server in self.servers)

    def test_examples(self):
        for example in EXAMPLES:
            with self.subTest(example.name):
                file = self.world.make("example.yaml", example.policy)
                done = self.world.ctl("policy", "check", file)
                self.assertEqual(done.code, 0, done)
                self.assertEqual(self.ask(file, example.allowed), "200")
                before = self.received()
                self.assertEqual(self.ask(file, example.refused), example.status)
                self.assertEqual(self.received(), before)

    def test_an_audited_request_goes_on(self):
        file = self.world.make("audited.yaml", AUDITED)
        self.assertEqual(self.ask(file, (API + "/x", "-d", "a")), "200")
        self.assertRecord(host="api.example.com", verdict="audited", method="POST")
        file = self.world.make("default.yaml", AUDITED.replace(", enforcement: audit", ""))
        self.assertEqual(self.ask(file, (API + "/x", "-d", "a")), "403")


if __name__ == "__main__":
    world.main()
