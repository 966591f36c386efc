class BadInput(Exception):
    """The job cannot use an input; the message names the file or the rows. Exit code 2."""


class JobFailed(Exception):
    """The job failed for another reason. Exit code 1."""
