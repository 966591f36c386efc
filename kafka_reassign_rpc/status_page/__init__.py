"""The status page of a server, and its API: the status document (`core.status`), as JSON and as one page for people.

    keepers         note figures for plots (core.reassignment.move_sums keeps them), and the last status in which
                    the moves were known
    events          the newest events of all servers (KEPT)
    requests        the parameters of a request, within their limits, and how many moves and events an answer of the
                    API has (MOVES, EVENTS)
    status_api      the paths under /api/v1; costly values are computed seldom, in a small share of a core (SHARE)
    status_stream   server-sent events: what has changed, for all viewers at once; how often, for how many (EVERY_S,
                    MOST_VIEWERS)
    page            the page itself and its files; the list of several clusters
    templates/      its HTML: page.html.j2 has the columns of each table. A new number is a field of
                    `core.status.documents` first, which `core.status` fills; its column comes last
    assets/         its scripts and styles: status.js fills the tables, and has how many rows they show (PAGE, EVENTS)

The page is read-only: nothing here changes anything.
"""
