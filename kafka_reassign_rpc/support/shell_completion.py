"""Scripts with which bash, zsh and fish complete a command line: options may stand before the command, too.

A script walks over the words before the cursor, passes over values of options, and finds by the others which command
they lead to: `plan drain`, or "" for the program itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

SHELLS = ("bash", "zsh", "fish")


class Flag(NamedTuple):
    """name         with its dashes
    about        what it does, in a few words
    value        what its value is called; "": it takes none
    words        the values that there are; none: any
    is_file      the value is a path
    is_optional  it may stand without its value
    """

    name: str
    about: str = ""
    value: str = ""
    words: tuple[str, ...] = ()
    is_file: bool = False
    is_optional: bool = False


class CompletedCommand(NamedTuple):
    """`words`: what a word that is no option may be, besides the names of `commands` below this one."""

    flags: Sequence[Flag]
    commands: Mapping[str, "CompletedCommand"] = {}
    words: Sequence[str] = ()


def script(shell: str, program: str, root: CompletedCommand) -> str:
    """`shell`: one of SHELLS."""
    return _SCRIPTS[shell](program, dict(_walk(root)))


_Commands = Mapping[str, CompletedCommand]
"""By the words that lead to each, with blanks between them."""


def _walk(command: CompletedCommand, at: str = "") -> Iterator[tuple[str, CompletedCommand]]:
    yield at, command
    for name, below in command.commands.items():
        yield from _walk(below, f"{at} {name}".lstrip())


def _function(program: str) -> str:
    return f"_{program.replace('-', '_')}"


def _steps(commands: _Commands) -> str:
    """The patterns of the words that lead one command further down."""
    return "|".join(f"'{at}:{name}'" for at, one in commands.items() for name in one.commands)


def _cases(commands: _Commands, is_wanted: Callable[[Flag], bool]) -> str:
    """The patterns of these options behind their commands; a pattern that nothing matches where there is none."""
    wanted = [f"'{at}:{one.name}'" for at, command in commands.items() for one in command.flags if is_wanted(one)]
    return "|".join(wanted or ["''"])


def _takes_value(one: Flag) -> bool:
    return bool(one.value)


def _walking(commands: _Commands, words: str) -> str:
    """Sets `at`, and `before` to the option whose value is completed, or "". Bash and zsh read it."""
    return f"""\
    local at="" before="" one
    for one in {words}; do
        [[ "$one" == "=" ]] && continue
        case "$at:$before" in
            {_cases(commands, _takes_value)}) before=""; [[ "$one" == -* ]] || continue ;;
        esac
        before=""
        case "$at:$one" in
            {_steps(commands)}) at="${{at:+$at }}$one" ;;
            {_cases(commands, _takes_value)}) before="$one" ;;
        esac
    done"""


def _bash(program: str, commands: _Commands) -> str:
    """Bash gives `--option=value` as three words."""
    values = "\n".join(
        f"        '{at}:{one.name}') COMPREPLY=($(compgen -W '{' '.join(one.words)}' -- \"$word\")); return 0 ;;"
        for at, command in commands.items()
        for one in command.flags
        if one.words
    )
    words = "\n".join(
        f"        '{at}') words='{' '.join([*one.commands, *one.words, *(flag.name for flag in one.flags)])}' ;;"
        for at, one in commands.items()
    )
    return f"""\
{_function(program)}() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    COMPREPLY=()
    [[ "$word" == "=" ]] && word=""
{_walking(commands, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
    case "$at:$before" in
{values}
        {_cases(commands, lambda one: one.is_file and not one.is_optional)}) return 0 ;;
        {_cases(commands, lambda one: one.is_file and one.is_optional)}) [[ "$word" == -* ]] || return 0 ;;
        {_cases(commands, lambda one: _takes_value(one) and not one.words and not one.is_file)})
            compopt +o default 2>/dev/null
            return 0 ;;
    esac
    case "$at" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F {_function(program)} {program}
"""


def _zsh(program: str, commands: _Commands) -> str:
    """Users either source it, or put it into a directory of $fpath."""
    branches = "\n".join(
        f"        '{at}') _arguments \\\n            " + " \\\n            ".join(_zsh_specs(at, one)) + " ;;"
        for at, one in commands.items()
    )
    return f"""\
#compdef {program}
{_function(program)}() {{
{_walking(commands, '"${(@)words[2,CURRENT-1]}"')}
    case "$at" in
{branches}
    esac
}}
if [ "$funcstack[1]" = "{_function(program)}" ]; then
    {_function(program)} "$@"
else
    compdef {_function(program)} {program}
fi
"""


def _zsh_specs(at: str, command: CompletedCommand) -> Iterator[str]:
    depth = len(at.split())
    yield from (f"'{place}: :'" for place in range(1, depth + 1))
    below = " ".join((*command.commands, *command.words))
    yield f"'{depth + 1}:command:({below})'" if below else "'*:file:_files'"
    for one in command.flags:
        spec = f"{one.name}[{_of_zsh(one.about)}]"
        if one.value:
            values = f"({' '.join(one.words)})" if one.words else "_files" if one.is_file else " "
            spec += f"{'::' if one.is_optional else ':'}{_of_zsh(one.value)}:{values}"
        yield f"'{spec}'"


def _of_zsh(text: str) -> str:
    """Escapes for a single-quoted spec of _arguments."""
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text.replace("'", "'\\''")


def _fish(program: str, commands: _Commands) -> str:
    """Fish knows itself which words are values."""
    lines = [f"complete -c {program} -e"]
    for at, command in commands.items():
        where = [f"__fish_seen_subcommand_from {name}" for name in at.split()]
        if command.commands:
            where.append(f"not __fish_seen_subcommand_from {' '.join(command.commands)}")
        line = f"complete -c {program}" + (f" -n '{'; and '.join(where)}'" if where else "")
        if below := " ".join((*command.commands, *command.words)):
            lines.append(f"{line} -f -a '{below}'")
        for one in command.flags:
            values = f" -x -a '{' '.join(one.words)}'" if one.words else " -r -F" if one.is_file else " -x"
            takes = values if one.value and not one.is_optional else ""
            lines.append(f"{line} -l {one.name.removeprefix('--')}{takes} -d {_of_fish(one.about)}")
    return "\n".join(lines) + "\n"


def _of_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Mapping[str, Callable[[str, _Commands], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
