"""A terminal for tests: it keeps what a user would see after all control sequences."""

import io
import re

_TOKEN = re.compile(r"\x1b\[\??([0-9;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def cursor_is_visible(self) -> bool:
        return self.getvalue().rfind("\x1b[?25l") <= self.getvalue().rfind("\x1b[?25h")

    def screen(self) -> list[str]:
        """The lines on the screen, without empty ones at the end."""
        lines, row, column = [""], 0, 0
        for argument, command, carriage_return, newline, text in _TOKEN.findall(self.getvalue()):
            if command == "A":
                row = max(0, row - int(argument or 1))
            elif command == "K":
                lines[row] = "" if argument == "2" else lines[row][:column]
            elif carriage_return:
                column = 0
            elif newline:
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            elif text:
                lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
                column += len(text)
            else:
                assert command in "mhl", f"this terminal does not know the control sequence {command!r}"
        while lines and not lines[-1].strip():
            lines.pop()
        return [line.rstrip() for line in lines]
