"""`kafka-reassign-rpc hash`: a line of sasl.plain.users.file for a user."""

import argparse
import getpass
import sys

from kafka_reassign_rpc.core.configs.scram_credentials import LEAST_ITERATIONS, MOST_OF_A_LINE
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.sasl.hashed_users import ITERATIONS, hashed_line
from kafka_reassign_rpc.support.quiet_arguments import UsageError

HELP = "hash the password of a user for sasl.plain.users.file"
DESCRIPTION = """\
Reads a password, from the terminal or as the first line of standard input, and prints the line for the file of
sasl.plain.users.file. The line holds a salted hash, not the password.
"""
EPILOG = """\
exit codes: 0 the line is printed, 2 wrong flags or no password
example:    kafka-reassign-rpc hash alice >> /etc/kafka-reassign/users.toml
"""
LONGEST = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", help="the name of the user")
    parser.add_argument(
        "--iterations",
        type=int,
        default=ITERATIONS,
        metavar="COUNT",
        help=f"rounds of the hash, {LEAST_ITERATIONS} to {MOST_OF_A_LINE}: more of them slow down guesses of"
        " passwords, and logins (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    if not LEAST_ITERATIONS <= arguments.iterations <= MOST_OF_A_LINE:
        raise UsageError(f"--iterations: expected {LEAST_ITERATIONS} to {MOST_OF_A_LINE}, got {arguments.iterations}")
    user: str = arguments.user
    if not 0 < len(user) <= LONGEST_NAME or not user.isprintable():
        raise UsageError(f"USER: expected a name of 1 to {LONGEST_NAME} characters, without control characters")
    if sys.stdin.isatty():
        password = getpass.getpass(f"password of {user}: ", stream=sys.stderr)
    else:
        password = sys.stdin.readline(LONGEST).rstrip("\r\n")
    if not password:
        raise UsageError("the password is empty")
    quoted = user.replace("\\", "\\\\").replace('"', '\\"')
    sys.stdout.write(f'"{quoted}" = "{hashed_line(password, arguments.iterations)}"\n')
    return 0
