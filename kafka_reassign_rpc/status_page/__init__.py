"""The status page of a server, and its API: the status document (`core.status`), as JSON and as one page for people.

    figure_keeper   notes figures for plots (core.reassignment.figure_history keeps them)
    status_keeper   keeps the last status in which the moves were known
    events          the newest events of all servers
    paced_views     limits how often costly values are computed, to a small share of a core
    requests        the parameters of a request, within their limits
    status_api      the paths under /api/v1
    status_stream   server-sent events: what has changed, for all viewers at once
    page            the page itself and its files; the list of several clusters
    templates/      its HTML: the columns of each table are in page.html.j2
    assets/         its scripts and styles: status.js fills the tables

The page is read-only: nothing here changes anything.
"""
