"""Bundles whose model is a scenario, written where a test wants them."""

import json
import os

TOOLS = ("Bash", "LS", "Read", "Write", "Edit", "MultiEdit")


def write(directory, steps, *, rules=None, mode="workspace_write", network=(), read=(), write_=(),
          resources=None, bundle_id="probe", model=None, env=None, tools=None, programs=(),
          tools_mode="standard", offered=TOOLS, skills=(), memory=None, network_policies=None, servers=None,
          image=None):
    """A bundle directory; its path.

    `steps` are the scenario's (docs/SCRIPT.md), `rules` the agent's allow, ask and deny,
    `model` another one than the scenario. `tools` are the named system tools of a manifest that has
    no mode for them, `programs` the bundle's own, `offered` the model's tools, `skills` of a text each, by name,
    `servers` the manifest's mcp_servers, `image` the root of its cells.
    """
    os.makedirs(directory, exist_ok=True)
    mounts = {key: list(paths) for key, paths in (("read", read), ("write", write_)) if paths}
    permissions = {"network": list(network)}
    if network_policies:
        permissions["network_policies"] = network_policies
    filesystem = {"mounts": mounts} if mounts else {}
    if programs:
        filesystem["exec"] = list(programs)
    if filesystem:
        permissions["filesystem"] = filesystem
    sandbox = {"mode": mode, "permissions": permissions}
    if tools is None:
        sandbox["system_tools_mode"] = tools_mode
    else:
        sandbox["system_tools"] = list(tools)
    if env:
        sandbox["env"] = env
    if image:
        sandbox["image"] = image
    if resources:
        sandbox["resources"] = resources
    manifest = {
        "id": bundle_id, "version": "0.1.0", "manifest_version": "odyssey.bundle/v1",
        "readme": "README.md", "agent_spec": "agent.yaml",
        "executor": {"type": "prebuilt", "id": "react"},
        "tools": [{"name": tool} for tool in offered], "sandbox": sandbox,
    }
    if memory:
        manifest["memory"] = memory
    if servers:
        manifest["mcp_servers"] = servers
    if skills:
        manifest["skills"] = [{"name": name, "path": f"./skills/{name}"} for name in skills]
        for name, text in skills.items():
            os.makedirs(os.path.join(directory, "skills", name), exist_ok=True)
            with open(os.path.join(directory, "skills", name, "SKILL.md"), "w", encoding="utf-8") as file:
                file.write(text)
    agent = {"id": bundle_id, "description": "A probe.", "prompt": "You probe.",
             "model": model or {"provider": "script", "name": "scenario.yaml"},
             "tools": rules or {"allow": ["*"]}}
    # JSON is JSON5 and YAML.
    for name, content in (("odyssey.bundle.json5", manifest), ("agent.yaml", agent),
                          ("scenario.yaml", {"scenario": 1, "steps": steps})):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
    with open(os.path.join(directory, "README.md"), "w", encoding="utf-8") as file:
        file.write("# probe\n")
    return directory


def bash(command, result="r", **arguments):
    """A step: one call of Bash."""
    return {"call": {"tool": "Bash", "args": {"command": command, **arguments}, "as": result}}


def call(tool, result="r", **arguments):
    return {"call": {"tool": tool, "args": arguments, "as": result}}


def say(text):
    return {"say": text}
