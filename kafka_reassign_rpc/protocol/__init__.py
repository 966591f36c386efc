"""The Kafka protocol without I/O: bytes become requests, answers become bytes.

served_connection.py  the server's side of a connection; the largest request by default (MAX_REQUEST_BYTES); a byte
                      stream to frames
client_connection.py  the client's side; the largest answer (MAX_ANSWER_BYTES)
frame_codec.py        one frame to one message and back; the most elements of a message (MAX_ELEMENTS); varints, compact
                      strings and arrays; how long an answer asks its client to wait
bounded_decoder.py    decoders that check every length before they allocate
decoder_source.py     the source of such a decoder: its limits (LONGEST_TEXT, MOST_TAGS, …) and the text of each refusal
sliced_messages.py    large messages, element by element
log_dirs_reader.py    large DescribeLogDirs answers, in slices
messages.py           every message class that the product uses
generate_stubs.py     the types of these classes, which the build writes to messages.pyi
versions.py           API keys, and the versions that the codec reads and writes; which API versions a server announces,
                      so that brokers know them too
frame_errors.py       the errors that a frame can have
"""
