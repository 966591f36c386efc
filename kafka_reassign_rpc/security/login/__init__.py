"""How this side of a connection says who it is: to brokers, to ZooKeeper, and as a client.

jaas               Java's login configuration
sasl_login         a mechanism with its credentials, and what GSSAPI needs of the process; protocol, TLS and login of a
                   client, by its properties; where the tokens of OAUTHBEARER come from, and when a new one is fetched
                   (REFRESH_WINDOW)
sasl_mechanisms    the client's side of the mechanisms; errors without secrets
zookeeper_login    the logins that ZooKeeper speaks, DIGEST-MD5 among them
"""
