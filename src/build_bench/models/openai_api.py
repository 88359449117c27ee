"""Any server of the OpenAI chat-completions API: api.openai.com, vLLM, transformers serve, ...

What is asked and what an answer means; `http_json.py` gets it there and back.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Generator, Iterable, Mapping
from threading import Lock
from typing import Any

import msgspec
from PIL import Image

from build_bench import __version__, imaging
from build_bench.errors import NetworkError, UsageError
from build_bench.filters.inputs import FirstTurn
from build_bench.models import ANSWERED, FAILED, REFUSED, Answer, Options
from build_bench.models.http_json import Absent, GaveUp, Server, Status, in_parallel

OFFICIAL = "https://api.openai.com/v1"
_SENT_AS_THEY_ARE = {"JPEG": "image/jpeg", "PNG": "image/png"}
_ORIENTATION = 0x0112
_TOLD = 300
"""Characters of a server's own words that are shown."""
_ELSEWHERE = (404, 405, 501)
"""What answers where the API isn't: not found, and no server of it at all."""
_LOST_IN_A_ROW = 10
"""Samples in a row (but at least as many as are asked at once) that the server never answered: then it is gone."""


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: Any = None


class Reply(msgspec.Struct):
    """What is read of a chat completion. Without a choice it is no answer; what is beside it, servers fill in as they
    like, and no answer is lost by it."""

    choices: list[_Choice]
    model: Any = None
    usage: Any = None


class _Error(msgspec.Struct):
    message: str = ""
    code: str | int | None = None
    param: str | None = None


class _ErrorReply(msgspec.Struct):
    error: _Error | str = ""


class OpenAI:
    """`openai:NAME`, the model NAME of a server. Raises `UsageError` if OpenAI's own is to be asked without a key."""

    def __init__(self, name: str, options: Options, server: Server | None = None) -> None:
        self.name = f"openai:{name}"
        url = options.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL
        key = os.environ.get("OPENAI_API_KEY", "").strip()  # of a file, with the line's end
        if url.rstrip("/") == OFFICIAL and not key:
            raise UsageError(
                f"--model {self.name}: OPENAI_API_KEY is not set", "set it, or name another server with --base-url"
            )
        self._server = server or Server(url, key)
        self._concurrency = options.concurrency
        self._settings: dict[str, Any] = {"temperature": 0, "max_tokens": options.max_tokens}
        self._served = ""
        self._lost = 0
        self._lock = Lock()

    @property
    def runtime(self) -> Mapping[str, Any]:
        """Server, settings as it takes them, and which version of the model it says it is."""
        return {
            "versions": {"build-bench": __version__},
            "server": self._server.host,
            "served_model": self._served,
            "generation": dict(self._settings),
        }

    def answers(self, turns: Iterable[FirstTurn]) -> Generator[tuple[FirstTurn, Answer]]:
        """One answer each, as they come in. Raises `UsageError` (key, model or address are wrong) or `NetworkError`."""
        yield from in_parallel(self._ask, turns, self._concurrency, self._server.close)

    def _ask(self, turn: FirstTurn) -> Answer:
        picture = data_uri(turn.picture, turn.episode.view.crop)
        content = [{"type": "image_url", "image_url": {"url": picture}}, {"type": "text", "text": turn.prompt}]
        messages = [{"role": "user", "content": content}]
        while True:
            settings = dict(self._settings)
            body = {"model": self.name.partition(":")[2], "messages": messages, **settings}
            try:
                reply = self._server.post("chat/completions", body, Reply, _is_answer)
            except Absent as error:
                raise NetworkError(
                    f"{self._server.host} can't be reached: {error}", "start it, or check --base-url; then run again"
                ) from error
            except GaveUp as error:
                self._count_lost(str(error))
                return Answer(FAILED, str(error))
            except Status as error:
                if self._adapt(error, settings):
                    continue
                return self._declined(error)
            self._lost = 0
            self._served = str(reply.model or self._served)
            return _answer_of(reply, settings)

    def _count_lost(self, why: str) -> None:
        with self._lock:
            self._lost += 1
            if self._lost >= max(_LOST_IN_A_ROW, self._concurrency):
                raise NetworkError(
                    f"{self._server.host} answers no more: {why}", "what was answered is kept: run again"
                )

    def _adapt(self, error: Status, sent: Mapping[str, Any]) -> bool:
        """Whether to ask again in other settings: reasoning models take neither `temperature` nor `max_tokens`."""
        wrong = _error_of(error).param if error.code == 400 else None
        if wrong not in ("temperature", "max_tokens") or wrong not in sent:
            return False
        with self._lock:
            value = self._settings.pop(wrong, None)
            if wrong == "max_tokens" and value is not None:
                self._settings["max_completion_tokens"] = value
        return True

    def _declined(self, error: Status) -> Answer:
        """What an error that asking again won't mend means: for this sample, or (raised) for all."""
        self._lost = 0
        said = _error_of(error)
        # Cleaned before it is cut: else the cut may leave a part of the key.
        why = f"HTTP {error.code}: {self._server.without_key(said.message or error.reason)[:_TOLD]}"
        if error.code in (401, 403):
            raise UsageError(f"{self._server.host} doesn't take OPENAI_API_KEY for {self.name}: {why}", "check the key")
        if error.code in _ELSEWHERE or 200 <= error.code < 400:
            raise UsageError(
                f"{self._server.host} has no {self.name}: {why}", "check the name and --base-url (it ends in /v1)"
            )
        if said.code == "insufficient_quota":
            raise NetworkError(
                f"{self._server.host}: {why}", "what was answered is kept: run again when there is quota"
            )
        refused = said.code in ("content_policy_violation", "content_filter", "invalid_prompt")
        return Answer(REFUSED if refused else FAILED, why)


