"""docs/webhooks.md names each event that webhooks get unless the operator says otherwise."""

import re

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.notifications import DEFAULT_KINDS
from tests.docs.pages import DOCS


def test_dh_8_the_page_of_webhooks_has_a_row_for_each_event_of_the_default() -> None:
    page = (DOCS / "webhooks.md").read_text()
    rows = page.partition("## Which events")[2].partition('`"webhook.events"')[0]
    assert set(re.findall(r"`([a-z]+\.[a-z_]+)`", rows)) == set(DEFAULT_KINDS)
    assert set(DEFAULT_KINDS) <= catalogue.EVENTS.keys()
    assert len(DEFAULT_KINDS) == len(set(DEFAULT_KINDS))
