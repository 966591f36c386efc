"""--completion: prints a script for bash or zsh that completes the options."""

from collections.abc import Sequence

from kafka_reassign_rpc.reassign_command import (
    action_cordon,
    action_heal,
    action_hold,
    action_move,
    action_settings,
    action_throttle,
)
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.reassign_command.options import OPTIONS, Option
from kafka_reassign_rpc.support.secrecy import told

COMMAND = "kafka-reassign"
NAME = COMMAND.replace("-", "_")
SUBCOMMANDS = {
    one.COMMAND: one.options() for one in (action_move, action_throttle, action_heal, action_cordon, action_settings)
} | {command: action_hold.options(command) for command in (action_hold.HOLD, action_hold.RELEASE)}


def script(shell: str) -> str:
    """Raises CommandFailed for a shell other than bash and zsh."""
    if shell == "bash":
        return _bash()
    if shell == "zsh":
        return _zsh()
    raise CommandFailed(f"--completion: expected bash or zsh, got {told(shell)}")


def _takes_file(option: Option) -> bool:
    return option.value is not None and "file" in option.value


def _bash() -> str:
    of_commands = "\n".join(
        f'    elif [[ "$COMP_CWORD" -gt 1 && "${{COMP_WORDS[1]}}" == {command} ]]; then\n{_bash_options(options)}'
        for command, options in SUBCOMMANDS.items()
    )
    return f"""\
_{NAME}() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    COMPREPLY=()
{of_commands.replace("elif", "if", 1)}
    else
{_bash_options(OPTIONS)}
        if [[ "$COMP_CWORD" -eq 1 && -n "$word" && "$word" != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "{" ".join(SUBCOMMANDS)}" -- "$word")
        fi
    fi
}}
complete -F _{NAME} {COMMAND}
"""


def _bash_options(options: Sequence[Option]) -> str:
    words = " ".join(f"--{option.name}" for option in options)
    files = "|".join(f"--{option.name}" for option in options if _takes_file(option))
    free = "|".join(
        f"--{option.name}"
        for option in options
        if option.value is not None and not _takes_file(option) and option.name != "completion"
    )
    return f"""\
        case "${{COMP_WORDS[COMP_CWORD-1]}}" in
            {files})
                if [[ "$word" != -* ]]; then
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$word")
                    return 0
                fi ;;
            --completion) mapfile -t COMPREPLY < <(compgen -W "bash zsh" -- "$word"); return 0 ;;
            {free}) return 0 ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$word")"""


def _zsh() -> str:
    word = f"'1:command:({' '.join(SUBCOMMANDS)})'"
    lines = [
        f"#compdef {COMMAND}",
        f"_{NAME}() {{",
    ]
    for number, (command, options) in enumerate(SUBCOMMANDS.items()):
        start = "elif" if number else "if"
        lines.append(f"    {start} (( CURRENT > 2 )) && [[ $words[2] == {command} ]]; then")
        lines += _zsh_options([word], options)
    lines += ["    else", *_zsh_options([word], OPTIONS), "    fi"]
    # Users either source the script, or put it into a directory of $fpath.
    lines += [
        "}",
        f'if [ "$funcstack[1]" = "_{NAME}" ]; then',
        f'    _{NAME} "$@"',
        "else",
        f"    compdef _{NAME} {COMMAND}",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _zsh_options(specs: list[str], options: Sequence[Option]) -> list[str]:
    for option in options:
        about = option.help.split(". ")[0].split("\n")[0].rstrip(".")
        spec = f"--{option.name}[{_quoted(about)}]"
        if option.value is not None:
            action = "_files" if _takes_file(option) else "(bash zsh)" if option.name == "completion" else ""
            separator = "::" if option.optional_value else ":"
            spec += f"{separator}{_quoted(option.value)}:{action}"
        specs = [*specs, f"'{spec}'"]
    return ["        _arguments \\", *(f"            {spec} \\" for spec in specs[:-1]), f"            {specs[-1]}"]


def _quoted(text: str) -> str:
    """Escapes for a single-quoted spec of zsh's _arguments."""
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text.replace("'", "'\\''")
