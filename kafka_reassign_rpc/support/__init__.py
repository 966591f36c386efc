"""Small helpers that every other part may use.

slices         where long work in a generator yields
slice_timer    lets the event loop run between slices
sliced_sort    sorts long lists in slices
backoff        waits that double
atomic_files   files and directories that appear as a whole
bounded_files  files read up to a length
file_rights    who else may read a file
file_stamps    whether a file has changed
bounded_text   what anybody may have written, read and shown within limits
bounded_log    lines of the log within limits
error_text     errors for people
counted        numbers with their nouns and verbs
human_units    sizes and durations with units
text_columns   the columns that text takes in a terminal, and lines of so many
text_table     tables of plain text
standard_output  the end of a command that cannot print
slow_word      a word while something takes long
tasks          background tasks and their end
parts          the parts of something that runs: started in their order, stopped in the reverse one
wall_clock     the time of day
"""
