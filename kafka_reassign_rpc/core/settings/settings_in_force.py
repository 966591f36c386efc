"""Which settings hold. They are derived when something that they come from is read, and held as data
(`SoftState.in_force`): decisions, duties and the status only read fields.

A setting has the value of all servers, else that among the brokers' defaults, else the server's own. Up to version 0.1
`/config/brokers/<default>` held the settings. Brokers take unknown names there for secrets, so that stock tools refuse
to change any other default there. This version still reads them, and warns.

Time passes outside of decisions, so a duty reports what the windows of now are (`core.queue.window_now`). Until it has
judged a new text, no waiting move starts, since a window keeps moves away.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    DEFAULT_SETTINGS,
    ENABLED,
    InFlightCaps,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, is_of_healing, with_values
from kafka_reassign_rpc.core.settings.windows import Terms
from kafka_reassign_rpc.support.bounded_text import shortened, shown
from kafka_reassign_rpc.support.typed_commands import command

SETTINGS_ZNODE = "/admin/reassignment_settings"
DISABLING_ZNODE = "/admin/reassign_cancel"
IN_DEFAULTS = "the brokers' default configs"
MOVE_SETTINGS = f"move them with `{command('kafka-reassign settings', '--move')}`"
CLOSED = Terms(starts=False)
NOT_JUDGED = "the windows have not been judged yet: no waiting move starts but repairs"

Layers = Sequence[Mapping[str, str]]
"""What holds settings of all servers, the strongest first."""


class WindowNow(msgspec.Struct, frozen=True):
    """What `reassignment.windows` means at present.

    text    the setting from which it was judged
    meaning what holds, in words for people
    until   when that changes, ms since 1970; None if not within a week
    """

    text: str
    meaning: str
    terms: Terms
    until: int | None


class SettingsInForce(ReassignmentSettings, frozen=True, kw_only=True):
    """The settings themselves, except what follows from others: caps          of the window that holds, else of the
    settings; `core.healing.failed_brokers` may take `repairs` away
    problems      what is wrong with the texts of settings, by their names
    disabled_by   why no reassignment may start; None: they are enabled
    window        what `windows` means now; None without windows
    """

    problems: Mapping[str, str]
    disabled_by: str | None
    window: WindowNow | None

    @property
    def healing_problems(self) -> list[str]:
        """Why self-healing does not do what its settings say."""
        unreadable = [self.healing.unreadable] if self.healing.unreadable else []
        return unreadable + [text for name, text in self.problems.items() if is_of_healing(name)]


def derived(
    layers: Layers,
    started_with: ReassignmentSettings = DEFAULT_SETTINGS,
    *,
    problem: str = "",
    disabled_by_znode: bool = False,
    window: WindowNow | None = None,
    migrating: bool = False,
) -> SettingsInForce:
    """started_with   the server's own settings
    problem        why the settings of all servers cannot be read; empty: they can
    window         as it was judged last
    migrating      brokers were restarted for the migration to KRaft
    """
    texts, problems = _values(layers)
    settings = with_values(started_with, texts)
    rate = None if window is None else window.terms.rate
    healing = replace(settings.healing, throttle=_throttle(settings.healing, rate, migrating), unreadable=problem)
    now = _window_now(settings.windows, window)
    return SettingsInForce(
        **{field: getattr(settings, field) for field in _AS_THEY_ARE},
        caps=_caps(settings.caps, None if now is None else now.terms, healing.chunk),
        healing=healing,
        problems=problems,
        disabled_by=_disabled_by(settings, problem, disabled_by_znode=disabled_by_znode),
        window=now,
    )


_AS_THEY_ARE = [field for field in ReassignmentSettings.__struct_fields__ if field not in ("caps", "healing")]


def _values(layers: Layers) -> tuple[dict[tuple[str, ...], Any], dict[str, str]]:
    """The value of the strongest layer with a valid one, by its place in `ReassignmentSettings`, and what is wrong with
    stronger ones. Only a layer without the name has no value; an empty text is one.
    """
    values: dict[tuple[str, ...], Any] = {}
    problems: dict[str, str] = {}
    for name in dict.fromkeys(name for layer in layers for name in layer):
        one = SERVER_SETTINGS.get(name)
        if one is None:
            continue
        for text in (layer[name] for layer in layers if name in layer):
            value = one.kind.read(text)
            if value is None:
                value = one.if_invalid
                instead = f"is taken for {value}"
                if value is None:
                    instead = "is ignored, so a weaker or the default value holds"
                problems.setdefault(name, f"{name}={shown(text)} {instead}: {one.kind.expected} is expected")
            if value is not None:
                values[one.path] = value
                break
    return values, problems


def _throttle(own: HealingSettings, rate: int | None, migrating: bool) -> HealingThrottle:
    """A window's rate throttles repairs that have no throttle. While brokers migrate to KRaft, repairs have none
    (`restrictions.lease_refused`).
    """
    if migrating:
        return HealingThrottle()
    return HealingThrottle(rate) if rate is not None and own.throttle == HealingThrottle() else own.throttle


def _caps(own: InFlightCaps, terms: Terms | None, repairs: int) -> InFlightCaps:
    if terms is None:
        return replace(own, repairs=repairs)
    return replace(
        own,
        per_broker=own.per_broker if terms.per_broker is None else terms.per_broker,
        per_cluster=own.per_cluster if terms.per_cluster is None else terms.per_cluster,
        repairs=repairs,
        closed=not terms.starts,
    )


def _disabled_by(settings: ReassignmentSettings, problem: str, *, disabled_by_znode: bool) -> str | None:
    if disabled_by_znode:
        return f"{DISABLING_ZNODE} exists"
    if problem:
        return problem
    return None if settings.enabled else f"{ENABLED}=false is set for the cluster"


def _window_now(text: str, known: WindowNow | None) -> WindowNow | None:
    if not text:
        return None
    return known if known is not None and known.text == text else WindowNow(text, NOT_JUDGED, CLOSED, None)


NOTHING_SET = derived(())


def notices(settings: Mapping[str, str], own_in_defaults: Mapping[str, str]) -> Iterator[str]:
    """What an operator must know about settings of servers among the brokers' defaults (`own_in_defaults`)."""
    for name, value in sorted(own_in_defaults.items()):
        old, new = shortened(value), settings.get(name)
        if new is None:
            yield f"{name}={old} holds, but is set in {IN_DEFAULTS}, which a later version does not read"
        elif new == value:
            yield f"{name}={old} of {IN_DEFAULTS} is superfluous: {SETTINGS_ZNODE} has it, too"
        else:
            yield f"{name}={shortened(new)} of {SETTINGS_ZNODE} holds; {old} of {IN_DEFAULTS} has no effect"
