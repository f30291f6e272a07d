"""Telling a person that somebody waits: on the desktop, at an ntfy topic, or at a webhook. Nothing depends on it."""

from __future__ import annotations

import asyncio
import contextlib
import html
import shutil
import subprocess
import urllib.error
import urllib.request
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from assent.config.settings import ServerSettings
    from assent.model import Approval
    from assent.server.operator_log import Journal

_MOST_WAITING = 100
_MOST_REMEMBERED = 4096
_SECONDS = 10.0
_LONGEST = 300


class WebhookNotice(msgspec.Struct, frozen=True, rename="camel"):
    """What a webhook gets."""

    id: str
    title: str
    message: str
    agent_id: str
    user_id: str
    tier: str
    link: str


class Notifier:
    """Tells of each question once, one after the other, apart from everything else."""

    def __init__(self, settings: ServerSettings, journal: Journal, link: str) -> None:
        self._settings = settings
        self._journal = journal
        self._link = link
        self._desktop = shutil.which("notify-send") if settings.notify_desktop else None
        self._told: OrderedDict[str, None] = OrderedDict()
        self._queue: asyncio.Queue[WebhookNotice] = asyncio.Queue(_MOST_WAITING)

    def tell(self, approval: Approval) -> None:
        """Have a person told of a question, unless they were; when there are too many, the rest is left out."""
        if approval.id in self._told or not (self._desktop or self._settings.notify_url):
            return
        self._told[approval.id] = None
        if len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)
        notice = WebhookNotice(
            id=approval.id,
            title=f"{approval.agent or 'an agent'} asks",
            message=f"{approval.summary[:_LONGEST]}\n{approval.reason[:_LONGEST]}",
            agent_id=approval.agent,
            user_id=approval.user,
            tier=approval.tier.value,
            link=self._link,
        )
        with contextlib.suppress(asyncio.QueueFull):
            self._queue.put_nowait(notice)

    async def work(self) -> None:
        """Send what is to be sent, for as long as the daemon runs."""
        while True:
            notice = await self._queue.get()
            for send in (self._show, self._post):
                try:
                    await asyncio.to_thread(send, notice)
                except (OSError, ValueError, subprocess.SubprocessError) as error:
                    self._journal.note("warning", "notice.failed", id=notice.id, fault=type(error).__name__)

    def _show(self, notice: WebhookNotice) -> None:
        if self._desktop:
            text = html.escape(f"{notice.message}\n{notice.link}")  # a desktop reads tags in it
            words = [self._desktop, "--app-name=Assent", "--", notice.title, text]
            subprocess.run(words, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603 - our own words

    def _post(self, notice: WebhookNotice) -> None:
        url = self._settings.notify_url
        if not url:
            return
        if self._settings.notify_as == "ntfy":
            headers = {"Title": notice.title.encode("ascii", "replace").decode(), "Click": notice.link}
            body = notice.message.encode()
        else:
            headers, body = {"Content-Type": "application/json"}, msgspec.json.encode(notice)
        request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - http or https, see settings
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
            answer.read(1024)
