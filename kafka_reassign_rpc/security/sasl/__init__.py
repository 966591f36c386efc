"""SASL on the server's side.

sasl_authenticator.py    the order of messages of one connection
plain.py, scram.py, oauthbearer.py, kerberos.py   the mechanisms (scram: also the credentials of all users,
                         in memory)
sasl_config.py           SASL of a listener, by Kafka's settings, with their defaults (those of tokens:
                         `oauthbearer.TokenRules`)
mechanism.py             what a mechanism is to the authenticator; checks that take long, on a thread of their own, by
                         turns of the addresses that ask (MOST_WAITING, LONGEST_WAIT_S)
hashed_users.py          users of PLAIN by hashes of their passwords (ITERATIONS)
"""
