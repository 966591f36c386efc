"""Small helpers that every other part may use.

turns          long work gives others their turn, when the clock says so (TURN_S)
slices         what long work handles piece by piece
sliced_sort    sorts long lists in slices
backoff        waits that double
atomic_files   files and directories that appear as a whole
files          files read up to a length, and whether a file has changed
file_rights    who else may read a file
environment    the variables of the environment, and misspelt ones
connection_flags  flags by which a command reaches a cluster
secrecy        what a message may repeat of what was typed
quiet_arguments  command lines whose errors repeat nothing that may be secret
bounded_text   what anybody may have written, read and shown within limits (SHOWN)
bounded_log    log lines within limits (LONGEST_LINE)
cluster_name   which of several clusters a line is about
error_text     errors for people
forgetting     maps that hold what there is
host_port      addresses as Kafka reads them
resolved_host  the IP address of a host
page_address   addresses of status pages that other servers tell
counted        numbers with their nouns and verbs
shell_completion  scripts with which shells complete command lines
nearest_name   names that nothing has, with what was meant
typed_commands  commands that our texts ask a reader to type
human_units    sizes and durations with units
text_columns   text wrapped at the columns of a terminal
text_table     tables of plain text, by rich
standard_output  the end of a command that cannot print
slow_word      a message while something takes long
address_line   a line in which the addresses of clients take turns
tasks          background tasks and their end
parts          parts that start in order and stop in reverse
wall_clock     the time of day
product_version  the version of this product
"""
