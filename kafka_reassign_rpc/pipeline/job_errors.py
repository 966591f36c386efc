"""Errors that end a job with one clear line."""


class BadInput(Exception):
    """Something that was given to the job cannot be used; the message names the file or the rows. Exit code 2."""


class JobFailed(Exception):
    """The job failed for a reason outside of its input. Exit code 1."""
