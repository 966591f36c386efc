"""How this product, as a client, reaches brokers and servers. Every connection that speaks Kafka's protocol opens here.

rpc_client            one connection (CONNECT_TIMEOUT_S); the login on it
broker_links          which listener of a broker, over TLS or not, as whom; the same by the settings of brokers
broker_answers        what a broker answers about its own configs, and about topics
"""
