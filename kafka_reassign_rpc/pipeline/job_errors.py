"""What ends a job with one clear line."""


class BadInput(Exception):
    """Something that was given cannot be used; the message names the file or the rows. Exit code 2."""


class JobFailed(Exception):
    """The job could not be done for a reason outside of what was given to it. Exit code 1."""
