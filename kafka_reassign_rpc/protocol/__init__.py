"""The Kafka protocol without I/O: schemas become message classes, bytes become requests, answers become bytes.

messages    every message class that the product uses
versions    API keys, and the versions that the codec reads and writes
guard       decoders generated from the schemas that check every length against the bytes that are there
codec       one frame to one message and back, headers included
connection  a stream of bytes to requests in order, and answers in order to a stream of bytes
errors      what can be wrong with a frame
"""
