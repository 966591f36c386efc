"""How this side of a connection says who it is: to brokers, to ZooKeeper, and as a client.

client_security    protocol, TLS and login of a client, by its properties
jaas               Java's login configuration
sasl_login         a mechanism with its credentials
sasl_mechanisms    the client's side of the mechanisms
oauth_tokens       where the tokens of OAUTHBEARER come from, and when a new one is fetched (REFRESH_WINDOW)
kerberos           what GSSAPI needs of the process
digest_md5         the client's side of DIGEST-MD5
zookeeper_login    the logins that ZooKeeper speaks
login_errors       errors without secrets
"""
