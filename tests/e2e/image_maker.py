"""Container images of a test's own: layers as tars, their configuration and manifest, and an OCI layout
of them. `odyssey-ctl image load` reads the directory; skopeo makes archives of it, and pushes it.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
SIGNATURE = "application/vnd.dev.cosign.simplesigning.v1+json"
TAR = "application/vnd.oci.image.layer.v1.tar"
BUSYBOX = "/bin/busybox"
PASSWD = "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n"


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Layer:
    """A tar that grows by entries. `pack` says how it is stored: "none" or "gzip"."""

    def __init__(self, pack="gzip"):
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.PAX_FORMAT)
        self._pack = pack

    def add(self, name, content=None, mode=0o644, kind=tarfile.REGTYPE, link="", uid=0, gid=0):
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.linkname, info.uid, info.gid = kind, mode, link, uid, gid
        data = content.encode() if isinstance(content, str) else content
        info.size = len(data) if data else 0
        self._tar.addfile(info, io.BytesIO(data) if data else None)
        return self

    def directory(self, name, mode=0o755, **owner):
        return self.add(name, mode=mode, kind=tarfile.DIRTYPE, **owner)

    def link(self, name, target):
        return self.add(name, kind=tarfile.SYMTYPE, link=target)

    def whiteout(self, name):
        """What is called so in the layers below is gone."""
        directory, base = os.path.split(name)
        return self.add(os.path.join(directory, ".wh." + base))

    def opaque(self, directory):
        """Of the directory nothing of the layers below is left."""
        return self.add(os.path.join(directory, ".wh..wh..opq"))

    def packed(self):
        """(bytes, media type, digest of the tar itself)."""
        self._tar.close()
        tar = self._bytes.getvalue()
        if self._pack == "none":
            return tar, TAR, digest_of(tar)
        return gzip.compress(tar, mtime=0), TAR + "+gzip", digest_of(tar)


def busybox_layer():
    """A root with busybox as every program that the tests use."""
    layer = Layer()
    for name in ("bin", "etc", "home", "proc", "root", "tmp", "var"):
        layer.directory(name, mode=0o1777 if name == "tmp" else 0o755)
    with open(BUSYBOX, "rb") as file:
        layer.add("bin/busybox", file.read(), mode=0o755)
    for name in ("cat", "echo", "id", "ls", "sh", "stat", "true"):
        layer.link("bin/" + name, "busybox")
    return layer.add("etc/passwd", PASSWD)


class Layout:
    """An OCI layout in `directory`, which is made."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory + "/blobs/sha256", exist_ok=True)
        with open(directory + "/oci-layout", "w", encoding="ascii") as file:
            json.dump({"imageLayoutVersion": "1.0.0"}, file)
        self._entries = []

    def path(self, digest):
        return f"{self.directory}/blobs/sha256/{digest.split(':')[1]}"

    def put(self, data, media_type):
        """The blob's descriptor."""
        digest = digest_of(data)
        with open(self.path(digest), "wb") as file:
            file.write(data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def manifest(self, layers, architecture="amd64", **config):
        """Of one image, its descriptor; it is in no index yet."""
        packed = [layer.packed() for layer in layers]
        described = [self.put(data, media_type) for data, media_type, _ in packed]
        text = {"architecture": architecture, "os": "linux", "config": config,
                "rootfs": {"type": "layers", "diff_ids": [tar for _, _, tar in packed]}}
        made = {"schemaVersion": 2, "mediaType": MANIFEST,
                "config": self.put(json.dumps(text).encode(), CONFIG), "layers": described}
        return self.put(json.dumps(made).encode(), MANIFEST)

    def name(self, entry, name=None, architecture=None):
        """Into the index; the descriptor's digest."""
        entry = dict(entry)
        if name:
            entry["annotations"] = {"org.opencontainers.image.ref.name": name}
        if architecture:
            entry["platform"] = {"os": "linux", "architecture": architecture}
        self._entries.append(entry)
        with open(self.directory + "/index.json", "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 2, "mediaType": INDEX, "manifests": self._entries}, file)
        return entry["digest"]

    def add(self, name, layers, **config):
        return self.name(self.manifest(layers, **config), name)

    def signature(self, image, key, directory):
        """The manifest in which cosign keeps the signature of an image, by its digest. `key`: a file."""
        payload = json.dumps({"critical": {
            "identity": {"docker-reference": "registry.test/signed"}, "type": "cosign container image signature",
            "image": {"docker-manifest-digest": image}}, "optional": None}).encode()
        path = directory + "/payload"
        with open(path, "wb") as file:
            file.write(payload)
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key, path], check=True,
                                capture_output=True).stdout
        layer = self.put(payload, SIGNATURE)
        layer["annotations"] = {"dev.cosignproject.cosign/signature": base64.b64encode(signed).decode()}
        config = {"architecture": "", "os": "", "config": {},
                  "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}
        made = {"schemaVersion": 2, "mediaType": MANIFEST,
                "config": self.put(json.dumps(config).encode(), CONFIG), "layers": [layer]}
        return self.put(json.dumps(made).encode(), MANIFEST)

    def index(self, of_architectures):
        """An index of {architecture: descriptor}; its descriptor."""
        entries = [{**entry, "platform": {"os": "linux", "architecture": architecture}}
                   for architecture, entry in of_architectures.items()]
        text = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        return self.put(json.dumps(text).encode(), INDEX)


def skopeo(*arguments, prefix=()):
    subprocess.run([*prefix, "skopeo", *arguments], check=True, capture_output=True)


def archive(kind, layout, names, path, prefix=()):
    """docker-archive or oci-archive of images of a layout: {name there: name in the archive}."""
    for there, name in names.items():
        skopeo("copy", "--insecure-policy", f"oci:{layout.directory}:{there}",
               f"{kind}:{path}:{name}", prefix=prefix)
    return path
