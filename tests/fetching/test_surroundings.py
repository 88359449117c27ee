"""What the environment says of the network, and what of it is never shown."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from build_bench import cli, config, store
from build_bench.errors import InputError, UsageError
from build_bench.fetching import addresses, keeping, licences, sources, surroundings
from build_bench.fetching.running import Options
from build_bench.store import Work

SECRET = "hf_SecretThatStaysHere"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name.startswith("SSL")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("HF_ENDPOINT", "http://[::1", "HF_ENDPOINT is no web address"),
        ("HF_ENDPOINT", "hf-mirror.com", "HF_ENDPOINT is no web address"),
        ("HF_ENDPOINT", "ftp://hub.example", "HF_ENDPOINT is no web address"),
        ("HF_ENDPOINT", f"https://hub.example/?token={SECRET}", "HF_ENDPOINT is no web address"),
        ("HF_ENDPOINT", "https://hub.example:99999", "HF_ENDPOINT is no web address"),
        ("all_proxy", "socks5h://127.0.0.1:1", "all_proxy names a SOCKS proxy"),
        ("ALL_PROXY", f"foo://u:{SECRET}@x", "ALL_PROXY is no address of a proxy"),
        ("https_proxy", "http://[::1", "https_proxy is no address of a proxy"),
        ("http_proxy", "127.0.0.1:99999", "http_proxy is no address of a proxy"),
        ("SSL_CERT_FILE", "/nonexistent", "SSL_CERT_FILE: /nonexistent holds no certificates: No such file"),
        ("SSL_CERT_FILE", __file__, "holds no certificates"),
        ("SSLKEYLOGFILE", "/nonexistent/keys", "SSLKEYLOGFILE: /nonexistent/keys can't be written"),
    ],
)
def test_what_cannot_be_used_is_named_before_anything_else(
    name: str, value: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "SOCKS" in sentence:
        monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv(name, value)
    work = Work(tmp_path / "work", tmp_path / "work" / "raw")
    with pytest.raises(UsageError) as error:
        sources.fetch(work, config.read(["coco"]), ["coco"], Options())
    assert sentence in error.value.message
    assert SECRET not in error.value.message + error.value.hint
    arguments = ["doctor", "--offline", "--json", "--work", str(work.root)]
    answer = json.loads(CliRunner().invoke(cli.group, arguments).stdout)
    assert [problem for problem in answer["broken"] if sentence in problem]
    assert SECRET not in json.dumps(answer)


@pytest.mark.parametrize("value", ["127.0.0.1:1", "http://user:pw@proxy.example:8080", "https://proxy.example"])
def test_a_sound_proxy_is_no_problem(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", value)
    monkeypatch.setenv("no_proxy", "[::1, ,localhost")
    assert list(surroundings.problems()) == []


def test_a_proxy_that_is_not_there_is_named_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"u:{SECRET}@127.0.0.1:1")
    arguments = ["fetch", "coco", "--accept-license", "coco", "--work", str(tmp_path / "work")]
    result = CliRunner().invoke(cli.group, arguments)
    assert "images.cocodataset.org: can't be reached by the proxy http://127.0.0.1:1: " in result.stderr
    said = CliRunner().invoke(cli.group, ["doctor", "--work", str(tmp_path / "work")]).stdout
    assert "http://images.cocodataset.org can't be reached by the proxy http://127.0.0.1:1: " in said
    assert SECRET not in result.output + said


@pytest.mark.parametrize("how", [[], ["--list"], ["--list", "--json"]])
def test_a_password_in_the_hubs_address_is_never_shown(
    how: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"http://user:{SECRET}@127.0.0.1:1")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    arguments = ["fetch", "rod", "--accept-license", "rod", "--work", str(tmp_path / "work"), *how]
    result = CliRunner().invoke(cli.group, arguments)
    assert SECRET not in result.output
    assert how or "http://127.0.0.1:1/datasets/arielnlee" in result.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://u:p@host.example:8443/a?b=c", "https://host.example:8443/a?b=c"),
        ("http://[::1]:80/a", "http://[::1]:80/a"),
        ("http://[::1", ""),
        ("host.example", ""),
    ],
)
def test_an_address_is_shown_without_its_login(address: str, shown: str) -> None:
    assert addresses.without_login(address) == shown


def test_a_full_disk_is_said_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_bytes", full)
    with pytest.raises(InputError, match=r"files\.json can't be written: No space left"):
        keeping.write(tmp_path / "files.json", b"{}")
    with pytest.raises(InputError, match=r"licenses\.json can't be written: No space left"):
        licences.lacking(Work(tmp_path, tmp_path / "raw"), ["rod"], ["rod"])


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=f"{raw}.* can't be made"):
        sources.fetch(Work(tmp_path / "work", raw), config.read(["mvp_n"]), ["mvp_n"], Options())


def test_an_interrupt_ends_a_question_about_a_licence(tmp_path: Path) -> None:
    """polars, which is imported by then, makes the system go on with the read that Ctrl-C interrupts."""
    ours, theirs = pty.openpty()
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import polars\n"
    command = [sys.executable, "-c", f"{script}from build_bench import cli; cli.main()",
               "fetch", "coco", "--work", str(tmp_path / "work")]  # fmt: skip
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as child:
        os.close(theirs)
        said, deadline = b"", time.monotonic() + 60
        while b"[y/N]" not in said and time.monotonic() < deadline and select.select([ours], [], [], 60)[0]:
            said += os.read(ours, 1 << 16)
        while child.poll() is None and time.monotonic() < deadline:
            os.kill(child.pid, signal.SIGINT)  # again: the first may come before the read
            try:
                child.wait(5)  # sent while it ends, another would kill it
            except subprocess.TimeoutExpired:
                continue
        child.kill()
    os.close(ours)
    assert b"[y/N]" in said
    assert child.returncode == 130
