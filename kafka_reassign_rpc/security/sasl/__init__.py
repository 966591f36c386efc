"""SASL on the server's side.

sasl_authenticator.py    the order of messages of one connection
mechanism.py             what a mechanism is to it
plain.py, scram.py, oauthbearer.py, kerberos.py   the mechanisms
scram_messages.py        what clients of SCRAM send, by Kafka's grammar
sasl_config.py           SASL of a listener, by Kafka's settings, with their defaults (those of tokens:
                         `oauthbearer.TokenRules`)
credential_cache.py      SCRAM credentials of all users, in memory
checks_in_turns.py       checks that take long, on a thread of their own, by turns of the addresses that ask
                         (MOST_WAITING, LONGEST_WAIT_S)
hashed_users.py          users of PLAIN by hashes of their passwords (ITERATIONS)
kerberos_names.py        from a Kerberos principal to the name of a user
"""
