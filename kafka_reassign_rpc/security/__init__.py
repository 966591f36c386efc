"""Who is at the other end of a connection, and who this side is: TLS, SASL and logins by Kafka's settings. No sockets.

    authenticator.py        what a connection asks before any handler sees a request
    properties.py           settings as texts by name; the error of one, and text that never shows; which protocol a
                            listener speaks
    config_providers.py     values of a properties file that are kept elsewhere
    secret_files.py         files with secrets, and whether others may read them
    login/                  logins of this process
    sasl/                   SASL of a server
    tls/                    keystores, contexts and principals

Source: org.apache.kafka.common.security and network.Authenticator (Kafka 3.9).
"""
