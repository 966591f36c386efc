"""`kafka-reassign-rpc notify`: sends a test notification to the webhooks of a server's settings."""

import argparse
import asyncio
import sys
import time

import msgspec

from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.cli.webhook_settings import URLS, WEBHOOK_SETTINGS, webhook_config
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig, WebhookSession, origin
from kafka_reassign_rpc.core.events.event_lines import line_of
from kafka_reassign_rpc.core.events.notifications import TEST, Notification, Sender, notice, notification_of
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.wall_clock import now_ms

HELP = "send a test notification to the webhooks of a server's settings"
DESCRIPTION = f"""\
Sends one signed notification, with the event `{TEST}`, to each URL of webhook.urls, once, and prints a line for
each: whether the receiver has taken it, or why not. Run it with the file of settings of `serve` or `watch`.
"""
EPILOG = """\
exit codes: 0 every receiver has taken it, 1 one has not, 2 wrong flags or settings
example:    kafka-reassign-rpc notify --config /etc/kafka-reassign/server.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, WEBHOOK_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    config = webhook_config(read_settings(arguments, SETTINGS))
    if config is None:
        raise UsageError(f"{URLS} is not set: there is no one to notify")
    return asyncio.run(_notify(config))


async def _notify(config: WebhookConfig) -> int:
    session = WebhookSession(config)
    try:
        taken = await asyncio.gather(*(_try(session, url, _test()) for url in config.urls))
    finally:
        await session.close()
    return 0 if all(taken) else 1


async def _try(session: WebhookSession, url: str, notification: Notification) -> bool:
    began = time.monotonic()
    outcome = await session.post(url, notification)
    took_ms = round((time.monotonic() - began) * 1000)
    said = f"FAILED  {origin(url)}: {outcome.why}" if outcome.why else f"OK      {origin(url)}: taken in {took_ms} ms"
    sys.stdout.write(said + "\n")
    return not outcome.why


def _test() -> Notification:
    at = now_ms()
    line = line_of((0, at), None, None, msgspec.json.encode({"event": TEST}))
    text = f"{TEST}: a test of the webhook; nothing has happened"
    return notification_of((notice(line, text, "notify"),), Sender(None, None))
