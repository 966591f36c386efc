"""The status page of a server, and its API: what the controller knows, as JSON and as one page for people.

    documents       what the API answers, as types: docs/status-api.md is written from them
    server_view     what the page gets to see of its server
    summary, brokers, moves, events     values in, documents out
    copy_rates      how fast moves copy by broker
    figure_keeper   notes those rates, and figures for plots (core.reassignment.figure_history keeps them)
    paced_views     computes what is dear at most so often that it costs a small share of a core
    requests        the parameters of a request, within their limits
    status_api      the paths under /api/v1
    status_stream   server-sent events: what has changed, for all viewers at once
    page            the page itself and its files

The page is read-only: nothing here changes anything.
"""
