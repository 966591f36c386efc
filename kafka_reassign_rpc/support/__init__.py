"""Small helpers that every other part may use.

slices         where long work in a generator yields
slice_timer    lets the event loop run between slices
backoff        waits that double
atomic_files   files and directories that appear as a whole
tasks          the end of background tasks
"""
