"""A real Chromium without a window, driven over its DevTools protocol.

It has a profile of its own, and no network but the machine's: what a page loads from elsewhere fails.
"""

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests import pictures
from tests.waiting import eventually

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
IN_BROWSER = [
    pytest.mark.gate,
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium: install Debian's package chromium"),
]
"""Marks of the tests that need it."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
ANSWER_S = 60.0
STICKS_OUT = """[...document.querySelectorAll("body *")].filter((one) => {
  if (one.closest(".hidden, svg, thead") || !one.getClientRects().length) return false;
  const { left, right } = one.getBoundingClientRect();
  const isCut = one.matches("td, dd, dt, p, li, h1, h2, label, button") && one.scrollWidth > one.clientWidth + 1;
  return left < -1 || right > document.documentElement.clientWidth + 1 || (one.clientWidth > 0 && isCut);
}).map((one) => `${one.tagName} ${one.id} ${one.textContent.slice(0, 80)}`)"""
"""The elements that reach beyond the screen, and those whose content is wider than they are."""


class Tab:
    """One tab.

    problems    errors of scripts, and what the page's policy has refused
    login       user and password for servers that ask for them; None: the dialog is closed without
    challenges  how often a server has asked
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.login: tuple[str, str] | None = None
        self.challenges = 0

    async def call(self, method: str, **parameters: Any) -> Any:
        """The answer to a DevTools command."""
        number = await self._send(method, **parameters)
        async with asyncio.timeout(ANSWER_S):
            while True:
                message = await self._socket.receive_json()
                self._note(message)
                await self._let_go_on(message)
                if message.get("id") == number:
                    assert "error" not in message, message
                    return message["result"]

    async def _send(self, method: str, **parameters: Any) -> int:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        return number

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(message["params"]["exceptionDetails"]))
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.problems.append(message["params"]["entry"]["text"])
            case "Network.requestWillBeSent":
                self.asked.append(message["params"]["request"]["url"])

    async def answer_challenges(self) -> None:
        """Answer what a server asks for by `login`, as a reader does in the browser's dialog."""
        await self.call("Fetch.enable", handleAuthRequests=True)

    async def _let_go_on(self, message: dict[str, Any]) -> None:
        """Requests are stopped since `answer_challenges`."""
        match message.get("method"):
            case "Fetch.requestPaused":
                await self._send("Fetch.continueRequest", requestId=message["params"]["requestId"])
            case "Fetch.authRequired":
                self.challenges += 1
                answer: dict[str, str] = {"response": "CancelAuth"}
                if self.login is not None:
                    user, password = self.login
                    answer = {"response": "ProvideCredentials", "username": user, "password": password}
                request = message["params"]["requestId"]
                await self._send("Fetch.continueWithAuth", requestId=request, authChallengeResponse=answer)

    async def open(self, url: str) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """What an expression gives in the page."""
        answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def enter(self, selector: str, text: str) -> None:
        """Put a text into a field, or choose it, as a reader does."""
        field = f"document.querySelector({json.dumps(selector)})"
        await self.value(
            f"{field}.value = {json.dumps(text)}; {field}.dispatchEvent(new Event('input', {{bubbles: true}})); 1"
        )

    async def text(self, selector: str) -> str:
        return str(await self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    async def shows(self, selector: str, *texts: str) -> bool:
        """Whether the reader sees all of these texts there."""
        found = await self.text(selector)
        return all(text in found for text in texts)

    async def fits(self) -> bool:
        """Whether nothing is wider than the screen or its own place."""
        out = await self.value(STICKS_OUT)
        assert out == [], out
        return not await self.value("document.documentElement.scrollWidth > document.documentElement.clientWidth")

    async def rows(self, selector: str) -> list[list[str]]:
        """The cells of a table's body, without the row that says that there is nothing."""
        table = f"document.querySelectorAll({json.dumps(selector + ' tbody tr:not(:has(.empty))')})"
        found: list[list[str]] = await self.value(
            f"[...{table}].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
        )
        return found

    async def looks(self, *, width: int, height: int, scheme: str, phone: bool = False) -> None:
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
        )

    async def unfold(self) -> None:
        """Open every part of the page, as a reader of a phone does by a touch."""
        await self.value("document.querySelectorAll('.part').forEach((one) => { one.open = true; })")

    async def picture(self, name: str, *, whole: bool = True) -> None:
        """The whole page as PNG, or what the window shows of it, where pictures are wanted."""
        if pictures.wanted():
            answer = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
            pictures.keep(name, base64.b64decode(answer["data"]))


@asynccontextmanager
async def browser(profile: Path, *flags: str) -> AsyncIterator[Tab]:
    """A browser with one empty tab. `profile`: a new directory; `flags`: further ones."""
    assert PROGRAM is not None
    profile.mkdir()
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *FLAGS,
        *flags,
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told = profile / "DevToolsActivePort"
        port = await eventually(lambda: told.read_text().split("\n")[0] if told.exists() else "")
        async with aiohttp.ClientSession() as session:

            async def tab() -> str | None:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = [one for one in await answer.json() if one["type"] == "page"]
                    return pages[0]["webSocketDebuggerUrl"] if pages else None

            async with session.ws_connect(await eventually(tab), max_msg_size=0) as socket:
                yield Tab(socket)
    finally:
        process.terminate()
        await process.wait()
