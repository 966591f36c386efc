"""What a server records and shows.

    event_recorder     takes events: to the event log, to standard error, to the metrics
    event_log          the files of the event log
    recorded_events    the event log of this process, for the status page
    event_log_files    one series of these files
    refusal_limit      how many refusals a second the event log takes
    metrics            `/metrics`, `/health` and `/ready`
    metric_catalogue   every metric, with its kind, labels, meaning, and value where it is read at each scrape
    webhooks           notifies webhooks of some events
    webhook_receiver   the task and the queue of one URL: tries again, after longer and longer waits
    webhook_requests   one attempt, signed
    webhook_names      looks up the names of receivers
    settings_notices   warnings about settings of the servers that are set in the wrong place
    cluster_figures    what metrics show of brokers besides the status document
    server_status      what a server knows of itself at a scrape, from which gauges have their values

`core/events/catalogue.py` has every event.
"""
