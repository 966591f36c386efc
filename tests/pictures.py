"""Pictures of pages, for people to look at: `pytest --pictures DIR` keeps them, other runs take none."""

from pathlib import Path


class _This:
    """What this process has been asked for."""

    directory: Path | None = None


def begin(directory: Path | None) -> None:
    _This.directory = directory
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)


def wanted() -> bool:
    return _This.directory is not None


def keep(name: str, png: bytes) -> None:
    assert _This.directory is not None
    (_This.directory / f"{name}.png").write_bytes(png)
