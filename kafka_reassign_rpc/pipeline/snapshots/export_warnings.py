"""One line for all brokers or topics with the same error."""

from dataclasses import dataclass, field

NAMED = 5


@dataclass
class _Group:
    count: int = 0
    names: list[str] = field(default_factory=list)


class ExportWarnings:
    """Its size depends on the number of different errors, not on the cluster."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, str], _Group] = {}

    def add(self, one: str, many: str, name: object, why: str) -> None:
        """`one`: the text for one, with {} for the name; `many`: the text after a number."""
        group = self._groups.setdefault((one, many, why), _Group())
        group.count += 1
        if len(group.names) < NAMED:
            group.names.append(str(name))

    def lines(self) -> list[str]:
        found = []
        for (one, many, why), group in self._groups.items():
            more = ", …" if group.count > len(group.names) else ""
            names = ", ".join(group.names)
            what = one.format(names) if group.count == 1 else f"{group.count} {many} ({names}{more})"
            found.append(f"{what}: {why}")
        return found
