"""What a server records and shows.

    event_recorder     takes events: to the event log, to standard error, to the metrics; how long names and reasons of
                       an event may be; how many refusals a second it takes, how many addresses its report names
                       (NAMED). The form of a line of the log: `cli.long_running`, `support.bounded_log`
    event_log          the files of the event log; the defaults of their size and number (FILE_BYTES, FILES,
                       REFUSAL_FILES)
    metrics            `/metrics`, `/health` and `/ready`; the buckets of histograms (SHORT, LONG)
    metric_catalogue   every metric, with its kind, labels, meaning, and value where it is read at each scrape
    webhooks           notifies webhooks of some events: a task and a queue for each URL, how long an event waits for
                       others (GATHER_S), the waits before it tries again (FIRST_WAIT_S, LONGEST_WAIT_S)
    webhook_requests   one attempt, signed; the defaults of webhook.timeout.ms and webhook.max.age.ms
    server_status      what a server knows of itself at a scrape, from which gauges have their values; what metrics show
                       of brokers besides the status document

`core/events/catalogue.py` has every event.
"""
