"""Quotas of users, clients and IPs.

client_quotas      entities with quotas, and requests that read and change them (KIP-546); all quotas in memory, and
                   which of them holds for a client
mutation_quotas    how many partitions a client may create and delete (KIP-599)
connection_quotas  how many connections per second come in (KIP-402, KIP-612); how much of the server's time a client
                   may take (KIP-124); who is exempt: `server.request_answers`
windowed_rate      the rates that these two compare with their quotas, and how long a client waits at most
                   (`QuotaWindows`: one window); what users and clients have used, in bounded memory
"""
