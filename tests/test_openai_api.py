"""openai: over a real socket, to a server that does what servers do on bad days. No test sleeps: time is made up."""

from __future__ import annotations

import base64
import io
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from build_bench import cli, imaging, models
from build_bench.errors import NetworkError, UsageError
from build_bench.filters import inputs
from build_bench.models import ANSWERED, FAILED, REFUSED, Answer, Options, http_json
from build_bench.models.http_json import PATIENCE, Server, in_parallel
from build_bench.models.openai_api import OpenAI, data_uri
from build_bench.predicting import predict
from build_bench.store import Work
from tests.asked import SCENARIO, build, killed_run, request, rows
from tests.openai_server import (
    Body,
    Fault,
    Handler,
    LoopbackServer,
    completion,
    cut_connection,
    cut_json,
    error,
    gibberish,
    hang_up,
    says,
    serving,
)

KEY = "sk-a-secret-of-the-tests"


class MadeUpTime:
    """A clock that only its own sleep moves, and that remembers what was slept."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def work(once: Work, tmp_path: Path) -> Work:
    shutil.copytree(once.root, tmp_path / "work")
    return Work(tmp_path / "work", tmp_path / "work" / "raw")


@pytest.fixture
def clock() -> MadeUpTime:
    return MadeUpTime()


def model(server: LoopbackServer, clock: MadeUpTime, **options: Any) -> OpenAI:
    return OpenAI("tiny", Options(**options), Server(server.url, KEY, clock))


def ask(once: Work, asked: OpenAI, count: int = 1) -> list[Answer]:
    turns = list(inputs.first_turns(once, SCENARIO))[:count]
    return [answer for _, answer in asked.answers(turns)]


def test_it_shows_the_prompt_and_the_crop_and_asks_as_the_evaluator_does(once: Work, clock: MadeUpTime) -> None:
    with serving() as server:
        assert ask(once, model(server, clock)) == [Answer(ANSWERED, "A.", (120, 4))]
    (asked,) = server.asked
    turn = next(inputs.first_turns(once, SCENARIO))
    picture, text = asked["body"]["messages"][0]["content"]
    assert (asked["path"], asked["key"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert asked["body"].items() >= {"model": "tiny", "temperature": 0, "max_tokens": 50}.items()
    assert text == {"type": "text", "text": turn.prompt}
    kind, _, data = picture["image_url"]["url"].partition(",")
    shown = imaging.decode(base64.b64decode(data))
    assert kind == "data:image/png;base64"
    assert shown.tobytes() == imaging.decode(turn.picture, turn.episode.view.crop).tobytes()


def encoded(mode: str, kind: str, **how: Any) -> bytes:
    buffer = io.BytesIO()
    Image.effect_mandelbrot((40, 30), (-2, -1, 1, 1), 50).convert(mode).save(buffer, kind, **how)
    return buffer.getvalue()


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded("RGB", "JPEG", exif=exif)


@pytest.mark.parametrize(
    ("picture", "as_it_is"),
    [
        (encoded("RGB", "JPEG"), True),
        (encoded("RGB", "PNG"), True),
        (encoded("RGB", "PNG", transparency=(0, 0, 0)), False),
        (encoded("L", "PNG"), False),
        (encoded("RGBA", "PNG"), False),
        (encoded("CMYK", "JPEG"), False),
        (encoded("RGB", "BMP"), False),
        (turned(), False),
    ],
)
@pytest.mark.parametrize("crop", [(), (3, 2, 20, 11)])
def test_a_picture_is_sent_as_we_decode_it(picture: bytes, as_it_is: bool, crop: Any) -> None:
    kind, _, data = data_uri(picture, crop).partition(",")
    sent = base64.b64decode(data)
    assert kind in ("data:image/png;base64", "data:image/jpeg;base64")
    assert (sent == picture) == (as_it_is and not crop)
    with Image.open(io.BytesIO(sent)) as read:
        assert (read.mode, read.getexif().get(0x0112, 1)) == ("RGB", 1)
        assert read.tobytes() == imaging.decode(picture, crop).tobytes()


@pytest.mark.parametrize(
    ("faults", "slept"),
    [
        ([error(429, Retry_After="7")], [7]),
        ([error(429, Retry_After=formatdate(1_000_012, usegmt=True))], [12]),
        ([error(503, Retry_After=formatdate(900_000, usegmt=True))] * 3, [1, 2, 4]),
        ([error(429, Retry_After="0")] * 4, [1, 2, 4, 8]),
        ([error(429, Retry_After="3"), error(429, Retry_After="3"), error(429, Retry_After="3")], [3, 3, 4]),
        ([error(429, Retry_After="Wed, 21 Oct 99999 07:28:00 GMT")], [1]),
        ([error(429, Retry_After="soon"), error(429)], [1, 2]),
        ([error(500), gibberish(502), error(503), error(504)], [1, 2, 4, 8]),
        ([cut_json, cut_connection, hang_up], [1, 2, 4]),
        ([lambda handler, body: handler.reply({"choices": []})], [1]),
        ([lambda handler, body: handler.reply({"error": {"message": "loading"}})], [1]),
        ([error(500)] * 8, [1, 2, 4, 8, 16, 30, 30, 30]),
    ],
)
def test_what_may_pass_is_tried_again(faults: list[Fault], slept: list[float], once: Work, clock: MadeUpTime) -> None:
    with serving(*faults) as server:
        assert ask(once, model(server, clock))[0].text == "A."
    assert clock.slept == slept
    assert len(server.asked) == len(faults) + 1


def test_a_server_that_starts_late_is_waited_for(once: Work, clock: MadeUpTime) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serving(port=port) as server:
        pass
    stack: list[Any] = []

    class StartsAtTheFifthTry(MadeUpTime):
        def sleep(self, seconds: float, /) -> None:
            super().sleep(seconds)
            if len(self.slept) == 5:
                stack.append(serving(port=port))
                stack[0].__enter__()

    late = StartsAtTheFifthTry()
    try:
        assert ask(once, model(server, late))[0].text == "A."
    finally:
        stack[0].__exit__(None, None, None)
    assert late.slept == [1, 2, 4, 8, 16]


def test_a_sample_is_given_up_in_bounded_time(once: Work, clock: MadeUpTime) -> None:
    with serving(usually=error(500)) as server:
        (answer,) = ask(once, model(server, clock))
    assert (answer.outcome, answer.text[:8]) == (FAILED, "HTTP 500")
    assert sum(clock.slept) <= PATIENCE
    assert len(server.asked) < 20


def test_to_be_told_to_come_back_tomorrow_is_a_failure_now(once: Work, clock: MadeUpTime) -> None:
    with serving(error(429, Retry_After="86400")) as server:
        assert ask(once, model(server, clock))[0].outcome == FAILED
    assert clock.slept == []


def test_a_server_that_is_gone_ends_the_run(once: Work, clock: MadeUpTime) -> None:
    with serving(usually=hang_up) as server, pytest.raises(NetworkError, match="answers no more"):
        ask(once, model(server, clock, concurrency=1), count=12)


@pytest.mark.parametrize(
    ("reply", "outcome", "text"),
    [
        (completion(None, refusal="I won't."), REFUSED, "I won't."),
        (completion(None, finish="content_filter"), REFUSED, "content_filter"),
        (completion("", finish="length"), FAILED, "--max-tokens"),
        (completion(None), FAILED, "no content"),
        (completion(""), ANSWERED, ""),
        (completion("I'm sorry, I can't help with that."), ANSWERED, "I'm sorry, I can't help with that."),
        (completion("A. Cat and so o", finish="length"), ANSWERED, "A. Cat and so o"),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "B."}]}}]}, ANSWERED, "B."),
        (completion("A. \ud83d"), ANSWERED, "A. \ufffd"),
        (completion("A. \ud83d\ude00"), ANSWERED, "A. \U0001f600"),
        ({**completion("A."), "usage": {"prompt_tokens": None, "completion_tokens": 1.5}}, ANSWERED, "A."),
        ({**completion("A."), "usage": [], "model": 5}, ANSWERED, "A."),
        (completion(KEY), ANSWERED, "[key]"),
        (completion(None, refusal=f"no, {KEY}"), REFUSED, "no, [key]"),
    ],
)
def test_what_a_reply_means(reply: Body, outcome: str, text: str, once: Work, clock: MadeUpTime) -> None:
    with serving(lambda handler, body: handler.reply(reply)) as server:
        (answer,) = ask(once, model(server, clock))
    assert answer.outcome == outcome
    assert text in answer.text
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (error(400, "Your input was flagged.", "content_policy_violation"), REFUSED),
        (error(400, "image too small"), FAILED),
        (error(413, "too large"), FAILED),
    ],
)
def test_an_error_about_one_sample_is_its_own(fault: Fault, outcome: str, once: Work, clock: MadeUpTime) -> None:
    with serving(fault) as server:
        found = ask(once, model(server, clock, concurrency=1), count=2)
    assert [answer.outcome for answer in found] == [outcome, ANSWERED]
    assert clock.slept == []


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), UsageError, "doesn't take OPENAI_API_KEY"),
        (error(404, "The model `tiny` does not exist"), UsageError, "has no openai:tiny"),
        (error(429, "You exceeded your quota", "insufficient_quota"), NetworkError, "exceeded your quota"),
        (error(307, Location="http://127.0.0.1:9/elsewhere"), UsageError, "HTTP 307"),
        (error(405), UsageError, "HTTP 405"),
        (error(501), UsageError, "HTTP 501"),
        (
            lambda handler, body: handler.raw(b"<html>", Content_Type="text/html; charset=utf-8"),
            UsageError,
            "HTTP 200: a web page came back",
        ),
    ],
)
def test_an_error_about_all_samples_ends_the_run(
    fault: Fault, kind: type[Exception], message: str, once: Work, clock: MadeUpTime
) -> None:
    with serving(usually=fault) as server, pytest.raises(kind, match=message) as raised:
        ask(once, model(server, clock, concurrency=1), count=3)
    assert KEY not in str(raised.value)
    assert len(server.asked) == 1


def reason(handler: Handler, body: Body) -> None:
    """The key in the phrase beside the status."""
    handler.send_response(418, f"teapot {KEY}")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


@pytest.mark.parametrize(
    "fault",
    [
        error(400, f"bad key {KEY}"),
        lambda handler, body: handler.raw(f"{'x' * 290} {KEY} is wrong".encode(), 400),
        lambda handler, body: handler.raw(f"{'x' * 192} {KEY} is wrong".encode(), 400),
        reason,
        says(f"Your key is {KEY}."),
        lambda handler, body: handler.reply({**completion("A."), "model": KEY}),
    ],
)
def test_no_part_of_the_key_is_kept_whatever_the_server_says(fault: Fault, work: Work, clock: MadeUpTime) -> None:
    with serving(usually=fault) as server:
        predict(work, "openai:tiny", request(limit=2), lambda name, options: model(server, clock))
    kept = b"".join(path.read_bytes() for path in work.root.rglob("*") if path.is_file()).decode(errors="replace")
    kept += "".join("".join(map(str, row)) for row in rows(work, "openai:tiny").rows())
    assert KEY[:10] not in kept


def test_a_made_up_key_is_not_taken_out_of_answers(once: Work, clock: MadeUpTime) -> None:
    with serving(usually=says("EMPTY")) as server:
        asked = OpenAI("tiny", Options(), Server(server.url, "EMPTY", clock))
        assert ask(once, asked)[0].text == "EMPTY"


@pytest.mark.parametrize("key", [f"{KEY}\n", f"  {KEY} ", f"{KEY}\r\n"])
def test_space_around_the_key_is_no_part_of_it(key: str, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving() as server:
        predict(work, "openai:tiny", request(limit=1, options=Options(base_url=server.url)))
    assert server.asked[0]["key"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [f"{KEY}\nmore", f"{KEY}\u20ac", f"two {KEY}", f"{KEY}\x7f"])
def test_a_key_that_is_none_is_refused_without_being_shown(
    key: str, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    arguments = ["predict", "--model", "openai:tiny", "--base-url", "http://127.0.0.1:9/v1", "--work", str(work.root)]
    refused = CliRunner().invoke(cli.group, arguments)
    assert isinstance(refused.exception, UsageError)
    assert "OPENAI_API_KEY" in refused.exception.message
    assert KEY[:10] not in refused.exception.message + refused.exception.hint + refused.output


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1x/v1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:0/v1",
        "http://ho st/v1",
        "http://[::1/v1",
        "http://a..b/v1",
        "http:///v1",
        "ftp://host/v1",
        "http://host/v 1",
        "http://host/v1?key=secret",
        "http://host/v1#secret",
        "http://secret@host/v1",
        "http://:secret@host/v1",
        f"http://{'x' * 70}.org/v1",
    ],
)
def test_an_address_that_is_none_is_refused_and_not_tried(url: str) -> None:
    with pytest.raises(UsageError, match="expected http") as refused:
        Server(url, KEY)
    assert "secret" not in refused.value.message


def test_an_address_without_its_beginning_is_told_so() -> None:
    with pytest.raises(UsageError, match=r"--base-url without http://HOST: expected http\(s\)://HOST"):
        Server("127.0.0.1:8000", KEY)


@pytest.mark.parametrize(
    "url", ["http://[::1]:8000/v1", "https://b\u00fccher.example/v1/", "http://my_host:80/a/b-c/v1"]
)
def test_an_address_that_is_one_is_taken(url: str) -> None:
    assert Server(url, KEY).host


def picky(handler: Handler, body: Body) -> None:
    """As reasoning models are: no temperature, and another name for the limit."""
    for name in ("max_tokens", "temperature"):
        if name in body:
            return error(400, f"Unsupported: {name}", "unsupported_parameter", name)(handler, body)
    return says("A.")(handler, body)


def test_settings_that_a_model_does_not_take_are_left_out_and_not_recorded(once: Work, clock: MadeUpTime) -> None:
    with serving(usually=picky) as server:
        asked = model(server, clock)
        found = ask(once, asked, count=10)
    assert {answer.text for answer in found} == {"A."}
    assert asked.runtime["generation"] == {"max_completion_tokens": 50}
    assert asked.runtime["served_model"] == "tiny-2026-11-30"
    assert clock.slept == []


def test_no_more_are_asked_at_once_than_allowed_and_so_many_are(once: Work, clock: MadeUpTime) -> None:
    together = threading.Barrier(4, timeout=20)
    running: list[int] = []
    most: list[int] = []

    def meet(handler: Handler, body: Body) -> None:
        running.append(1)
        most.append(len(running))
        together.wait()
        running.pop()
        handler.reply(completion("A."))

    with serving(usually=meet) as server:
        assert len(ask(once, model(server, clock, concurrency=4), count=12)) == 12
    assert max(most) == 4


def test_samples_are_drawn_no_further_ahead_than_they_are_asked() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            drawn.append(item)
            yield item

    stopped: list[int] = []
    results = in_parallel(lambda item: item * item, items(), 3, lambda: stopped.append(1))
    assert [next(results) for _ in range(5)]
    assert len(drawn) <= 8
    results.close()
    assert stopped


def test_an_interrupted_run_wakes_what_waits() -> None:
    server = Server("http://127.0.0.1:9/v1", "")
    server.close()
    with pytest.raises(http_json.GaveUp):
        server.post("chat/completions", {}, dict, bool)


def test_through_bad_days_every_sample_is_answered_once_and_the_cost_is_counted(work: Work, clock: MadeUpTime) -> None:
    faults = [error(429, Retry_After="3"), hang_up, cut_json, error(500), cut_connection]
    with serving(*faults) as server:
        report = predict(work, "openai:tiny", request(), lambda name, options: model(server, clock))
    answered = report["scenarios"][SCENARIO]["answered"]
    assert answered == len(rows(work, "openai:tiny")) == len(server.asked) - len(faults)
    assert report["tokens"] == {"read": 120 * answered, "written": 4 * answered}
    assert all(KEY.encode() not in path.read_bytes() for path in work.root.rglob("*") if path.is_file())


def test_killed_in_the_middle_it_loses_nothing_and_repeats_what_was_under_way(work: Work) -> None:
    with serving() as server:
        killed_run(work, "openai:tiny", "add", 5, 60.0, OPENAI_BASE_URL=server.url)
    assert len(server.asked) <= 5 + Options().concurrency
    with serving() as server:
        report = predict(work, "openai:tiny", request(options=Options(base_url=server.url)))
    answered = report["scenarios"][SCENARIO]["answered"]
    assert answered == len(server.asked) == len(rows(work, "openai:tiny")) - 5


def test_the_command_says_what_it_cost_and_never_the_key(work: Work) -> None:
    with serving() as server:
        arguments = ["--base-url", server.url, "--price-in", "2.5", "--price-out", "10", "--work", str(work.root)]
        done = CliRunner().invoke(cli.group, ["predict", "--model", "openai:tiny", "--json", *arguments])
    assert done.exit_code == 0, done.output
    (report,) = json.loads(done.stdout)["models"]
    answered = report["scenarios"][SCENARIO]["answered"]
    assert report["cost"] == pytest.approx(answered * (120 * 2.5 + 4 * 10) / 1e6)
    assert KEY not in done.output
    runtime = json.loads(rows(work, "openai:tiny")["runtime"][0])
    assert runtime["server"] == server.url.split("/")[2]
    assert runtime["generation"] == {"temperature": 0, "max_tokens": 50}


def test_the_server_is_that_of_the_option_else_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def host(**options: Any) -> Any:
        return models.load("openai:tiny", Options(**options)).runtime["server"]

    assert host() == "api.openai.com"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1/")
    assert host() == "localhost:8000"
    assert host(base_url="https://example.org/v1") == "example.org"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert host() == "localhost:8000"


def test_where_nothing_listens_it_is_said_soon(
    once: Work, clock: MadeUpTime, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as server:
        pass
    with pytest.raises(NetworkError, match=r"can't be reached: .*refused.*40 seconds at most") as gone:
        ask(once, model(server, clock, concurrency=1), count=12)
    assert "--base-url" in gone.value.hint
    assert sum(clock.slept) <= http_json.STARTING
    assert "is it still starting? It is waited for 40 seconds" in capsys.readouterr().err


def test_a_server_that_was_there_is_waited_for_longer(once: Work, clock: MadeUpTime) -> None:
    with serving() as server:
        asked = model(server, clock, concurrency=1)
        assert ask(once, asked)[0].outcome == ANSWERED
    (answer,) = ask(once, asked)
    assert answer.outcome == FAILED
    assert sum(clock.slept) > http_json.STARTING
