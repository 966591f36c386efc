"""The status document: what a controller knows of its moves, as every screen shows it.

documents         the types of the document, of moves, partitions and events: a new number on a screen begins here
broker_documents  the types of answers about brokers, and about the controller besides the document: when it was
                  elected, brokers with a lease or in controlled shutdown
views             what it is made from: the cluster, the progress of its moves, who controls it; how many partitions
                  lack in-sync replicas or a leader
summary           who controls the cluster, sums, caps, self-healing; what was known last, while the present is not;
                  the fields that every screen shows by their declaration alone; all the work: what has ended, is in
                  flight and waits; when it is done
problems          what an operator must look at: the text of each problem
moves             each move; why a waiting one waits: the text of each reason
brokers           each broker
departures        whether brokers may go
partitions        any partition, whether it moves or not; how many a search finds (MOST_FOUND)
own_certificates  who would take a server's certificates, when they end, and how early that is a warning
                  (ENDS_SOON_DAYS); the warning: `security.tls.context_parts.warn_of_end`

A move that has ended is only an event (`status_page.events`) and a part of sums (`core.reassignment.move_sums`).

Every number is decided here, None if unknown. The page, its API, the metrics, the vendor API and the commands show it
and derive nothing. The client makes it here too, from the answers of a stock controller.
"""
