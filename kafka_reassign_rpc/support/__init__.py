"""Small helpers that every other part may use.

turns          long work gives others their turn, when the clock says so (TURN_S)
slices         what long work handles piece by piece, sorted lists and maps too
backoff        waits that double
files          files read up to a length, whether one has changed, and who else may read it; files and
               directories that appear as a whole
connection_flags  flags by which a command reaches a cluster; the variables of the environment, and misspelt ones
secrecy        what a message may repeat of what was typed
quiet_arguments  command lines whose errors repeat nothing that may be secret; scripts with which shells complete
                 command lines; the error for wrong flags and settings
bounded_text   what anybody may have written, read and shown within limits (SHOWN)
bounded_log    log lines within limits (LONGEST_LINE)
cluster_name   which of several clusters a line is about
error_text     errors for people; names that nothing has, with what was meant
host_port      addresses as Kafka reads them, and those of status pages that other servers tell; IP addresses of hosts;
               `zookeeper.connect`
counted        numbers with their nouns and verbs
typed_commands  commands that our texts ask a reader to type
human_units    sizes and durations with units
text_table     tables of plain text, by rich; text wrapped at the columns of a terminal
standard_output  the end of a command that cannot print
address_line   a line in which the addresses of clients take turns
tasks          background tasks and their end; a message while something takes long; parts that start in order and stop
               in reverse
wall_clock     the time of day
product_version  the version of this product
"""
