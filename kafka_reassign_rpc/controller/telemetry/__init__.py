"""What a server records and shows.

    event_recorder     takes events: to the event log, to standard error, to the metrics; how long names and reasons of
                       an event may be. The form of a line of the log: `cli.long_running`, `support.bounded_log`
    event_log          the files of the event log; the defaults of their size and number (FILE_BYTES, FILES,
                       REFUSAL_FILES)
    recorded_events    the event log of this process, for the status page
    event_log_files    one series of these files
    refusal_limit      how many refusals a second the event log takes; how many addresses its report names (NAMED)
    metrics            `/metrics`, `/health` and `/ready`; the buckets of histograms (SHORT, LONG)
    metric_catalogue   every metric, with its kind, labels, meaning, and value where it is read at each scrape
    webhooks           notifies webhooks of some events
    webhook_receiver   the task and the queue of one URL: how long an event waits for others (GATHER_S), and the waits
                       before it tries again (FIRST_WAIT_S, LONGEST_WAIT_S)
    webhook_requests   one attempt, signed; the defaults of webhook.timeout.ms and webhook.max.age.ms
    webhook_names      looks up the names of receivers
    settings_notices   warnings about settings of the servers that are set in the wrong place
    cluster_figures    what metrics show of brokers besides the status document
    server_status      what a server knows of itself at a scrape, from which gauges have their values

`core/events/catalogue.py` has every event.
"""
