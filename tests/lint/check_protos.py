#!/usr/bin/env python3
"""Fails where an interface of today breaks a client that was built against the last release.

usage: check_protos.py ROOT            compare ROOT/proto with the newest of ROOT/proto/released
       check_protos.py ROOT --write    record ROOT/proto as the release that CMakeLists.txt names, if it breaks nothing

A release is a text file: a line for each file, message, field, enum, value, reserved number, service and method. Added
things are no violation. A removed field or value needs its number `reserved`; nothing else may be removed or changed,
names included: JSON, journals and generated code have them.
"""

import os
import re
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

from source_tree import finish

FIELD = descriptor_pb2.FieldDescriptorProto
MAX_SPAN = 1000  # each is a line


def compile_protos(root):
    """The FileDescriptorSet of ROOT/proto/odyssey, without what it imports from elsewhere."""
    proto = os.path.join(root, "proto")
    files = sorted(os.path.relpath(os.path.join(directory, name), proto)
                   for directory, _, names in os.walk(os.path.join(proto, "odyssey"))
                   for name in names if name.endswith(".proto"))
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["protoc", "-I", proto, f"--descriptor_set_out={out.name}", *files], check=False)
        if done.returncode != 0:
            sys.exit("check_protos: protoc failed; its output is above")
        return descriptor_pb2.FileDescriptorSet.FromString(out.read())


def type_of(field):
    return field.type_name.lstrip(".") or FIELD.Type.Name(field.type).removeprefix("TYPE_").lower()


def describe_field(message, field):
    """name, type, and how often it may be there."""
    if field.label == FIELD.LABEL_REPEATED:
        words = "repeated"
    elif field.proto3_optional:
        words = "optional"
    elif field.HasField("oneof_index"):
        words = "in " + message.oneof_decl[field.oneof_index].name
    else:
        words = "singular"
    return f"{field.name} {words} {type_of(field)}"


def reserve(name, spans, facts):
    for start, end in spans:
        if end - start > MAX_SPAN:
            sys.exit(f"check_protos: {name}: more than {MAX_SPAN} numbers are reserved from {start} on")
        facts.update({f"reserved {name} {number}": "" for number in range(start, end)})


def describe_enum(prefix, enum, facts):
    name = f"{prefix}.{enum.name}"
    facts[f"enum {name}"] = ""
    for value in enum.value:
        facts[f"value {name} {value.number}"] = value.name
    reserve(name, ((span.start, span.end + 1) for span in enum.reserved_range), facts)


def describe_message(prefix, message, facts):
    name = f"{prefix}.{message.name}"
    facts[f"message {name}"] = "map" if message.options.map_entry else ""
    for field in message.field:
        facts[f"field {name} {field.number}"] = describe_field(message, field)
    reserve(name, ((span.start, span.end) for span in message.reserved_range), facts)
    for nested in message.nested_type:
        describe_message(name, nested, facts)
    for enum in message.enum_type:
        describe_enum(name, enum, facts)


def describe(descriptors):
    """{"KIND NAME [NUMBER]": what must stay as it is}, in the order of the files."""
    facts = {}
    for file in descriptors.file:
        facts[f"file {file.name}"] = f"package {file.package}"
        for message in file.message_type:
            describe_message(file.package, message, facts)
        for enum in file.enum_type:
            describe_enum(file.package, enum, facts)
        for service in file.service:
            name = f"{file.package}.{service.name}"
            facts[f"service {name}"] = ""
            for method in service.method:
                words = [("stream " if stream else "") + of.lstrip(".")
                         for stream, of in ((method.client_streaming, method.input_type),
                                            (method.server_streaming, method.output_type))]
                facts[f"rpc {name}/{method.name}"] = " returns ".join(words)
    return facts


def breaks(old, new):
    """What of `old` a client relies on and `new` no longer has, a line each."""
    found = []
    for key, fact in old.items():
        kind, name, *number = key.split(" ")
        if new.get(key) == fact:
            continue
        if kind == "reserved":
            taken = new.get(f"field {name} {number[0]}") or new.get(f"value {name} {number[0]}")
            owner = f"message {name}" in new or f"enum {name}" in new
            if taken:
                found.append(f"{name}: the reserved number {number[0]} is used again, by {taken.split()[0]}")
            elif owner:
                found.append(f"{name}: the number {number[0]} is no longer reserved")
        elif key in new:
            found.append(f"{key}: was `{fact}`, is `{new[key]}`")
        elif kind in ("field", "value"):
            owner = f"message {name}" in new or f"enum {name}" in new
            if owner and f"reserved {name} {number[0]}" not in new:
                found.append(f"{key}: `{fact}` is gone and its number is not reserved")
        elif kind != "rpc" or f"service {name.split('/')[0]}" in new:  # a service that is gone says so once
            found.append(f"{key}: is gone")
    return found


def version(root):
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"^project\(\w+ VERSION ([\d.]+)", file.read(), re.MULTILINE)[1]


def newest(directory):
    """The path of the last release; None if there is none."""
    releases = [name for name in os.listdir(directory) if re.fullmatch(r"\d+\.\d+\.\d+\.txt", name)]
    found = max(releases, key=lambda name: [int(part) for part in name[:-4].split(".")], default=None)
    return found and os.path.join(directory, found)


def read_release(path):
    with open(path, encoding="utf-8") as file:
        facts = {key: fact.strip() for key, _, fact in (line.partition(":") for line in file)}
    if not any(key.startswith("field ") for key in facts):
        finish("check_protos", [f"{path}: it has no field"])
    return facts


def main(root, *options):
    directory = os.path.join(root, "proto/released")
    today = describe(compile_protos(root))
    path = newest(directory)
    if not path and options != ("--write",):
        finish("check_protos", [f"{directory}: no release to compare with; --write makes one"])
    found = breaks(read_release(path), today) if path else []
    violations = [f"since {os.path.basename(path)[:-4]}: {line}" for line in found]
    if violations or options != ("--write",):
        finish("check_protos", violations)
    path = os.path.join(directory, f"{version(root)}.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{key}: {fact}".rstrip() + "\n" for key, fact in today.items())
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
