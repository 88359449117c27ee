"""An S3 of this machine: moto's server, and the environment in which s3fs finds it."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest import mock

KEYS = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def served() -> Iterator[Mapping[str, str]]:
    """Serve S3 on a free port, in this process's environment too."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {**KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}
    try:
        with mock.patch.dict(os.environ, environment):
            yield environment
    finally:
        server.stop()


def bucket() -> str:
    """The address of a new bucket."""
    import s3fs

    name = f"bench-{secrets.token_hex(4)}"
    s3fs.S3FileSystem().mkdir(name)
    return f"s3://{name}"
