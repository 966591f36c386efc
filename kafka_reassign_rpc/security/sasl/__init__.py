"""SASL on the server's side.

sasl_authenticator.py    the order of messages of one connection (Kafka's SaslServerAuthenticator)
mechanism.py             what a mechanism is to it (Java's SaslServer)
plain.py, scram.py, …    the mechanisms
"""
