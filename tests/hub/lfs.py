"""Large files by their sha256, and the Git LFS routes that bring them: whole, or in parts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .messages import Answer, Refusal, Request

if TYPE_CHECKING:
    from .server import Hub


class LargeFiles:
    """What arrived over LFS. Files of more than `part_size` bytes are asked for in parts."""

    def __init__(self) -> None:
        self.part_size = 8 << 20
        self.files: dict[str, bytes] = {}
        self.parts: dict[tuple[str, int], bytes] = {}

    def add(self, oid: str, data: bytes) -> None:
        """Raises `Refusal` (400) if the bytes are others."""
        if hashlib.sha256(data).hexdigest() != oid:
            raise Refusal(400, "the content doesn't have the announced sha256")
        self.files[oid] = data


def batch(hub: Hub, request: Request, repo: str) -> Answer:
    hub.writable(request, repo)
    asked = request.json()
    objects = [_instruction(hub, repo, item["oid"], item["size"]) for item in asked["objects"]]
    transfer = "multipart" if any("chunk_size" in _header(item) for item in objects) else "basic"
    return Answer.of({"transfer": transfer, "objects": objects})


def _header(instruction: dict) -> dict[str, str]:
    return instruction.get("actions", {}).get("upload", {}).get("header", {})


def _instruction(hub: Hub, repo: str, oid: str, size: int) -> dict:
    """How to upload one object; no actions if it is there."""
    instruction = {"oid": oid, "size": size, "authenticated": True}
    if hub.has_large(oid):
        return instruction
    upload: dict = {"href": f"{hub.storage}/lfs/{oid}", "header": {}}
    if size > hub.lfs.part_size:
        parts = range(1, -(-size // hub.lfs.part_size) + 1)
        upload["header"] = {str(part): f"{hub.storage}/lfs/{oid}/part/{part}" for part in parts}
        upload["header"]["chunk_size"] = str(hub.lfs.part_size)
        upload["href"] = f"{hub.endpoint}/api/complete_multipart/{oid}"
    verify = {"href": f"{hub.endpoint}/datasets/{repo}.git/info/lfs/verify"}
    return {**instruction, "actions": {"upload": upload, "verify": verify}}


def put(hub: Hub, request: Request, oid: str) -> Answer:
    hub.received(request)
    hub.lfs.add(oid, request.body)
    return Answer()


def put_part(hub: Hub, request: Request, oid: str, part: str) -> Answer:
    hub.received(request)
    hub.lfs.parts[oid, int(part)] = request.body
    return Answer(headers={"ETag": f'"{hashlib.md5(request.body).hexdigest()}"'})


def complete(hub: Hub, request: Request, oid: str) -> Answer:
    numbers = [part["partNumber"] for part in request.json()["parts"]]
    if any((oid, number) not in hub.lfs.parts for number in numbers):
        raise Refusal(400, "a part is missing")
    hub.lfs.add(oid, b"".join(hub.lfs.parts.pop((oid, number)) for number in numbers))
    return Answer.of({})


def verify(hub: Hub, request: Request, repo: str) -> Answer:
    hub.writable(request, repo)
    asked = request.json()
    if len(hub.lfs.files.get(asked["oid"], b"")) != asked["size"]:
        raise Refusal(404, "the object isn't there")
    return Answer.of({})


def get(hub: Hub, request: Request, oid: str) -> Answer:
    return Answer.content(request, hub.lfs.files[oid], {"ETag": f'"{oid}"'})


ROUTES = [
    ("POST", r"/datasets/(?P<repo>[^/]+/[^/]+)\.git/info/lfs/objects/batch", batch),
    ("POST", r"/datasets/(?P<repo>[^/]+/[^/]+)\.git/info/lfs/verify", verify),
    ("PUT", r"/lfs/(?P<oid>\w{64})", put),
    ("PUT", r"/lfs/(?P<oid>\w{64})/part/(?P<part>\d+)", put_part),
    ("POST", r"/api/complete_multipart/(?P<oid>\w{64})", complete),
    ("GET", r"/lfs/(?P<oid>\w{64})", get),
]
