"""The form of a case of an alert: what servers show minute by minute, and which alerts fire then.

Values are written as promtool has them: `0x5 3x20` is 0 from minute 0 to 5, then 3; `stale` is a server that is gone.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

PREFIX = "kafka_reassign_"
KAFKA, OTHER = "kafka", "other"
"""The jobs, one of each cluster."""
LONG = "x2000"
DOCS = "https://docs.example.com"


class Fired(NamedTuple):
    """An alert that fires: its labels besides the severity, and its summary."""

    summary: str
    labels: Mapping[str, str] = {"job": KAFKA}


class Case(NamedTuple):
    """What happens, and which alerts of this name fire after how many minutes."""

    alert: str
    what: str
    series: Mapping[str, str]
    fires: Mapping[int, tuple[Fired, ...]]


def servers(metric: str, first: str, second: str | None = None, *, job: str = KAFKA, **labels: str) -> dict[str, str]:
    """The series of a metric on servers `a` and `b`; without `second` there is no `b`."""
    more = "".join(f',{name}="{value}"' for name, value in labels.items())
    given = {"a": first} if second is None else {"a": first, "b": second}
    return {
        f'{PREFIX}{metric}{{job="{job}",instance="{instance}"{more}}}': values for instance, values in given.items()
    }


def crosses(alert: str, metric: str, values: str, summary: str, *, begins: int, lasts: int) -> Case:
    """The controller shows `values`, a standby 0: the alert fires `lasts` minutes after it `begins`, no sooner."""
    before = begins + lasts - 1
    return Case(alert, "it holds", servers(metric, values, f"0{LONG}"), {before: (), before + 1: (Fired(summary),)})


def passes(alert: str, metric: str, values: str, *, at: int) -> Case:
    """What is over in time."""
    return Case(alert, "it is over in time", servers(metric, values, f"0{LONG}"), {at: ()})


def unit_test(cases: tuple[Case, ...], rules: Mapping[str, Mapping[str, Any]], rule_file: str) -> dict[str, Any]:
    """The file of `promtool test rules`. `rules`: those of the file, by alert. Cases with the same series are one test:
    promtool evaluates all rules for each.
    """
    of_series: dict[tuple[tuple[str, str], ...], list[Case]] = {}
    for case in cases:
        of_series.setdefault(tuple(case.series.items()), []).append(case)
    return {
        "rule_files": [rule_file],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "external_labels": {"docs": DOCS},
                "name": "; ".join(f"{case.alert}: {case.what}" for case in together),
                "input_series": [{"series": name, "values": values} for name, values in series],
                "alert_rule_test": [
                    {
                        "eval_time": f"{minute}m",
                        "alertname": case.alert,
                        "exp_alerts": [_expected(one, rules[case.alert]) for one in fired],
                    }
                    for case in together
                    for minute, fired in case.fires.items()
                ],
            }
            for series, together in of_series.items()
        ],
    }


def _expected(fired: Fired, rule: Mapping[str, Any]) -> dict[str, Any]:
    link = rule["annotations"]["runbook_url"].replace("{{ $externalLabels.docs }}", DOCS)
    annotations = {"summary": fired.summary, "runbook_url": link}
    return {"exp_labels": {**rule["labels"], **fired.labels}, "exp_annotations": annotations}
