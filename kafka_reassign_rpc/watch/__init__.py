"""`kafka-reassign-rpc watch`: sees the moves of any Kafka cluster, changes nothing, and shows them as a server does.

    move_book          which move is which from look to look, and how it ended: how many looks must agree (TWICE, LOOKS)
    seen_cluster       the cluster as core knows it; since when nodes are dead while no controller is active; what
                       brokers' answers about sizes are worth, and what cannot be seen; when throttles were read, and
                       which brokers to ask again soon
    watcher            looks again and again, and survives any failure; when a move is stalled (STALL_S)
    clusters           several clusters of a settings file (MOST_CLUSTERS), and `/api/v1/clusters`
    served_http        the pages over HTTP, and each cluster

The first two decide without I/O. How often to ask, and how to ask single brokers apart from the
loop, is in `client/polling_pace.py` and `client/broker_questions.py`.
"""