def data_uri(picture: bytes, crop: tuple[int, ...] = ()) -> str:
    """What a model sees, as a data URI: the source's own bytes where any reader makes of them what `imaging.decode`
    makes, else a PNG of its pixels. A reader may turn a picture by its EXIF orientation, and mix colours of CMYK or
    transparency in its own way."""
    with Image.open(io.BytesIO(picture)) as opened:
        plain = (
            opened.mode == "RGB" and opened.getexif().get(_ORIENTATION, 1) == 1 and "transparency" not in opened.info
        )
        kind = _SENT_AS_THEY_ARE.get(opened.format or "") if plain and not crop else None
    if kind is None:
        buffer, pixels = io.BytesIO(), imaging.decode(picture, crop)  # type: ignore[arg-type]
        Image.frombytes("RGB", pixels.size, pixels.tobytes()).save(buffer, "PNG")  # its transparency stays behind
        kind, picture = "image/png", buffer.getvalue()
    return f"data:{kind};base64,{base64.b64encode(picture).decode()}"


def _is_answer(reply: Reply) -> bool:
    return bool(reply.choices)


def _answer_of(reply: Reply, settings: Mapping[str, Any]) -> Answer:
    choice = reply.choices[0]
    usage = reply.usage if isinstance(reply.usage, dict) else {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    read, written = (count if isinstance(count, int) else 0 for count in counts)
    tokens = (read, written)
    text = choice.message.content
    if isinstance(text, list):
        text = "".join(str(part.get("text") or "") for part in text)
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return Answer(REFUSED, str(choice.message.refusal or "content_filter"), tokens)
    if not text and choice.finish_reason == "length":
        most = settings.get("max_tokens") or settings.get("max_completion_tokens")
        why = (
            f"all {most} tokens went before the first word of an answer: a model that reasons needs more (--max-tokens)"
        )
        return Answer(FAILED, why, tokens)
    if text is None:
        return Answer(FAILED, f"the answer has no content, finish_reason {choice.finish_reason}", tokens)
    return Answer(ANSWERED, text, tokens)


def _error_of(error: Status) -> _Error:
    """The error in a response's body, whatever wrote it."""
    try:
        said = msgspec.json.decode(error.body, type=_ErrorReply).error
    except msgspec.MsgspecError:
        return _Error(error.body.decode(errors="replace"))
    return _Error(said) if isinstance(said, str) else said
