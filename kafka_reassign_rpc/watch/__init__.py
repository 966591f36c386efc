"""`kafka-reassign-rpc watch`: sees the moves of any Kafka cluster, changes nothing, and shows them as a server does.

    move_book      which move is which from look to look, and how it ended
    seen_cluster   the cluster as core knows it, from what its nodes tell
    sizes          what brokers' answers about sizes are worth
    throttle_readings
                   when throttles were told, and whom to ask again soon
    pace           how often to ask, so that it costs the cluster little
    broker_questions
                   what only one broker can tell, asked beside the loop
    unseen         what cannot be seen, in the log and on the page
    watcher        looks again and again, and bears whatever comes
    cluster_watch  one cluster: its watcher, event log, metrics, status page and API
    clusters       what a settings file says of several clusters, and `/api/v1/clusters`
    served         the pages of one cluster or of several over HTTP

The first five decide without I/O.
"""
