"""How this side of a connection says who it is: to brokers, to ZooKeeper, and as a client.

jaas               Java's login configuration (JAAS): an entry, or a file with sections
digest_md5         the client's side of DIGEST-MD5
zookeeper_login    the logins that ZooKeeper speaks
login_errors       what may go wrong, without secrets
"""
