"""Why a video didn't come: a word for it, read off what yt-dlp raises. Whether asking again can help hangs on the word.

Status codes and yt-dlp's own classes are looked at first; YouTube's reasons are text, quoted by yt-dlp in English.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

DEAD, PRIVATE = "dead", "private"
AGE, REGION, MEMBERS, PREMIERE = "age_restricted", "region_blocked", "members_only", "not_yet"
LIMITED, BLOCKED, NETWORK, NO_VIDEO, OTHER = "rate_limited", "blocked", "network", "not_a_video", "other"

SETTLED = frozenset({DEAD, PRIVATE})
"""Not tried again unless asked to: what was taken away hardly ever returns."""

_PAUSE = timedelta(hours=1)
"""How long YouTube limits a session, by yt-dlp's wiki, where no answer says."""

_REASONS = [
    (LIMITED, r"not a bot|rate.?limited|try again later|captcha|too many requests|unusual traffic"),
    (AGE, r"confirm your age|age.?restricted|inappropriate for some users"),
    (PREMIERE, r"premieres in|premiere will|live event will begin|will begin|processing this video|has not started"),
    (MEMBERS, r"members.?only|join this channel|requires payment|available to music premium members"),
    (REGION, r"in your country|in your location|geo.?restrict"),
    (PRIVATE, r"private video|video is private|been granted access"),
    (
        DEAD,
        r"been removed|been terminated|no longer available|does not exist|doesn't exist|isn't available anymore"
        r"|closed their youtube account|incomplete youtube id|no longer exists",
    ),
    (NO_VIDEO, r"unsupported url|no video formats found|requested format is not available"),
    (BLOCKED, r"video unavailable|not available|content isn't available|sign in|login required|\bdrm\b"),
    (
        NETWORK,
        r"timed out|connection|network|resolve|temporary failure|incomplete ?read|more expected|giving up after"
        r"|did not get any data|too short",
    ),
]
"""Word and what yt-dlp says then, the first that fits. A bare `Video unavailable` is not `dead`: a session that YouTube
distrusts gets it of every video."""

_STATUS = {401: BLOCKED, 403: BLOCKED, 404: DEAD, 410: DEAD, 429: LIMITED, 451: REGION}


class Failure(NamedTuple):
    """Why one video didn't come."""

    kind: str
    detail: str
    """What yt-dlp said, in a line."""
    until: datetime | None = None
    """Of `rate_limited`: when to go on."""


def failure(error: BaseException, now: datetime) -> Failure:
    """What `error`, which yt-dlp raised, means. Raises `OSError` if it is this machine's own: the disk is full, say."""
    from yt_dlp.networking.exceptions import HTTPError, TransportError
    from yt_dlp.utils import GeoRestrictedError

    detail = line(str(error))
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise cause
        if isinstance(cause, GeoRestrictedError):
            return Failure(REGION, detail)
        if isinstance(cause, HTTPError):
            kind = _STATUS.get(cause.status, NETWORK if cause.status >= 500 else OTHER)
            if kind == DEAD and "video data" in detail:  # the page is there, and the address of its pictures went stale
                kind = BLOCKED
            after = cause.response.headers.get("Retry-After", "") if kind == LIMITED else ""
            return Failure(kind, detail, _until(after, now) if kind == LIMITED else None)
    kind = kind_of(detail)
    if kind == OTHER and any(isinstance(cause, TransportError) for cause in _causes(error)):
        kind = NETWORK
    return Failure(kind, detail, now + _PAUSE if kind == LIMITED else None)


def kind_of(text: str) -> str:
    """The word for what yt-dlp says."""
    plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()
    return next((kind for kind, pattern in _REASONS if re.search(pattern, plain)), OTHER)


def line(text: str) -> str:
    """The text in one line, without colours, yt-dlp's prefix and its advice on reporting mistakes."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).removeprefix("ERROR: ")
    text = " ".join(text.partition("; please report this issue on")[0].split())
    return text if len(text) <= 300 else f"{text[:300]}..."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and those behind it, each once: yt-dlp keeps them in three places."""
    queue: list[object] = [error]
    seen: list[object] = []
    while queue:
        at = queue.pop(0)
        if isinstance(at, BaseException) and not any(at is one for one in seen):
            seen.append(at)
            yield at
            queue += [at.__cause__, at.__context__, getattr(at, "cause", None), *(getattr(at, "exc_info", None) or ())]


def _until(retry_after: str, now: datetime) -> datetime:
    """When a `Retry-After` says to go on: seconds, or a date; an hour on where it says neither."""
    return now + _PAUSE if not retry_after.strip().isdigit() else now + timedelta(seconds=min(int(retry_after), 86_400))


def utc_now() -> datetime:
    """The time, to the second."""
    return datetime.now(UTC).replace(microsecond=0)
