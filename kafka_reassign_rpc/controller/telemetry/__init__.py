"""What a server records and shows.

    event_recorder     takes events: to the event log, to standard error, to the metrics
    event_log          the files of the event log
    metrics            `/metrics`, `/health` and `/ready`
    metric_catalogue   every metric, with its kind, labels and meaning

`core/events/catalogue.py` has every event.
"""
