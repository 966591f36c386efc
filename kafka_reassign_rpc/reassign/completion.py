"""--completion: scripts that complete the options, made from the options themselves."""

from kafka_reassign_rpc.reassign.errors import Failed
from kafka_reassign_rpc.reassign.options import OPTIONS, Option

COMMAND = "kafka-reassign"


def script(shell: str) -> str:
    """Raises Failed for a shell that is neither bash nor zsh."""
    if shell == "bash":
        return _bash()
    if shell == "zsh":
        return _zsh()
    raise Failed(f"--completion: expected bash or zsh, got {shell!r}")


def _takes_file(option: Option) -> bool:
    return option.value is not None and "file" in option.value


def _bash() -> str:
    words = " ".join(f"--{option.name}" for option in OPTIONS)
    files = "|".join(f"--{option.name}" for option in OPTIONS if _takes_file(option))
    free = "|".join(
        f"--{option.name}"
        for option in OPTIONS
        if option.value is not None and not _takes_file(option) and option.name != "completion"
    )
    return f"""\
_{COMMAND.replace("-", "_")}() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    COMPREPLY=()
    case "${{COMP_WORDS[COMP_CWORD-1]}}" in
        {files})
            if [[ "$word" != -* ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
                return
            fi ;;
        --completion) mapfile -t COMPREPLY < <(compgen -W "bash zsh" -- "$word"); return ;;
        {free}) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$word")
}}
complete -F _{COMMAND.replace("-", "_")} {COMMAND}
"""


def _zsh() -> str:
    lines = [f"#compdef {COMMAND}", f"_{COMMAND.replace('-', '_')}() {{", "    _arguments \\"]
    for option in OPTIONS:
        about = option.help.split(". ")[0].split("\n")[0].rstrip(".")
        spec = f"--{option.name}[{_quoted(about)}]"
        if option.value is not None:
            action = "_files" if _takes_file(option) else "(bash zsh)" if option.name == "completion" else ""
            separator = "::" if option.optional_value else ":"
            spec += f"{separator}{_quoted(option.value)}:{action}"
        lines.append(f"        '{spec}' \\")
    lines[-1] = lines[-1].removesuffix(" \\")
    # Sourced, or found by its name in $fpath: both are common.
    lines += [
        "}",
        f'if [ "$funcstack[1]" = "_{COMMAND.replace("-", "_")}" ]; then',
        f'    _{COMMAND.replace("-", "_")} "$@"',
        "else",
        f"    compdef _{COMMAND.replace('-', '_')} {COMMAND}",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """For a spec of _arguments inside single quotes."""
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text.replace("'", "'\\''")
